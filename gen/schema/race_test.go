//go:build race

package schema

import "time"

// hostileLimit with the race detector, under which regular expressions allocate anew for each match.
const hostileLimit = 60 * time.Second
