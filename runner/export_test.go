package runner

import "context"

// Run runs a script in its backend, without what Launch does before.
func (r *Runner) Run(ctx context.Context, s Script) (*Result, error) { return r.run(ctx, s) }
