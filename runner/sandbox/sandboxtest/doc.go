// Package sandboxtest is the conformance suite of sandbox backends. [Run] runs scripts in a backend exactly as the
// runner does, with the real guest programs and the real bridge but its own tools, and checks what they could do and what
// they left behind.
//
// A case is one script per language and one check ([cases]). Attacks are files below programs: each tries what a hostile
// script would, prints a line with LEAK for each attempt that worked, and "checked" at its end. An attempt that a language
// has no means for counts as refused. If a backend gives a script no means for a whole case, its column says so. After each
// case the suite also checks the host: files outside of the workspace, connections, processes, mounts and control groups.
//
// [Columns] lists the cases in which a backend does not hold, with reasons. Such a case still runs, and must fail. The table
// in docs/internals/attacks.md is generated from the same data, and a test keeps it up to date.
//
// The suite must be able to fail: cases that look for a leak first check that the host itself can see the secret.
package sandboxtest
