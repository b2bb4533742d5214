//go:build !race

package sandboxtest

import "time"

// overrun is what may pass between a time limit and the end of the run.
const overrun = 2 * time.Second
