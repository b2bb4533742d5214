package plugin

import (
	"cmp"
	"encoding/json"
	"strings"
)

// Examples returns an event for each point, to try plugins with. tool is the id of the tool that is called, and args are its arguments; empty:
// an invented tool.
func Examples(tool string, args json.RawMessage) []*Event {
	tool = cmp.Or(tool, "bank__pay")
	if len(args) == 0 {
		args = json.RawMessage(`{"to":"Ann","amount":120}`)
	}
	server, name, _ := strings.Cut(tool, "__")
	at := func(point Point) *Event {
		e := &Event{Hook: point, Run: "run-EXAMPLE", Customer: "acme", Session: "s1"}
		if point == Run || point == RunEnd {
			e.Script = "pay.py"
			return e
		}
		e.Call, e.Tool, e.Server, e.Name, e.Arguments = 1, tool, server, name, args
		return e
	}
	run, call, result, end := at(Run), at(Call), at(Result), at(RunEnd)
	run.Language, run.Risk, run.Args = "python", "medium", []string{"--month", "2026-10"}
	run.Code = "from servers.bank import pay\nresult = pay(to=to, amount=120)\n"
	run.Vars = map[string]json.RawMessage{"to": json.RawMessage(`"Ann"`)}
	result.Result = json.RawMessage(`{"ok":true}`)
	end.Result, end.End = result.Result, &End{Cause: "exit", Calls: 1, StdoutBytes: 12}
	return []*Event{run, call, result, end}
}
