package runner

import (
	"context"
	"encoding/json"

	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
)

// DirectCall is a tool call without a script.
type DirectCall struct {
	Tool string          // the tool id; hostile
	Args json.RawMessage // one JSON object; empty: {}
	// Values are further arguments as typed on a command line, NAME=VALUE or NAME:=JSON; see validate.ParseArguments.
	Values []string
	// Calls, Elicit and Watch are as in Script. Results are never replaced by handles.
	Calls  chain.Settings
	Elicit upstream.ElicitFunc
	Watch  func(chain.Event)
}

// Call makes one call, through the same stages as those of a script. The result's value is the whole CallToolResult, even if
// the tool reports a failure in it. Errors are *call.Error. The record and the warnings are returned in either case. With Calls.Personal, they
// have no personal data, except for the result of a server whose mode is off.
func (r *Runner) Call(ctx context.Context, d DirectCall) (*call.Result, chain.CallRecord, []string, error) {
	t := r.newTrail("call-", &d.Calls)
	t.beginCall(d.Tool, r.chain)
	res, record, warnings, err := r.call(ctx, d, t.id)
	t.endCall(res, &record, err)
	hideRecord(d.Calls.Personal, &record)
	return res, record, warnings, err
}

func (r *Runner) call(ctx context.Context, d DirectCall, id string) (*call.Result, chain.CallRecord, []string, error) {
	c, err := r.chain.NewCalls(ctx, chain.Run{Audit: id, Direct: true, Settings: d.Calls, Elicit: d.Elicit, Watch: d.Watch})
	if err != nil {
		return nil, chain.CallRecord{}, nil, err
	}
	// An unknown tool has no arguments to read: the call suggests names.
	if _, tool, ok := r.catalog.Lookup(d.Tool); ok && (len(d.Args) == 0 || len(d.Values) > 0) {
		if d.Args, err = validate.ParseArguments(tool.Input, d.Args, d.Values); err != nil {
			return nil, chain.CallRecord{Call: 1, Tool: d.Tool}, nil, &call.Error{Kind: call.KindArgument, Tool: d.Tool, Message: err.Error()}
		}
	}
	res, err := c.Handler()(ctx, &call.Request{Tool: d.Tool, Args: d.Args, Seq: 1, Raw: true})
	sum := c.Finish()
	record := chain.CallRecord{Call: 1, Tool: d.Tool}
	if len(sum.Calls) > 0 {
		record = sum.Calls[0]
	}
	return res, record, sum.Warnings, err
}
