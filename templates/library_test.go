package templates

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/google/go-cmp/cmp"
)

// vector is a call of a function of the library and what it gives, in both languages. Calls are made one after the other
// in one workspace.
type vector struct {
	Call    string         `json:"call"` // as Python has it
	Args    []any          `json:"args"`
	Options map[string]any `json:"options"`
	Member  string         `json:"member"` // of the value, which is looked at instead
	Want    any            `json:"want"`
	Error   *string        `json:"error"` // a part of the message
}

// outcome is what a driver reports of one call.
type outcome struct {
	Value any
	Error *string
}

const tsDriver = `import * as library from "mcprun";
import fs from "node:fs";
const camel = (name) => name.replace(/_(.)/g, (_, c) => c.toUpperCase());
const out = [];
for (const v of JSON.parse(fs.readFileSync(process.env.VECTORS, "utf8"))) {
  try {
    const value = await library[camel(v.call)](...v.args, ...(v.options ? padding(v) : []));
    out.push({ value: (v.member ? value[v.member] : value) ?? null });
  } catch (error) {
    out.push({ error: String(error.message) });
  }
}
function padding(v) { return v.call === "format_output" && v.args.length === 1 ? [undefined, v.options] : [v.options]; }
console.log(JSON.stringify(out));
`

const pyDriver = `import json, os, sys
sys.path.insert(0, os.environ["LIBRARY"])
import mcprun
out = []
for v in json.load(open(os.environ["VECTORS"], encoding="utf-8")):
    try:
        value = getattr(mcprun, v["call"])(*v["args"], **v.get("options", {}))
        out.append({"value": value.get(v["member"]) if "member" in v else value})
    except Exception as error:
        out.append({"error": str(error)})
print(json.dumps(out))
`

// TestLibrary makes every call in both languages.
func TestLibrary(t *testing.T) {
	raw, err := os.ReadFile("testdata/library.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(raw, &vectors); err != nil || len(vectors) < 100 {
		t.Fatalf("%d calls: %v, want at least 100 and no error", len(vectors), err)
	}
	for name, run := range map[string]func(t *testing.T, workspace string) *exec.Cmd{"typescript": nodeLibrary, "python": pythonLibrary} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := run(t, libraryWorkspace(t))
			out, err := cmd.Output()
			var got []outcome
			if err != nil || json.Unmarshal(out, &got) != nil || len(got) != len(vectors) {
				t.Fatalf("%v\n%s\n%s", err, out, cmd.Stderr)
			}
			for i, v := range vectors {
				call, _ := json.Marshal(v)
				switch {
				case (v.Error == nil) != (got[i].Error == nil):
					t.Errorf("%.300s\ngives %+v, %s", call, got[i].Value, deref(got[i].Error))
				case v.Error != nil:
					if !strings.Contains(*got[i].Error, *v.Error) {
						t.Errorf("%.300s, want %q in it\nfails with %s", call, *v.Error, *got[i].Error)
					}
				default:
					if diff := cmp.Diff(v.Want, got[i].Value); diff != "" {
						t.Errorf("%.300s (-want +got):\n%s", call, diff)
					}
				}
			}
		})
	}
}

func deref(s *string) string {
	if s == nil {
		return "no error"
	}
	return *s
}

// libraryWorkspace makes a workspace with links that lead out of it, and files that are no texts.
func libraryWorkspace(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	workspace := filepath.Join(base, "workspace")
	for _, dir := range []string{workspace, filepath.Join(base, "outside"), filepath.Join(base, "workspace-2")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"outside/secret": "secret", "workspace/bytes": "\xff\xfe", "workspace/bom": "\ufeffx"} {
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"link-out": "../outside", "link-file": "../outside/secret", "link-nowhere": "../outside/new", "link-in": "a.txt"} {
		if err := os.Symlink(to, filepath.Join(workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	return workspace
}

func nodeLibrary(t *testing.T, workspace string) *exec.Cmd {
	t.Helper()
	program := filepath.Join(t.TempDir(), "driver.mjs")
	if err := os.WriteFile(program, bundled(t, tsDriver), 0o644); err != nil {
		t.Fatal(err)
	}
	return driver(t, workspace, "node", program)
}

// bundled is a script with the library and the client.
func bundled(t *testing.T, script string) []byte {
	t.Helper()
	texts := map[string]string{"mcprun": Library(), "./servers/client.ts": Text("ts/client.ts")}
	res := api.Build(api.BuildOptions{
		Stdin: &api.StdinOptions{Contents: script}, Bundle: true, Format: api.FormatESModule, Platform: api.PlatformNode, Target: api.ES2023,
		Plugins: []api.Plugin{{Name: "library", Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: `^(mcprun|\./servers/client\.ts)$`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
				return api.OnResolveResult{Path: a.Path, Namespace: "library"}, nil
			})
			b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: "library"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
				text := texts[a.Path]
				return api.OnLoadResult{Contents: &text, Loader: api.LoaderTS}, nil
			})
		}}},
	})
	if len(res.Errors) > 0 {
		t.Fatal(res.Errors[0].Text)
	}
	return res.OutputFiles[0].Contents
}

func pythonLibrary(t *testing.T, workspace string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	for name, text := range PythonGuest() {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(t.TempDir(), "driver.py")
	if err := os.WriteFile(program, []byte(pyDriver), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := driver(t, workspace, "python3", "-X", "utf8", "-B", program)
	cmd.Env = append(cmd.Env, "LIBRARY="+dir)
	return cmd
}

func driver(t *testing.T, workspace, program string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	vectors, err := filepath.Abs("testdata/library.json")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = workspace
	cmd.Env = append(os.Environ(), "VECTORS="+vectors)
	cmd.Stderr = &strings.Builder{}
	return cmd
}

// TestPublish puts the names of the library where Python scripts find them, and looks at which classes errors have.
func TestPublish(t *testing.T) {
	const script = `import builtins, json, sys, types
sys.path.insert(0, LIBRARY)
loaded = set(sys.modules)
import mcprun
mcprun.publish(builtins, {"read_file", "x", "json", "print", "statistics"}, own=("statistics",))
assert builtins.json.loads("1") == 1 and not hasattr(builtins, "re") and not hasattr(builtins, "statistics")
assert not {"_mcprun_lists", "_mcprun_client", "servers.client"} & set(sys.modules), "more was loaded than is used"
assert builtins.read_file is mcprun.read_file and not hasattr(builtins, "write_file")
mcprun.publish(builtins, {"MCPToolError", "write_file", "callMCPTool", "call_mcp_tool", "datetime"})
assert isinstance(datetime.now(), datetime) and isinstance(datetime.datetime(2026, 1, 2), datetime) and datetime(2026, 1, 2).year == 2026
assert datetime.strptime("3", "%d").day == 3 and datetime.timedelta(days=1) and not isinstance(1, datetime) and (datetime | None)
assert write_file is mcprun.write_file and callMCPTool is mcprun.call_mcp_tool
assert builtins.vars.__module__ == "builtins", "vars() of Python is hidden"
client = sys.modules[CLIENT]
assert MCPToolError is mcprun.MCPToolError is client.MCPToolError and issubclass(mcprun.MCPToolError, mcprun.MCPError)
class CallError(Exception):
    def __init__(self, **fields):
        self.fields = fields
def call(tool, args, **options):
    if args.get("fail"):
        raise CallError(kind="tool", message="no", server="s", retryable=True)
    return [tool, args, options]
transport = types.ModuleType("_mcprun")
transport.call, transport.vars = call, {"x": 1}
sys.modules["_mcprun"] = transport
assert mcprun.call_mcp_tool("s__t") == ["s__t", {}, {}], mcprun.call_mcp_tool("s__t")
assert call_mcp_tool("s__t", {"a": 1}, timeout=2, raw=True) == ["s__t", {"a": 1}, {"timeout": 2, "raw": True}]
from mcprun import vars
assert vars == {"x": 1}
try:
    call_mcp_tool("s__t", {"fail": True})
except MCPToolError as error:
    assert error.is_retryable and error.tool == "s__t" and str(error) == "s__t: no", error
else:
    raise AssertionError("no error")
class Handle:
    path, size, preview, type = "/workspace/x", 9, "[", "json"
    def lines(self): return iter(())
    def json(self): return [{"a": 1}, {"a": 2}]
assert mcprun.is_handle(Handle()) and not mcprun.is_handle({"path": "", "preview": "", "lines": 1})
assert mcprun.aggregate_stats(Handle(), "a")["sum"] == 3 and mcprun.filter_by_field(Handle(), "a", 2) == [{"a": 2}]
assert mcprun.summarize_list(Handle())["count"] == 2 and json.loads(mcprun.format_output(Handle())) == [{"a": 1}, {"a": 2}]
stats = mcprun.aggregate_stats([{"a": 1}, {"a": 2}], numeric_fields=["a"])
assert stats["a_sum"] == 3 and stats["a"]["sum"] == 3 and "a_avg" in stats and "a_none" not in stats and "b_sum" not in stats and list(stats) == ["count", "a"]
try:
    stats["b_sum"]
except KeyError as error:
    assert str(error) == "'b_sum'"
else:
    raise AssertionError("no error")
mcprun.publish(builtins, {"Counter", "list_files", "Path"})
assert Counter("aa")["a"] == 2 and list_files and Path("x.py").suffix == ".py"
names = {}
exec("from mcprun import *", names)
assert {"format_output", "MCPError", "is_handle"} <= set(names) and "vars" not in names, names.keys()
try:
    mcprun.nothing
except AttributeError as error:
    assert "'mcprun' has no attribute 'nothing'" in str(error)
print("done")
`
	for name, client := range map[string]string{"tree": "servers.client", "no tree": "_mcprun_client"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workspace := t.TempDir()
			if client == "servers.client" {
				if err := os.MkdirAll(filepath.Join(workspace, "servers"), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(workspace, "servers/client.py"), []byte(Text("py/client.py")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			library := t.TempDir()
			for file, text := range PythonGuest() {
				if err := os.WriteFile(filepath.Join(library, file), text, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			head := "LIBRARY, CLIENT = " + quoted(library) + ", " + quoted(client) + "\n"
			cmd := driver(t, workspace, "python3", "-B", "-c", head+script)
			if out, err := cmd.Output(); err != nil || strings.TrimSpace(string(out)) != "done" {
				t.Errorf("%v, want strings.TrimSpace(string(out)) \"done\" and no error\n%s\n%s", err, out, cmd.Stderr)
			}
		})
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string
	return string(b)
}

// TestLibraryIsDeclared compares what the library has with what editors are told of it.
func TestLibraryIsDeclared(t *testing.T) {
	names := func(text string, patterns ...string) []string {
		var out []string
		for _, p := range patterns {
			for _, m := range regexp.MustCompile(p).FindAllStringSubmatch(text, -1) {
				out = append(out, m[1])
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	values := []string{`(?m)^export (?:async )?(?:function|const) (\w+)`, `\b(MCP\w*Error|callMCPTool)\b`}
	has, told := names(Library(), values...), names(Text("ts/mcprun.d.ts"), values...)
	if diff := cmp.Diff(told, has); diff != "" || len(has) < 15 {
		t.Errorf("TypeScript (-declared +there):\n%s", diff)
	}
	public := regexp.MustCompile(`^(MCP\w*Error|[a-z]+(_[a-z]+)+|callMCPTool|vars|workflow|workspace)$`)
	has = slices.DeleteFunc(append(names(PythonLibrary(), `"(\w+)"`), "vars"), func(s string) bool { return !public.MatchString(s) })
	slices.Sort(has)
	has = slices.Compact(has)
	told = names(Text("py/mcprun.pyi"), `(?m)^def (\w+)`, `(?m)^(\w+)(?::| =) `, `import (MCP\w*Error|call_mcp_tool) as`)
	told = slices.DeleteFunc(told, func(s string) bool { return !public.MatchString(s) }) // names of types
	if diff := cmp.Diff(told, has); diff != "" || len(has) < 15 {
		t.Errorf("Python (-declared +there):\n%s", diff)
	}
	without := slices.DeleteFunc(slices.Clone(told), func(s string) bool { return s == "vars" })
	if diff := cmp.Diff(without, names(Text("py/builtins.pyi"), `from mcprun import (\w+) as`)); diff != "" {
		t.Errorf("the names that need no import (-declared +there):\n%s", diff)
	}
}

// TestCommonNamesAreDeclared compares the names of Python's modules that scripts find with what editors are told of them.
func TestCommonNamesAreDeclared(t *testing.T) {
	library := t.TempDir()
	for file, text := range PythonGuest() {
		if err := os.WriteFile(filepath.Join(library, file), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := "import sys; sys.path.insert(0, " + quoted(library) + `)
import _mcprun_common
for name in sorted(_mcprun_common.HOMES):
    _mcprun_common.load(name)
    print(name)
`
	cmd := driver(t, t.TempDir(), "python3", "-B", "-c", script)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, cmd.Stderr)
	}
	var told []string
	for _, m := range regexp.MustCompile(`(?m)^(?:import (\w+) as|from [a-z.]+ import (\w+) as|(\w+): Any)`).FindAllStringSubmatch(Text("py/builtins.pyi"), -1) {
		if name := m[1] + m[2] + m[3]; !strings.HasPrefix(m[0], "from mcprun ") {
			told = append(told, name)
		}
	}
	slices.Sort(told)
	if diff := cmp.Diff(told, strings.Fields(string(out))); diff != "" {
		t.Errorf("common names (-declared +there):\n%s", diff)
	}
}
