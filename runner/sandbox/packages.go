package sandbox

import (
	"context"
	"fmt"
)

// Packager is a Backend whose guests can have packages of Python. A Backend that does not implement it runs no Python.
type Packager interface {
	Backend
	// PythonVersion returns the version of Python that runs scripts on this machine, such as "3.11", which decides what packages fit it. The
	// error says what is missing.
	PythonVersion(ctx context.Context) (string, error)
}

// PythonVersion returns what PythonVersion of b returns, or an error if b is no Packager.
func PythonVersion(ctx context.Context, b Backend) (string, error) {
	if p, ok := b.(Packager); ok {
		return p.PythonVersion(ctx)
	}
	return "", fmt.Errorf("sandbox %s has no packages of Python", b.Name())
}
