//go:build race

package sandboxtest

import "time"

// overrun is what may pass between a time limit and the end of the run. Tests with the race detector run while those of
// other packages fill the machine.
const overrun = 5 * time.Second
