//go:build race

package sandboxtest

import "time"

// overrun bounds the time between a time limit and the end of the run. With the race detector the tests of other packages
// keep the machine busy.
const overrun = 5 * time.Second
