package sandboxtest

import (
	"fmt"
	"strings"
	"time"
)

const (
	importTS = `import { callMCPTool, MCPError, MCPToolError, MCPArgumentError, MCPDeniedError, MCPTimeoutError, MCPProtocolError, MCPConnectionError } from "./servers/client.ts";
`
	importPy = `from servers.client import *
from servers.client import call_mcp_tool, MCPError, MCPToolError, MCPArgumentError, MCPDeniedError, MCPTimeoutError, MCPProtocolError, MCPConnectionError
`
)

func callCases() []testCase {
	return []testCase{
		{name: "call", code: both(
			importTS+`const r = await callMCPTool<any>("test__echo", { a: [1, "é", null], b: { c: true } }); console.log(JSON.stringify(r), await callMCPTool("test__text", {}));`,
			importPy+`import json
print(json.dumps(call_mcp_tool("test__echo", {"a": [1, "é", None], "b": {"c": True}}), ensure_ascii=False, separators=(",", ":")), call_mcp_tool("test__text", {}))`),
			check: prints(`{"a":[1,"é",null],"b":{"c":true}} plain text` + "\n")},
		{name: "JSON in a text", code: both(
			importTS+`
const r = await callMCPTool<any>("test__json", {});
const text = " {\"rows\": [9007199254740993,\n1.50]}";
console.log(r.rows.filter((n: any) => n > 2).length, Object.keys(r).join(), JSON.stringify(r));
console.log(String(r) === text, r + "" === text, JSON.parse(r).rows[1], JSON.stringify({ ...r }));
r.rows.push(2);
console.log(String(r));`,
			importPy+`import copy, json, pickle
from json import loads
r = call_mcp_tool("test__json", {})
text = " {\"rows\": [9007199254740993,\n1.50]}"
print(len([n for n in r["rows"] if n > 2]), ",".join(r), json.dumps(r, separators=(",", ":")))
same = json.loads(r) == r and loads(r) == r and loads(r) is not r and loads(r, parse_float=str)["rows"][1] == "1.50" and type(copy.deepcopy(r)) is type(pickle.loads(pickle.dumps(r))) is dict
print(str(str(r) == text).lower(), str(f"{r}" == text and same).lower(), json.loads(r)["rows"][1], json.dumps({**r}, separators=(",", ":")))
r["rows"].append(2)
print(str(r).replace(" ", ""))`),
			check: prints(`1 rows {"rows":[9007199254740993,1.5]}` + "\n" + `true true 1.5 {"rows":[9007199254740993,1.5]}` + "\n" + `{"rows":[9007199254740993,1.5,2]}` + "\n")},
		{name: "members that a result does not have", code: both(
			importTS+`
import { isDeepStrictEqual } from "node:util";
const r = await callMCPTool<any>("test__members", {});
await r;
if (!isDeepStrictEqual(r, { items: [{ id: 1 }, { id: 2 }] })) console.log("not plain");
console.log(r.items.filter((item: any) => item.titel).length, r.error, JSON.stringify(r), r instanceof Object, (await callMCPTool<any>("test__echo", r)).items.length);`,
			importPy+`import json
r = call_mcp_tool("test__members", {})
print(len([item for item in r["items"] if item.get("titel")]), "undefined", json.dumps(r, separators=(",", ":")), "true" if isinstance(r, dict) else "", len(call_mcp_tool("test__echo", r)["items"]))`),
			check: func(t *recorder, w *world, r *result) {
				prints(`0 undefined {"items":[{"id":1},{"id":2}]} true 2`+"\n")(t, w, r)
				want := `member test__members ["items",null,"titel"]:1`
				inPython := strings.HasPrefix(r.outcome.Runtime, "python") // TypeScript's types already say it
				if got := strings.ReplaceAll(fmt.Sprint(r.outcome.Notes), ", ", ","); inPython && (!strings.Contains(got, want) || strings.Count(got, "member ") != 1) {
					t.Errorf("notes %s, want %s", got, want)
				}
			}},
		{name: "error types", code: both(
			importTS+`
for (const [kind, type] of [["tool", MCPToolError], ["argument", MCPArgumentError], ["denied", MCPDeniedError], ["timeout", MCPTimeoutError], ["protocol", MCPProtocolError], ["connection", MCPConnectionError]] as const) {
  try { await callMCPTool("test__fail_" + kind, {}); console.log("no error"); }
  catch (e: any) { console.log(kind, e instanceof type, e instanceof MCPError, e.message.includes("no luck"), e.server, e.tool, e.code, e.data.why, e.content[0].text); }
}`,
			importPy+`
for kind, type in [("tool", MCPToolError), ("argument", MCPArgumentError), ("denied", MCPDeniedError), ("timeout", MCPTimeoutError), ("protocol", MCPProtocolError), ("connection", MCPConnectionError)]:
    try: call_mcp_tool("test__fail_" + kind, {}); print("no error")
    except MCPError as e: print(kind, str(isinstance(e, type)).lower(), "true", str("no luck" in str(e)).lower(), e.server, e.tool, e.code, e.data["why"], e.content[0]["text"])
`), check: prints(errorLines())},
		{name: "parallel calls", timeout: 40 * time.Second, code: both(
			importTS+`await Promise.all(Array.from({ length: 20 }, () => callMCPTool("test__together", {}))); console.log("done");`,
			importPy+`from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(20) as pool: list(pool.map(lambda _: call_mcp_tool("test__together", {}), range(20)))
print("done")`),
			check: prints("done\n")},
		{name: "uncaught tool error", code: both(
			importTS+`await callMCPTool("test__fail_denied", {});`, importPy+`call_mcp_tool("test__fail_denied", {})`),
			check: func(t *recorder, _ *world, r *result) {
				if r.exit.Code != 1 || r.outcome.Error == nil || r.outcome.Error.Name != "MCPDeniedError" {
					t.Errorf("exit %+v, error %+v, want an MCPDeniedError", r.exit, r.outcome.Error)
				}
			}},
		{name: "calls end with the script", code: both(
			importTS+`callMCPTool("test__hang", {}).catch(() => {}); await callMCPTool("test__when_hanging", {}); process.exit(0);`,
			importPy+`import threading, os, time
threading.Thread(target=lambda: call_mcp_tool("test__hang", {}), daemon=True).start()
call_mcp_tool("test__when_hanging", {})`),
			check: func(t *recorder, w *world, r *result) {
				if r.exit.Code != 0 {
					t.Errorf("exit %+v", r.exit)
				}
				select {
				case <-w.canceled:
				default:
					t.Error("the call that was under way was not cancelled")
				}
			}},
	}
}

func errorLines() string {
	var text string
	for _, kind := range []string{"tool", "argument", "denied", "timeout", "protocol", "connection"} {
		text += kind + " true true true test test__fail_" + kind + " -32000 x detail\n"
	}
	return text
}
