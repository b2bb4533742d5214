package hostile

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen"
)

// tool returns a definition with that input schema.
func tool(name, schema string) string { return `{"name":"` + name + `","inputSchema":` + schema + `}` }

func joined(n int, f func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f(i)
	}
	return strings.Join(parts, ",")
}

// bombs returns definitions that are designed to use too much time or memory, by name.
func bombs() map[string]string {
	references := joined(40, func(i int) string {
		next := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		return fmt.Sprintf(`"d%d":{"allOf":[%s,%s],"anyOf":[%s,%s]}`, i, next, next, next, next)
	})
	union := joined(25, func(i int) string {
		return fmt.Sprintf(`{"anyOf":[{"type":"object","properties":{"a%d":{"const":1}},"required":["a%d"]},{"type":"object","properties":{"b%d":{"const":2}},"required":["b%d"]}]}`, i, i, i, i)
	})
	text := strings.Repeat("A description that goes on. ", 5<<20/28)
	name := strings.Repeat("n", 5<<20)
	return map[string]string{
		"nested":     tool("nested", strings.Repeat(`{"type":"object","properties":{"a":`, 1000)+`{}`+strings.Repeat(`}}`, 1000)),
		"lists":      tool("lists", `{"type":"object","properties":{"a":`+strings.Repeat(`{"type":"array","items":`, 1000)+`{}`+strings.Repeat(`}`, 1000)+`}}`),
		"allof":      tool("allof", strings.Repeat(`{"allOf":[`, 1000)+`{}`+strings.Repeat(`]}`, 1000)),
		"negated":    tool("negated", strings.Repeat(`{"not":`, 60)+`{"type":"object"}`+strings.Repeat(`}`, 60)),
		"references": tool("references", `{"$ref":"#/$defs/d0","$defs":{`+references+`,"d40":{"type":"object"}}}`),
		"loop":       tool("loop", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`),
		"itself":     tool("itself", `{"allOf":[{"$ref":"#"},{"$ref":"#"}],"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`),
		"union":      tool("union", `{"allOf":[`+union+`]}`),
		"conditions": tool("conditions", `{"allOf":[`+joined(200, func(i int) string {
			return fmt.Sprintf(`{"if":{"properties":{"k":{"const":%d}}},"then":{"required":["p%d"]},"else":{"properties":{"p%d":{"type":"string"}}}}`, i, i, i)
		})+`]}`),
		"description":  `{"name":"description","description":` + quoted(text) + `,"inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`,
		"descriptions": tool("descriptions", `{"type":"object","properties":{`+joined(2000, func(i int) string { return fmt.Sprintf(`"p%d":{"description":%s}`, i, quoted(text[:2500])) })+`}}`),
		"name":         `{"name":"` + name + `","inputSchema":{"type":"object"}}`,
		"property":     tool("property", `{"type":"object","properties":{"`+name[:3<<20]+`":{"type":"string"}}}`),
		"properties":   tool("properties", `{"type":"object","properties":{`+joined(100_000, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) })+`}}`),
		"required":     tool("required", `{"type":"object","required":[`+joined(100_000, func(i int) string { return fmt.Sprintf(`"p%d"`, i) })+`]}`),
		"values":       tool("values", `{"type":"object","properties":{"a":{"enum":[`+joined(100_000, func(i int) string { return fmt.Sprintf(`"v%d"`, i) })+`]}}}`),
		"value":        tool("value", `{"type":"object","properties":{"a":{"const":`+quoted(text[:3<<20])+`,"default":`+quoted(text[:500_000])+`}}}`),
		"pattern":      tool("pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"`+strings.Repeat("(a+)+", 100_000)+`"}}}`),
		"digits":       tool("digits", `{"type":"object","properties":{"a":{"type":"number","maximum":1`+strings.Repeat("0", 1_000_000)+`,"const":1e999999999}}}`),
		"tuple":        tool("tuple", `{"type":"object","properties":{"a":{"prefixItems":[`+joined(9000, func(int) string { return "{}" })+`]}}}`),
		"patterns":     tool("patterns", `{"type":"object","patternProperties":{`+joined(2000, func(i int) string { return fmt.Sprintf(`"^p%d":{"type":"string"}`, i) })+`},"properties":{`+joined(2000, func(i int) string { return fmt.Sprintf(`"p%d":{}`, i) })+`}}`),
		"definitions":  tool("definitions", `{"type":"object","properties":{`+joined(3000, func(i int) string { return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/D"}`, i) })+`},"$defs":{"D":{"type":"object","properties":{"a":{"$ref":"#/$defs/D"}}}}}`),
		"duplicates":   tool("duplicates", `{"type":"object","properties":{`+joined(100_000, func(int) string { return `"p":{}` })+`}}`),
	}
}

// TestBombs checks that each bomb soon yields a wrapper or a warning, and does not affect the tools beside it.
func TestBombs(t *testing.T) {
	for name, definition := range bombs() {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, map[string]*gen.Listing{"s": listing(plainTool("before"), definition, plainTool("ztool"))})
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			r := p.sync(t)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			files := p.files(t)
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			size := 0
			for path, src := range files {
				if strings.HasSuffix(path, ".ts") || strings.HasSuffix(path, ".py") {
					size = max(size, len(src))
				}
			}
			t.Logf("%s: %s, %d MiB allocated in all, largest file %d KiB, %d warnings", name, took.Round(time.Millisecond), allocated, size>>10, len(r.Warnings))
			for _, file := range []string{"s/before.ts", "s/before.py", "s/ztool.ts", "s/ztool.py"} {
				if files[file] == "" {
					t.Errorf("%s is missing", file)
				}
			}
			for _, w := range r.Warnings {
				t.Logf("%.150s: %.200s (dropped %t)", w.Place, w.Message, w.Dropped)
				if strings.HasPrefix(w.Place, "s/before") || strings.HasPrefix(w.Place, "s/ztool") || len(w.Place) > 1000 || len(w.Message) > 1000 {
					t.Errorf("warning for a harmless tool, or a long warning: %.300s %.300s", w.Place, w.Message)
				}
			}
			if r.Tools() < 3 && !r.Dropped() {
				t.Error("a tool is missing without a warning")
			}
			// A few seconds at most on a free machine; the bounds are for loaded ones.
			if took > 30*time.Second {
				t.Errorf("the sync took %s, want at most 30s", took)
			}
			if allocated > 4096 {
				t.Errorf("the sync allocated %d MiB, want at most 4096", allocated)
			}
		})
	}
}

// TestNothingIsFetched checks that references to files and addresses are not followed.
func TestNothingIsFetched(t *testing.T) {
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		fmt.Fprint(w, `{"type":"object","properties":{"fetched":{"type":"string"}}}`)
	}))
	defer server.Close()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.json")
	if err := os.WriteFile(secret, []byte(`{"type":"object","properties":{"fetched":{"type":"string"}},"title":"fetched"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(secret, long, long); err != nil {
		t.Fatal(err)
	}
	var definitions []string
	for i, ref := range []string{server.URL, server.URL + "/a.json#/properties/x", secret, "file://" + secret, "secret.json", "../secret.json", "//" + strings.TrimPrefix(server.URL, "http://") + "/x", "secret.json#/title"} {
		q := quoted(ref)
		definitions = append(definitions,
			tool(fmt.Sprintf("ref%d", i), `{"type":"object","properties":{"a":{"$ref":`+q+`}}}`),
			tool(fmt.Sprintf("dynamic%d", i), `{"type":"object","properties":{"a":{"$dynamicRef":`+q+`}}}`),
			tool(fmt.Sprintf("base%d", i), `{"$id":`+q+`,"type":"object","properties":{"a":{"$ref":"other.json"}}}`),
			tool(fmt.Sprintf("dialect%d", i), `{"$schema":`+q+`,"type":"object","properties":{"a":{"type":"string"}}}`),
			tool(fmt.Sprintf("root%d", i), `{"$ref":`+q+`}`))
	}
	p := newProject(t, map[string]*gen.Listing{"s": listing(definitions...)})
	if err := os.WriteFile(filepath.Join(p.dir, "secret.json"), []byte(`{"title":"fetched"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := p.sync(t)
	if r.Tools() != len(definitions) {
		t.Errorf("got %d tools, want %d", r.Tools(), len(definitions))
	}
	if n := hits.Load(); n > 0 {
		t.Errorf("got %d requests, want none", n)
	}
	for name, src := range p.files(t) {
		if strings.Contains(src, "fetched") {
			t.Errorf("%s contains the target of a reference, want no \"fetched\" in it:\n%s", name, src)
		}
	}
	for i := range 8 {
		if len(about(r, fmt.Sprintf("s/ref%d#", i))) == 0 || len(about(r, fmt.Sprintf("s/root%d#", i))) == 0 {
			t.Errorf("no warning about reference %d", i)
		}
	}
}

// TestDescriptionsAreCut checks that wrappers cut long texts, which are stored in full beside the tree.
func TestDescriptionsAreCut(t *testing.T) {
	text := strings.Repeat("Long words. ", 2000) + "The end zqxend."
	q := quoted(text)
	definition := `{"name":"long","description":` + q + `,"inputSchema":{"type":"object","title":` + q + `,"description":` + q + `,"properties":{"a":{"type":"string","description":` + q + `,"pattern":` + q + `,"default":` + q + `,"examples":[` + q + `],"format":` + q +
		`},"b":{"$ref":"#/$defs/B"}},"$defs":{"B":{"description":` + q + `,"type":"object","properties":{"c":{"description":` + q + `}}}}}}`
	l := listing(definition)
	l.Title, l.Instructions = text, text
	p := newProject(t, map[string]*gen.Listing{"s": l})
	p.sync(t)
	files := p.files(t)
	for name, src := range files {
		if strings.HasPrefix(name, ".mcpgen/s.json") {
			if !strings.Contains(src, "zqxend") {
				t.Errorf(`the stored definition is cut: got %q, want "zqxend" in it`, src)
			}
			continue
		}
		if strings.Contains(src, "zqxend") {
			t.Errorf(`%s contains the end of a long text: got %q, want no "zqxend" in it`, name, src)
		}
		if len(src) > 20_000 && strings.HasPrefix(name, "s/") {
			t.Errorf("%s has %d bytes, want at most 20,000", name, len(src))
		}
	}
	if !strings.Contains(files["s/long.ts"], "Long words.") || !strings.Contains(files["s/long.py"], "Long words.") {
		t.Error(`a description is missing, want "Long words." in it and "Long words." in it`)
	}
}
