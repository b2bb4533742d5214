package runner

import "github.com/mcpgen/mcpgen/runner/trace"

// Trace is the run's calls in the form that package trace shows. name is the script's.
func (r *Result) Trace(name string) trace.Run {
	out := trace.Run{Name: name, DurationMS: r.DurationMS, Total: r.CallCount, Calls: make([]trace.Call, len(r.Calls))}
	for i, c := range r.Calls {
		out.Calls[i] = trace.Call{
			Number: c.Call, Tool: c.Tool, StartMS: c.StartMS, DurationMS: c.DurationMS, QueueMS: c.QueueMS, Retries: c.Retries,
			ArgumentBytes: c.ArgumentBytes, ResultBytes: c.ResultBytes, Outcome: c.Outcome, Error: c.Error,
		}
	}
	return out
}
