//go:build race

package schema

import "time"

// hostileLimit with the race detector, under which regular expressions allocate again for each match.
const hostileLimit = 60 * time.Second
