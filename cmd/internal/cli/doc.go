// Package cli is what mcpgen and mcprun share as command-line programs: the process's state as one value ([App]), the
// one place where an error becomes text, hint and exit code ([App.Fail]), and safe printing: tables, colour, JSON,
// progress. It is the only library that may touch the process: arguments, environment, standard streams, exit.
//
// Text that came from a server or a script may hold terminal escape sequences. Everything printed through this
// package is cleaned; whoever prints foreign text by another way passes it through [Escape] or [EscapeLine] first.
//
// Start with [Main]: a program's main function is one call of it.
package cli
