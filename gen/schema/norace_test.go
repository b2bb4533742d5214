//go:build !race

package schema

import "time"

// hostileLimit is how long one conversion may take, several times what it does.
const hostileLimit = time.Second
