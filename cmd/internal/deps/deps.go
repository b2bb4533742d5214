// Package deps keeps requirements in go.mod until packages use them.
package deps

import (
	_ "gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"
)
