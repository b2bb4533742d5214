// Package sandboxtest is the conformance suite of sandbox backends. [Run] executes scripts in a backend exactly as a run
// does, with the real guest programs and the real bridge but tools of its own, and checks what they could do and what is
// left of them.
//
// A case is one script per language and one check ([cases]). Scripts that attack are files below programs: each tries
// what a hostile script would, prints a line with LEAK for all that worked, and "checked" at its end. What a language has
// no means for counts as refused: a case about a forbidden thing only asks that it did not happen; where a backend gives it no
// means for a whole case, its column says so. After each case the suite also looks at the host: files outside of the workspace, connections, processes, mounts, control groups.
//
// Where a backend does not hold, [Columns] says so with the reason. Such a case is still run, and must fail. The table of
// cases and backends in docs/security.md is made from the same data, and a test keeps the two alike.
//
// The suite must be able to fail: cases that look for a leak first make sure that the host itself sees what must not
// be seen inside.
package sandboxtest
