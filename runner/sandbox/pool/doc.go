// Package pool keeps guests started, with their interpreter loaded, and hands each to one run: a run then begins in
// about a millisecond instead of the time that its sandbox takes to start. Start with [New]. A [Pool] is itself a
// [sandbox.Backend], over one that can start guests ahead of their runs (a [sandbox.Warmer]); callers need not know
// that it is one.
//
// A guest is used for one run and then gone. Nothing of a run can reach another through the pool: an idle guest has seen
// no script, no workspace but the one that its shape names, and no secret but its own.
//
// There are as many idle guests of a [sandbox.Shape] as were missed lately, between Options.Min and Options.MaxIdle. A
// run that finds none waits for one that is on its way, and otherwise starts its sandbox as if there were no pool.
package pool
