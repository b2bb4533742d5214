// Package sandboxtest is the conformance suite of sandbox backends. [Run] executes scripts in a backend exactly as a run
// does, with the real guest programs and the real bridge but tools of its own, and checks what they could do and what is
// left of them.
//
// A case is one script per language and one check ([cases]). What a language has no means for counts as refused: a
// case about a forbidden thing only asks that it did not happen. A backend's documented exceptions are passed in
// [Options].Skip, by name and with the reason.
//
// The suite must be able to fail: cases that look for a leak first make sure that the host itself sees what must not
// be seen inside.
package sandboxtest
