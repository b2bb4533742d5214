// Package deps keeps requirements in go.mod until packages use them.
package deps

import (
	_ "charm.land/huh/v2"
)
