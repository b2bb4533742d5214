//go:build !race

package schema

import "time"

// hostileLimit is how long one conversion may take, many times what it does.
const hostileLimit = 10 * time.Second
