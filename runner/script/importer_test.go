package script

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// importing prepares a script that imports what it computes, and what else it is given.
func importing(t testing.TB, b *Bundler, more string, dir string, opt Options) *Program {
	t.Helper()
	code := more + "\nconst load = (n: string) => import(n);\nconsole.log(load);"
	p, err := b.Read(t.Context(), Source{Name: "script.ts", Code: code, Language: sandbox.LangTypeScript, Dir: dir}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestImportSendsEachModuleOnce(t *testing.T) {
	dir, opt := world(t, nil)
	p := importing(t, nil, "import { MCPError } from './servers/client.ts'; console.log(MCPError);", dir, opt)
	sent := func(specifier, from string) (string, string) {
		t.Helper()
		id, code, err := p.Import(t.Context(), specifier, from)
		if err != nil {
			t.Fatal(err)
		}
		return id, code
	}
	id, code := sent("./servers/crm", "script:script.ts")
	if id != "servers:crm/index.ts" || !strings.Contains(code, "crm__get_record") || strings.Contains(code, "class MCPError") {
		t.Errorf("%s, want \"servers:crm/index.ts\", \"crm__get_record\" in it and no \"class MCPError\" in it\n%s", id, code)
	}
	for _, again := range []string{"./servers/crm/index.js", "#servers/crm", "./servers/crm/getRecord.ts"} {
		if id, code := sent(again, "script:script.ts"); len(code) > 200 || !strings.HasPrefix(id, "servers:crm/") {
			t.Errorf(`%s again: %s %d bytes, want at most 200 and "servers:crm/" at its start`, again, id, len(code))
		}
	}
	if id, code := sent("./getDocument.ts", "servers:google_drive/index.ts"); id != "servers:google_drive/getDocument.ts" || !strings.Contains(code, "google_drive__get_document") {
		t.Errorf("%s, want \"servers:google_drive/getDocument.ts\" and \"google_drive__get_document\" in it\n%s", id, code)
	}
	if id, code := sent("fs", ""); id != "node:fs" || !strings.Contains(code, `"node:fs"`) {
		t.Errorf("%s, want \"node:fs\" and %q in it\n%s", id, `"node:fs"`, code)
	}
}

func TestImportRefuses(t *testing.T) {
	dir, opt := world(t, map[string]string{"broken.ts": "export const = 1;", ".env": "SECRET = 1", "notes.txt": "SECRET = 1", "lib.ts": "import './gone.ts'"})
	p := importing(t, nil, "", dir, opt)
	for _, specifier := range []string{"", ".", "..", "x", "./.env", "./notes.txt", "./broken.ts", "./lib.ts", "./script.ts", "entry:main", "known:x", "servers:client.ts", "data:text/javascript,1",
		"https://example.com/x.js", "\x00", "./\x00.ts", strings.Repeat("./", 10_000), "./" + strings.Repeat("x", 4000), "file:///etc/passwd", "/etc/passwd", "./servers/..%2f..", "../servers/../x"} {
		for range 2 {
			id, code, err := p.Import(t.Context(), specifier, "script:script.ts")
			var e *Error
			if !errors.As(err, &e) || id != "" || code != "" || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%.50q: %q %q %v", specifier, id, code, err)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := p.Import(ctx, "./servers/crm", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v, want %v", err, context.Canceled)
	}
	plain, err := Read(t.Context(), Source{Name: "script.ts", Code: "console.log('import(x)')", Language: sandbox.LangTypeScript}, Options{})
	if err != nil || plain.Import != nil {
		t.Errorf("a script without computed imports may import: %v, want Import nil and no error", err)
	}
}

func TestImportAtOnce(t *testing.T) {
	dir, opt := world(t, map[string]string{"a.ts": "export const a = 1;"})
	p := importing(t, nil, "", dir, opt)
	var mu sync.Mutex
	whole := map[string]int{} // how often the module itself was sent
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			specifier := []string{"./servers/crm", "./servers/google-drive", "./a.ts", "./servers/client.ts"}[i%4]
			id, code, err := p.Import(t.Context(), specifier, "script:script.ts")
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(code, ".add({") {
				whole[id]++
			}
		})
	}
	all.Wait()
	for id, n := range whole {
		if n != 1 {
			t.Errorf("%s was sent %d times, want 1", id, n)
		}
	}
	if whole["script:a.ts"] != 1 || whole["servers:crm/index.ts"] != 1 {
		t.Errorf("sent: %v, want 1 and 1", whole)
	}
}

func BenchmarkImport(b *testing.B) {
	dir, opt := world(b, nil)
	for b.Loop() {
		p := importing(b, nil, "", dir, opt)
		if _, _, err := p.Import(b.Context(), "./servers/crm", ""); err != nil {
			b.Fatal(err)
		}
	}
}
