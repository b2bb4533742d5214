// Package layering contains only the test that keeps the layers apart: which package may import which, which packages may use
// each third-party library, and that only commands touch the process. The tables in the test are the rules; docs/design.md gives
// the reasons.
package layering
