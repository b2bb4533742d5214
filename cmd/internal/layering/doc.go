// Package layering holds no code, only the test that keeps the layers apart: which package may import which, where
// each third-party library is at home, and that only commands touch the process. The tables in the test are the
// rules; docs/design.md gives the reasons.
package layering
