package runner

import "github.com/mcpgen/mcpgen/runner/call"

// handler builds the way of one run's calls, outermost stage first. This is the one place that says the order.
func (r *Runner) handler(u *usage) call.Handler {
	return chain(r.callUpstream,
		u.record,   // sees every call, refused ones too, so that the report is whole
		r.resolve,  // turns the script's tool id into a server and a tool, by the lock and nothing else
		r.validate, // arguments that don't fit are answered here, before anything is sent
	)
}

// chain wraps last in the stages; the first stage is outermost.
func chain(last call.Handler, stages ...call.Middleware) call.Handler {
	h := last
	for i := len(stages) - 1; i >= 0; i-- {
		h = stages[i](h)
	}
	return h
}
