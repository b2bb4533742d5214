package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/call"
)

// answers returns a handler that answers by the tool's id.
func answers(all map[string]*call.Result) call.Handler {
	return func(_ context.Context, req *call.Request) (*call.Result, error) {
		if res := all[req.Tool]; res != nil {
			return res, nil
		}
		return &call.Result{Value: req.Args}, nil
	}
}

const picture = `{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}`

// TestGuestContent: content arrives as it is on the wire, and can be written only to files in the workspace.
func TestGuestContent(t *testing.T) {
	both(t, `
import fs from "node:fs";
const list = await call("demo__all", {});
console.log(JSON.stringify(list[1]), list[0].text, list[2].resource.uri, list.length);
console.log(list[1].bytes().length, list[0].save("out/deep/a.txt").endsWith("/out/deep/a.txt"), fs.readFileSync("out/deep/a.txt", "utf8"));
console.log(fs.readFileSync(list[1].save("a.png")).length, fs.readFileSync(list[2].save("b.bin"), "latin1"), fs.readFileSync(list[2].resource.save("c.bin"), "latin1"));
console.log(fs.readFileSync(await list[3].save("d.txt"), "utf8"));
fs.symlinkSync("/tmp", "link"); fs.symlinkSync("/nowhere/at/all", "dangling");
for (const bad of ["../x", "/etc/x", "link/x", "dangling", ""]) {
  try { list[1].save(bad); console.log("wrote", bad); } catch (e) { console.log("outside", e.message.includes("outside of the workspace")); }
}
try { list[4].bytes(); } catch (e) { console.log(e.message); }
fs.unlinkSync("link"); fs.unlinkSync("dangling"); fs.rmSync("out", { recursive: true }); for (const f of ["a.png", "b.bin", "c.bin", "d.txt"]) fs.unlinkSync(f);
export const result = list;`, `
import json, os, shutil
list = call("demo__all", {})
print(json.dumps(list[1], separators=(",", ":")), list[0].text, list[2]["resource"].uri, len(list))
print(len(list[1].bytes), str(list[0].save("out/deep/a.txt").endswith("/out/deep/a.txt")).lower(), open("out/deep/a.txt").read())
print(len(open(list[1].save("a.png"), "rb").read()), open(list[2].save("b.bin")).read(), open(list[2].resource.save("c.bin")).read())
print(open(list[3].save("d.txt")).read())
os.symlink("/tmp", "link"); os.symlink("/nowhere/at/all", "dangling")
for bad in ["../x", "/etc/x", "link/x", "dangling", ""]:
    try:
        list[1].save(bad); print("wrote", bad)
    except ValueError as e: print("outside", str("outside of the workspace" in str(e)).lower())
try: list[4].bytes
except ValueError as e: print(e)
os.unlink("link"); os.unlink("dangling"); shutil.rmtree("out")
for f in ["a.png", "b.bin", "c.bin", "d.txt"]: os.unlink(f)
result = list`, func(t *testing.T, r guestRun) {
		value := `[{"type":"text","text":"hé"},` + picture + `,{"type":"resource","resource":{"uri":"x://b","blob":"YmxvYg=="}},` +
			`{"type":"resource_link","uri":"x://linked","name":"n"},{"type":"odd","x":1}]`
		r.handler = answers(map[string]*call.Result{"demo__all": {As: call.AsContent, Value: json.RawMessage(value)}})
		r.answers = func(_ context.Context, ask *call.Ask) (json.RawMessage, error) {
			if ask.Method != "resources/read" || string(ask.Params) != `{"server":"demo","uri":"x://linked"}` || ask.Seq != 2 {
				return nil, &call.Error{Kind: call.KindArgument, Message: "asked for " + ask.Method + string(ask.Params)}
			}
			return json.RawMessage(`{"contents":[{"uri":"x://linked","text":"linked"}]}`), nil
		}
		e := r.run(t)
		want := picture + " hé x://b 5\n8 true hé\n8 blob blob\nlinked\n" + strings.Repeat("outside true\n", 5) + "this content holds no data; it has type, x\n"
		if e.err != nil || e.stderr != "" || e.stdout != want || string(e.out.Result) != value {
			t.Errorf("stdout %s\nwant %s\n%s %s %v", e.stdout, want, e.stderr, e.out.Result, e.err)
		}
	})
}

// TestGuestHandle: a stored result is read when it is accessed, and a script need not know that it is stored.
func TestGuestHandle(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stored.json")
	text := filepath.Join(t.TempDir(), "stored.txt")
	if err := errors.Join(os.WriteFile(file, []byte(`{"rows":[{"n":9007199254740993},{"n":2}],"size":"own"}`), 0o600), os.WriteFile(text, []byte("one\ntwo\r\nthree\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	both(t, `
const h = await call("big", {}), doc = await call("text", {}), list = await call("list", {});
console.log(h.size, h.path.endsWith("stored.json"), h.type, h.preview, Object.keys(h).join());
console.log(h.rows.length, h.json().rows[0].n, "rows" in h, "nope" in h, h.nope, h.rows.map((r) => r.n).join("+"));
console.log([...doc.lines()].join("|"), doc.split("\n").length, doc.length, `+"`${doc}`"+` === doc.text());
let pieces = 0; for await (const piece of doc) pieces++; // as fs.promises.writeFile(file, doc) does
console.log(pieces, "piece");
console.log(Array.isArray(list), list.length, [...list].length, list.filter((x) => x).length);
console.log(h);
console.log(JSON.stringify(h));
try { await call("t", { h }); } catch (e) { console.log(e.kind, e.message); }
export const result = h;`, `
h, doc, list = call("big"), call("text"), call("list")
low = lambda x: str(x).lower()
print(h.size, low(h.path.endswith("stored.json")), h.type, h.preview, ",".join(h))
print(len(h["rows"]), h.json()["rows"][0]["n"], low("rows" in h), low("nope" in h), "undefined", "+".join(str(r["n"]) for r in h.get("rows")))
print("|".join(doc.lines()), len(doc.split("\n")), len(doc), low(f"{doc}" == doc.text()))
print("true", len(list), len([*list]), len([x for x in list if x]))
print(h)
print('{"path":"%s","size":%d,"type":"json","preview":"{\\"rows\\":["}' % (h.path, h.size))
try: call("t", {"h": h})
except _mcprun.CallError as e: print(e.fields["kind"], e.fields["message"])
result = h`, func(t *testing.T, r guestRun) {
		handle := func(path, kind, preview string) *call.Result {
			info, _ := os.Stat(path)
			value, err := json.Marshal(map[string]any{"path": path, "size": info.Size(), "type": kind, "preview": preview})
			if err != nil {
				t.Fatal(err)
			}
			return &call.Result{As: call.AsHandle, Value: value}
		}
		listed := filepath.Join(t.TempDir(), "list.json")
		if err := os.WriteFile(listed, []byte(`[1,0,2]`), 0o600); err != nil {
			t.Fatal(err)
		}
		r.handler = answers(map[string]*call.Result{"big": handle(file, "json", `{"rows":[`), "text": handle(text, "text", "one"), "list": handle(listed, "json", "[1")})
		e := r.run(t)
		golden(t, "handle."+r.lang, strings.NewReplacer(file, "FILE").Replace(e.stdout+e.stderr+string(e.out.Result)+"\n"))
	})
}

// TestGuestDryRun: placeholders for answers pass through a script, and are recognised when they cross back.
func TestGuestDryRun(t *testing.T) {
	both(t, `
const doc = await call("make", {});
for (const row of doc.rows) console.log("never", row);
console.log(`+"`made ${doc.id}`"+`, doc.rows.map((r) => r).length, JSON.stringify({ doc }));
console.log(JSON.stringify(await call("echo", { whole: doc, part: doc.a.b[0], text: "x" })));
console.log(doc);
const raw = await call("make", {}, { raw: true });
console.log(raw.content[0].text === raw, JSON.stringify(await call("echo", { raw })));`, `
import json
doc = call("make", {})
for row in doc["rows"]: print("never", row)
print(f"made {doc['id']}", len(doc.rows), json.dumps({"doc": doc}, separators=(",", ":")))
print(json.dumps(call("echo", {"whole": doc, "part": doc["a"].b[0], "text": "x"}), separators=(",", ":")))
print(doc)
raw = call("make", {}, raw=True)
print(str(raw["content"][0].text is raw).lower(), json.dumps(call("echo", {"raw": raw}), separators=(",", ":")))`, func(t *testing.T, r guestRun) {
		r.handler = answers(map[string]*call.Result{"make": {As: call.AsDry, Value: json.RawMessage(`{"call":3}`)}})
		want := "made <result of call 3> 0 {\"doc\":{\"call\":3}}\n" + `{"whole":{"call":3},"part":{"call":3},"text":"x"}` + "\n<result of call 3>\ntrue {\"raw\":{\"call\":3}}\n"
		if e := r.run(t); e.err != nil || e.stdout != want || e.stderr != "" {
			t.Errorf("%+v\nwant %s", e, want)
		}
	})
}

// TestGuestExactIntegers: integers cross in both directions digit by digit, and what merely looks like one stays unchanged.
func TestGuestExactIntegers(t *testing.T) {
	const value = `{"a":9007199254740993,"b":-12345678901234567890123,"c":9007199254740991,"s":"9007199254740993","q":"\\\"9007199254740993","f":0.12345678901234566,"e":[1234567890123456789]}`
	both(t, `
const v = await call("t", {});
console.log(typeof v.a, v.a + 1n, typeof v.b, typeof v.c, typeof v.s, v.q, typeof v.f, JSON.stringify(v.e));
console.log(JSON.stringify(await call("echo", v)));
export const result = v;`, `
import json
v = call("t", {})
print("bigint", v["a"] + 1, "bigint", "number", "string", v["q"], "number", json.dumps(v["e"], separators=(",", ":")))
print(json.dumps(call("echo", v), separators=(",", ":")))
result = v`, func(t *testing.T, r guestRun) {
		r.handler = answers(map[string]*call.Result{"t": {Value: json.RawMessage(value)}})
		e := r.run(t)
		got := strings.Replace(e.stdout, "9007199254740994n", "9007199254740994", 1)
		want := "bigint 9007199254740994 bigint number string \\\"9007199254740993 number [1234567890123456789]\n" + value + "\n"
		if e.err != nil || got != want || string(e.out.Result) != value || e.stderr != "" {
			t.Errorf("%s\nwant %s%s %s", e.stdout, want, e.stderr, e.out.Result)
		}
	})
}

// TestGuestOptions: the options of a call reach the handler, and invalid ones do not.
func TestGuestOptions(t *testing.T) {
	both(t, `
const raw = await call("t", {}, { timeoutMs: 1500.2, raw: true });
console.log(raw.content[0].bytes().length, raw.isError);
for (const timeoutMs of [0, -1, NaN, "5"]) try { await call("t", {}, { timeoutMs }); } catch (e) { console.log(e.kind); }
await call("t", {}, { timeoutMs: 1e300 });`, `
raw = call("t", {}, timeout=1.501, raw=True)
print(len(raw["content"][0].bytes), str(raw["isError"]).lower())
for timeout in [0, -1, float("nan"), "5"]:
    try: call("t", {}, timeout=timeout)
    except _mcprun.CallError as e: print(e.fields["kind"])
call("t", {}, timeout=1e300)`, func(t *testing.T, r guestRun) {
		var got []call.Request
		r.handler = func(_ context.Context, req *call.Request) (*call.Result, error) {
			got = append(got, *req)
			return &call.Result{Value: json.RawMessage(`{"content":[` + picture + `],"isError":true}`)}, nil
		}
		e := r.run(t)
		if e.err != nil || e.stdout != "8 true\n"+strings.Repeat("argument\n", 4) || e.stderr != "" || len(got) != 2 {
			t.Fatalf("%+v %+v", e, got)
		}
		if got[0].Timeout.Milliseconds() != 1501 || !got[0].Raw || got[0].Seq != 1 || got[1].Raw || got[1].Timeout.Hours() < 500 || got[1].Seq != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// TestGuestRequests: requests other than tool calls are sent and answered in the same way.
func TestGuestRequests(t *testing.T) {
	both(t, `
const { request } = globalThis[Symbol.for("mcprun.transport")];
const { contents } = await request("resources/read", { server: "s", uri: "x://1" });
console.log(contents[0].bytes().length);
const { messages } = await request("prompts/get", { server: "s", name: "p" });
console.log(messages[0].role, messages[0].content.bytes().length);
try { await request("no/such", {}); } catch (e) { console.log(e.kind, e.message, e.retryable); }`, `
request = _mcprun.request
contents = request("resources/read", {"server": "s", "uri": "x://1"})["contents"]
print(len(contents[0].bytes))
messages = request("prompts/get", {"server": "s", "name": "p"})["messages"]
print(messages[0]["role"], len(messages[0]["content"].bytes))
try: request("no/such", {})
except _mcprun.CallError as e: print(e.fields["kind"], e.fields["message"], str(e.fields["retryable"]).lower())`, func(t *testing.T, r guestRun) {
		r.answers = func(_ context.Context, ask *call.Ask) (json.RawMessage, error) {
			switch ask.Method {
			case "resources/read":
				return json.RawMessage(`{"contents":[{"uri":"x://1","blob":"YmxvYg=="}]}`), nil
			case "prompts/get":
				return json.RawMessage(`{"messages":[{"role":"user","content":` + picture + `}]}`), nil
			}
			return nil, &call.Error{Kind: call.KindArgument, Message: "there is no " + ask.Method, Retryable: true}
		}
		if e := r.run(t); e.err != nil || e.stdout != "4\nuser 8\nargument there is no no/such true\n" || e.stderr != "" || e.out.Calls != 0 {
			t.Errorf(`%+v %+v, want stdout %q, stderr "", out.Calls 0 and no error`, e, e.out, "4\nuser 8\nargument there is no no/such true\n")
		}
	})
}

// TestGuestVars: variables exist under their names, but never replace anything else.
func TestGuestVars(t *testing.T) {
	both(t, `
const vars = globalThis[Symbol.for("mcprun.vars")];
console.log(who, n, JSON.stringify(list), vars["not-a-name"], typeof console.log, Object.isFrozen(vars), typeof big);`, `
print(who, n, __import__("json").dumps(list_, separators=(",", ":")) if "list_" in globals() else "[1,2]", _mcprun.vars["not-a-name"], "function" if callable(print) else "?", "true", "bigint")`,
		func(t *testing.T, r guestRun) {
			r.vars = map[string]json.RawMessage{"who": json.RawMessage(`"é"`), "n": json.RawMessage("3"), "list": json.RawMessage("[1,2]"),
				"not-a-name": json.RawMessage("4"), "console": json.RawMessage("5"), "print": json.RawMessage("6"), "big": json.RawMessage("12345678901234567890")}
			if e := r.run(t); e.err != nil || e.stdout != "é 3 [1,2] 4 function true bigint\n" || e.stderr != "" {
				t.Errorf(`%+v, want stdout %q, stderr "" and no error`, e, "é 3 [1,2] 4 function true bigint\n")
			}
		})
}
