//go:build !race

package sandboxtest

import "time"

// overrun bounds the time between a time limit and the end of the run.
const overrun = 2 * time.Second
