package hostile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/verify"
)

// hostileNames returns all names of the fuzzer, and longer ones.
func hostileNames() []string {
	out := slices.Clone(names)
	for _, p := range payloads {
		out = append(out, strings.ReplaceAll(p, canary, "zqxname"))
	}
	out = append(out, "", strings.Repeat("x", 300), strings.Repeat("é", 300), strings.Repeat("../", 100), strings.Repeat("🚀", 100), strings.Repeat("A", 300), strings.Repeat("a", 300))
	for i, n := range out {
		out[i] = strings.ToValidUTF8(n, "\uFFFD") // as JSON has them
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// namedTool uses a name for the tool, a property, a definition and a member of an enum.
func namedTool(name string) string {
	n := quoted(name)
	ref := quoted("#/$defs/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
	return `{"name":` + n + `,"inputSchema":{"type":"object","properties":{` + n + `:{"type":"string"},"zqx":{"enum":[` + n + `,"other"]},"ref":{"$ref":` + ref + `}},"required":[` + n + `],"$defs":{` + n +
		`:{"type":"object","properties":{` + n + `:{"type":"integer"}}}}},"outputSchema":{"type":"object","properties":{` + n + `:{"type":"string"}},"required":[` + n + `]}}`
}

// TestNames syncs one server whose tools, properties, definitions and values have every hostile name.
func TestNames(t *testing.T) {
	all := hostileNames()
	var definitions []string
	for _, name := range all {
		definitions = append(definitions, namedTool(name))
	}
	p := newProject(t, map[string]*gen.Listing{"s": listing(definitions...)})
	r := p.sync(t)
	for _, w := range r.Warnings {
		if w.Dropped {
			t.Errorf("%q: %s", w.Place, w.Message)
		}
	}
	if r.Tools() != len(all) {
		t.Fatalf("got %d tools, want one for each of %d names", r.Tools(), len(all))
	}
	files := p.files(t)
	folded := map[string]string{}
	for name, src := range files {
		if other, taken := folded[strings.ToLower(name)]; taken {
			t.Errorf("%q and %q are one file where case is ignored", name, other)
		}
		folded[strings.ToLower(name)] = name
		if strings.HasPrefix(name, "s/") {
			if err := fileName(name); err != nil {
				t.Error(err)
			}
			read := verify.TypeScript
			if strings.HasSuffix(name, ".py") {
				read = verify.Python
			}
			if err := read([]byte(src)); err != nil {
				t.Errorf("%s: %v\n%s", name, err, src)
			}
		}
	}
	tree, err := gen.Open(gen.Options{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	// Calls use the original names, and the wrappers are where the lock says.
	for _, name := range all {
		i := slices.IndexFunc(tree.Catalog.Servers[0].Tools, func(tool catalog.Tool) bool { return tool.Name == name })
		if i < 0 {
			t.Errorf("%q is not in the catalog", name)
			continue
		}
		for language, n := range tree.Lock.Servers["s"].Tools[name].Names {
			src := files[n.File]
			if !strings.Contains(src, `"`+tree.Catalog.Servers[0].Tools[i].ID+`"`) || !strings.Contains(src, n.Function+"(") {
				t.Errorf("%q as %s: %s does not call it, want %q in it and %v in it", name, language, n.File, `"`+tree.Catalog.Servers[0].Tools[i].ID+`"`, n.Function+"(")
			}
			if language == "typescript" && !lossy(name) && !slices.Contains(keys(src), name) {
				t.Errorf("%q is no property in\n%s", name, src)
			}
		}
	}
	sent(t, p.dir, tree)
}

// keys returns the strings and plain names before a colon in a TypeScript file.
func keys(src string) []string {
	var out []string
	for _, line := range strings.Split(src, "\n") {
		line = strings.TrimSpace(line)
		if i := strings.Index(line, `{ `); i >= 0 && strings.Contains(line, "= {") {
			line = line[i+2:]
		}
		if strings.HasPrefix(line, `"`) {
			end := 1
			for end < len(line) && line[end] != '"' {
				if line[end] == '\\' {
					end++
				}
				end++
			}
			out = append(out, unquote(line[:min(end+1, len(line))]))
		} else if i := strings.IndexAny(line, "?:"); i > 0 {
			out = append(out, line[:i])
		}
	}
	return out
}

var braces = regexp.MustCompile(`\\\\|\\u\{[0-9a-f]+\}`)

// unquote reads a TypeScript string: JSON's escapes, and \u{…}.
func unquote(s string) string {
	s = braces.ReplaceAllStringFunc(s, func(escape string) string {
		var r rune
		if _, err := fmt.Sscanf(escape, `\u{%x}`, &r); err != nil {
			return escape // two backslashes
		}
		return string(r)
	})
	var out string
	if json.Unmarshal([]byte(s), &out) != nil {
		return s
	}
	return out
}

// lossy reports whether a name contains the replacement of invalid bytes. Arguments with such names are not declared,
// because a call would send another name.
func lossy(name string) bool { return strings.ContainsRune(name, utf8.RuneError) }

// sentSource calls every wrapper of a tree with all its declared parameters, and prints the requests.
const sentSource = `
import importlib, inspect, json, sys, types
sys.path.insert(0, ".")
calls = []
transport = types.ModuleType("_mcprun")
transport.call = lambda tool, args: calls.append([tool, sorted(args)])
sys.modules["_mcprun"] = transport
for line in sys.stdin.read().split():
    module = importlib.import_module(line)
    index = importlib.import_module(line.rpartition(".")[0])
    name = line.rpartition(".")[2]
    function = getattr(module, name)
    assert getattr(index, name) is function, name
    parameters = [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
    function(**{p: "x" for p in parameters})
print(json.dumps(calls))
`

// sent calls every Python wrapper, and compares the requests with the names of the tool and its arguments.
func sent(t *testing.T, dir string, tree *gen.Tree) {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("python3 is needed: %v", err)
		}
		t.Skipf("skipped the rest because python3 is not installed")
	}
	var modules strings.Builder
	want := map[string]string{} // id → name
	for _, s := range tree.Catalog.Servers {
		for _, tool := range s.Tools {
			fmt.Fprintln(&modules, "servers."+strings.ReplaceAll(strings.TrimSuffix(tree.Lock.Servers[s.Key].Tools[tool.Name].Names["python"].File, ".py"), "/", "."))
			want[tool.ID] = tool.Name
		}
	}
	cmd := exec.CommandContext(t.Context(), path, "-B", "-c", sentSource)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(modules.String())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var calls []any
	if err := json.Unmarshal(out, &calls); err != nil {
		t.Fatal(err)
	}
	if len(calls) != len(want) {
		t.Errorf("got %d calls, want %d", len(calls), len(want))
	}
	for _, c := range calls {
		call, _ := c.([]any)
		id, _ := call[0].(string)
		args := fmt.Sprint(call[1])
		name := want[id]
		if lossy(name) {
			continue
		}
		expected := map[string]bool{name: true, "ref": true, "zqx": true}
		got, _ := call[1].([]any)
		for _, key := range got {
			if k, _ := key.(string); !expected[k] {
				t.Errorf("%q: sends %q", name, args)
			}
		}
		if len(got) != len(expected) {
			t.Errorf("%q: sends %q: got %v, want %v", name, args, len(got), len(expected))
		}
	}
}

// TestServerKeys syncs servers with every hostile name, each with one tool.
func TestServerKeys(t *testing.T) {
	servers := map[string]*gen.Listing{}
	for _, name := range hostileNames() {
		if strings.TrimSpace(name) != "" { // a blank one is an error in the configuration
			servers[name] = listing(plainTool("get"))
		}
	}
	p := newProject(t, servers)
	r := p.sync(t)
	if r.Tools() != len(servers) {
		t.Errorf("got %d tools, want one for each of %d servers", r.Tools(), len(servers))
	}
	seen := map[string]string{}
	for name := range p.files(t) {
		dir := name[:strings.Index(name+"/", "/")]
		if !strings.Contains(name, "/") || dir == catalog.MetaDir {
			continue
		}
		if other, taken := seen[strings.ToLower(dir)]; taken && other != dir {
			t.Errorf("%q and %q are one folder where case is ignored", dir, other)
		}
		seen[strings.ToLower(dir)] = dir
		if err := fileName(name); err != nil || ident.ReservedDir(dir) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if len(seen) != len(servers) {
		t.Errorf("got %d folders, want one for each of %d servers", len(seen), len(servers))
	}
	entries, err := os.ReadDir(filepath.Dir(p.dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != filepath.Base(p.dir) {
			t.Errorf("%s was created outside of the tree", e.Name())
		}
	}
}
