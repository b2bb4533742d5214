package templates

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hostVector is a call of a function that asks the host, what is then sent, what the host answers, and what comes of it.
type hostVector struct {
	vector
	Answer any   `json:"answer"`
	Fails  any   `json:"fails"`
	Sent   []any `json:"sent"` // method and parameters; nil: not looked at. The language OWN is that of the script
}

const tsHostDriver = `import * as library from "mcprun";
import fs from "node:fs";
const camel = (name) => name.replace(/_(.)/g, (_, c) => c.toUpperCase());
const named = (options) => Object.fromEntries(Object.entries(options).map(([k, v]) => [camel(k), v]));
const out = [];
for (const v of JSON.parse(fs.readFileSync(process.env.VECTORS, "utf8"))) {
  let sent;
  globalThis[Symbol.for("mcprun.transport")] = { request: async (method, params) => {
    sent = [method, params];
    if (v.fails) throw v.fails;
    return v.answer;
  } };
  try {
    const value = await library[camel(v.call)](...(v.args ?? []), ...(v.options ? (v.args ? [] : [undefined]).concat(named(v.options)) : []));
    out.push({ value: (v.member ? value[0][v.member] : value) ?? null, sent });
  } catch (error) {
    if (v.fails && !(error instanceof library.MCPError && error.kind === v.fails.kind && error.stack.includes(error.message))) throw error;
    out.push({ error: error.name + ": " + error.message, sent });
  }
}
delete globalThis[Symbol.for("mcprun.transport")];
await library.listSkills().catch((error) => { if (!(error instanceof library.MCPConnectionError)) throw error; });
let shown;
globalThis[Symbol.for("mcprun.transport")] = { request: async (method, params) => { shown = params; } };
await library.showImage({ type: "image", mimeType: "image/x", bytes: async () => new Uint8Array([1, 2]) });
if (shown.mimeType !== "image/x" || shown.data !== "AQI=") throw new Error(JSON.stringify(shown));
await library.showImage(new Uint8Array(100000).fill(255), { mimeType: "image/y" });
if (Buffer.from(shown.data, "base64").length !== 100000) throw new Error("a large image is not whole");
console.log(JSON.stringify(out));
`

const pyHostDriver = `import json, os, sys, types
sys.path.insert(0, os.environ["LIBRARY"])
import mcprun
transport = sys.modules["_mcprun"] = types.ModuleType("_mcprun")
class CallError(Exception):
    def __init__(self, fields):
        self.fields = fields
out = []
for v in json.load(open(os.environ["VECTORS"], encoding="utf-8")):
    sent = []
    def request(method, params):
        sent.extend((method, params))
        if "fails" in v:
            raise CallError(v["fails"])
        return v["answer"]
    transport.request = request
    try:
        value = getattr(mcprun, v["call"])(*v.get("args", []), **v.get("options", {}))
        if v["call"] == "load_skill":
            assert isinstance(value, str) and value == value["code"] and value.get("none") is None
            value = dict(value)
        out.append({"value": value[0].get(v["member"]) if "member" in v else value, "sent": sent})
    except Exception as error:
        if "fails" in v and not (isinstance(error, mcprun.MCPError) and error.kind == v["fails"]["kind"]):
            raise
        out.append({"error": type(error).__name__ + ": " + str(error), "sent": sent})
del sys.modules["_mcprun"]
try:
    mcprun.list_skills()
    raise AssertionError("no error")
except mcprun.MCPConnectionError as error:
    assert "list_skills()" in str(error), error
sys.modules["_mcprun"] = transport
def request(method, params):
    global shown
    shown = params
transport.request = request
def answered(method, params):
    value = params["value"][0]
    if method == "pii/tokenize":
        return {"value": [value.replace("a@b.c", "[EMAIL_1]")]}
    return {"value": [["a@b.c"] if value == ["[EMAIL_1]"] else "host"]}
transport.request = answered
text, tokens = mcprun.tokenize_pii("to a@b.c, a@b.c")
assert text == "to [EMAIL_1], [EMAIL_1]" and tokens == {"[EMAIL_1]": "a@b.c"}, (text, tokens)
assert mcprun.tokenize_pii("to nobody") == ("to nobody", {})
assert mcprun.detokenize_pii({"x": [text, 1, "[EMAIL_2]"]}, tokens) == {"x": ["to a@b.c, a@b.c", 1, "[EMAIL_2]"]}
assert mcprun.detokenize_pii(text) == "host"
transport.request = request
class Block:
    type, mimeType, bytes = "image", "image/x", b"\1\2"
mcprun.show_image(Block())
assert shown == {"mimeType": "image/x", "data": "AQI="}, shown
mcprun.show_image(memoryview(b"GIF89a"))
assert shown == {"mimeType": "image/gif", "data": "R0lGODlh"}, shown
print(json.dumps(out))
`

// TestHostLibrary makes every call in both languages, against a host that says what it is told to.
func TestHostLibrary(t *testing.T) {
	raw, err := os.ReadFile("testdata/host.json")
	if err != nil {
		t.Fatal(err)
	}
	for language, run := range map[string]func(t *testing.T, workspace string) *exec.Cmd{"typescript": nodeHost, "python": pythonHost} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			var vectors []hostVector
			if err := json.Unmarshal(raw, &vectors); err != nil || len(vectors) < 25 {
				t.Fatalf("%d calls: %v, want at least 25 and no error", len(vectors), err)
			}
			workspace := t.TempDir()
			for name, text := range map[string]string{"a.png": "\x89PNG\r\n\x1a\n\x00", "b.jpg": "\xff\xd8\xff\xe0", "c.webp": "RIFF\x00\x00\x00\x00WEBP", "d.svg": "<svg/>"} {
				if err := os.WriteFile(filepath.Join(workspace, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			cmd := run(t, workspace)
			out, err := cmd.Output()
			var got []struct {
				outcome
				Sent []any
			}
			if err != nil || json.Unmarshal(out, &got) != nil || len(got) != len(vectors) {
				t.Fatalf("%v\n%s\n%s", err, out, cmd.Stderr)
			}
			for i, v := range vectors {
				call, _ := json.Marshal(v.vector)
				switch {
				case (v.Error == nil) != (got[i].Error == nil):
					t.Errorf("%s\ngives %+v, %s", call, got[i].Value, deref(got[i].Error))
				case v.Error != nil && !strings.Contains(*got[i].Error, *v.Error):
					t.Errorf("%s\nfails with %s", call, *got[i].Error)
				case v.Error == nil && !cmp.Equal(v.Want, got[i].Value):
					t.Errorf("%s\ngives %+v", call, got[i].Value)
				}
				if v.Sent == nil {
					continue
				}
				if diff := cmp.Diff(v.Sent, got[i].Sent); diff != "" {
					t.Errorf("%s (-want +sent):\n%s", call, diff)
				}
			}
		})
	}
}

func nodeHost(t *testing.T, workspace string) *exec.Cmd {
	t.Helper()
	program := filepath.Join(t.TempDir(), "driver.mjs")
	if err := os.WriteFile(program, bundled(t, tsHostDriver), 0o644); err != nil {
		t.Fatal(err)
	}
	return hostDriver(t, workspace, "node", program)
}

func pythonHost(t *testing.T, workspace string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	for name, text := range PythonGuest() {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "driver.py")
	if err := os.WriteFile(program, []byte(pyHostDriver), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := hostDriver(t, workspace, "python3", "-X", "utf8", "-B", program)
	cmd.Env = append(cmd.Env, "LIBRARY="+dir)
	return cmd
}

func hostDriver(t *testing.T, workspace, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := driver(t, workspace, program, args...)
	vectors, err := filepath.Abs("testdata/host.json")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "VECTORS="+vectors)
	return cmd
}
