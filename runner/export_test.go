package runner

import (
	"context"
	"time"
)

// Run runs a script in its backend, without what Launch does before.
func (r *Runner) Run(ctx context.Context, s Script) (*Result, error) {
	program, err := r.read(ctx, &s)
	if err != nil {
		return nil, err
	}
	return r.run(ctx, s, program, nil)
}

// SetCheckTime sets the time for the check of types after a run, and returns the one before.
func SetCheckTime(d time.Duration) time.Duration {
	before := checkTime
	checkTime = d
	return before
}

// LikelyCauses, ShowsMissing and IsEmpty are parts of what decides about Result.TypeErrors.
var (
	LikelyCauses = likelyCauses
	ShowsMissing = showsMissing
	IsEmpty      = isEmpty
)
