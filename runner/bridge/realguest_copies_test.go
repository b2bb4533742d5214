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

// TestGuestCopies: values that a Python script receives can be copied, and passed to another process.
func TestGuestCopies(t *testing.T) {
	r := guestRun{lang: "python", code: `
import copy, pickle, _mcprun
call = _mcprun.call
for value in [call("demo__content"), call("demo__handle")]:
    for again in [pickle.loads(pickle.dumps(value)), copy.deepcopy(value)]:
        print(type(again) is type(value), again is not value, again.path == value.path if hasattr(value, "path") else (again == value, again[0].bytes, type(again[0]).__name__))
try:
    call("demo__fails")
except _mcprun.CallError as error:
    blocks = error.fields["content"]
    again = pickle.loads(pickle.dumps(blocks))
    print(again == blocks, again[0].text, again[0].bytes)
`}
	handle, err := json.Marshal(map[string]any{"path": "/nowhere.json", "size": 3, "type": "json", "preview": "[1]"})
	if err != nil {
		t.Fatal(err)
	}
	all := answers(map[string]*call.Result{
		"demo__content": {As: call.AsContent, Value: json.RawMessage(`[` + picture + `]`)},
		"demo__handle":  {As: call.AsHandle, Value: handle},
	})
	r.handler = func(ctx context.Context, req *call.Request) (*call.Result, error) {
		if req.Tool == "demo__fails" {
			return nil, &call.Error{Kind: call.KindTool, Message: "no", Content: json.RawMessage(`[{"type":"text","text":"no"}]`)}
		}
		return all(ctx, req)
	}
	e := r.run(t)
	want := "True True (True, b'\\x89PNG\\r\\n\\x1a\\n', 'Content')\nTrue True (True, b'\\x89PNG\\r\\n\\x1a\\n', 'Content')\nTrue True True\nTrue True True\nTrue no b'no'\n"
	if e.err != nil || e.stdout != want || e.stderr != "" {
		t.Errorf("stdout %s\nwant %s\n%s %v", e.stdout, want, e.stderr, e.err)
	}
}

// TestGuestStoredResource: a part of a resource that is stored in a file is read when it is accessed.
func TestGuestStoredResource(t *testing.T) {
	text, blob := filepath.Join(t.TempDir(), "text.txt"), filepath.Join(t.TempDir(), "blob.txt")
	if err := errors.Join(os.WriteFile(text, []byte("one\ntwo\n"), 0o600), os.WriteFile(blob, []byte("YmxvYg=="), 0o600)); err != nil {
		t.Fatal(err)
	}
	both(t, `
const { contents } = await globalThis[Symbol.for("mcprun.transport")].request("resources/read", { server: "demo", uri: "x" });
console.log(contents[0].text.size, [...contents[0].text.lines()].join("|"), contents[0].text.split("\n").length, contents[0].bytes().length);
console.log(contents[1].bytes().length, contents[2].text);`, `
contents = _mcprun.request("resources/read", {"server": "demo", "uri": "x"})["contents"]
print(contents[0].text.size, "|".join(contents[0].text.lines()), len(contents[0].text.split("\n")), len(contents[0].bytes))
print(len(contents[1].bytes), contents[2].text)`, func(t *testing.T, r guestRun) {
		stored := func(path string, size int) map[string]any {
			return map[string]any{"mcprun/handle": map[string]any{"path": path, "size": size, "type": "text", "preview": ""}}
		}
		answer, err := json.Marshal(map[string]any{"contents": []any{
			map[string]any{"uri": "a", "text": stored(text, 8)}, map[string]any{"uri": "b", "blob": stored(blob, 8)}, map[string]any{"uri": "c", "text": "plain"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		r.answers = func(context.Context, *call.Ask) (json.RawMessage, error) { return answer, nil }
		if e := r.run(t); e.err != nil || e.stdout != "8 one|two 3 8\n4 plain\n" || e.stderr != "" {
			t.Errorf("stdout %s, want %q, \"\" and no error\n%s %v", e.stdout, "8 one|two 3 8\n4 plain\n", e.stderr, e.err)
		}
	})
}

// TestGuestUncaughtIsPlain: a server's text in an uncaught error is not printed to a terminal unchanged. The host receives it unchanged.
func TestGuestUncaughtIsPlain(t *testing.T) {
	const text = "\x1b]0;t\x07\u202e\tx\u009b"
	both(t, `await call("demo__fails", {}).catch((e) => { throw new Error(e.message); });`, `call("demo__fails")`, func(t *testing.T, r guestRun) {
		r.handler = func(context.Context, *call.Request) (*call.Result, error) {
			return nil, &call.Error{Kind: call.KindTool, Message: text}
		}
		e := r.run(t)
		if e.exit != 1 || !strings.Contains(e.stderr, `\x1b]0;t\x07\u202e`+"\tx"+`\x9b`) || strings.ContainsAny(e.stderr, "\x1b\x07\u202e\u009b") {
			t.Errorf("exit code %d, stderr %q", e.exit, e.stderr)
		}
		if e.out == nil || e.out.Error == nil || !strings.Contains(e.out.Error.Message+e.out.Error.Stack, text) {
			t.Errorf("reported: %+v", e.out)
		}
	})
}
