package script

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func (c *Cache) get(t testing.TB, code, dir, tree string) string {
	t.Helper()
	job, err := c.Prepare(t.Context(), Source{Name: "script.ts", Code: code, Language: sandbox.LangTypeScript, Dir: dir}, Options{Runtime: sandbox.Node, Tree: tree})
	if err != nil {
		t.Fatal(err)
	}
	return job.Code
}

// isKept tells whether the next bundle comes from the cache, by putting a mark into what is kept.
func (c *Cache) isKept(t *testing.T, code, dir, tree string) bool {
	t.Helper()
	e := c.find(cacheKey{"script.ts", code, dir, tree, ""})
	if e == nil {
		return false
	}
	old := e.bundle
	e.bundle = &bundle{code: "kept"}
	got := c.get(t, code, dir, tree)
	e.bundle = old
	return got == "kept"
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestCacheSeesChanges changes, one at a time, everything that a bundle may stand on.
func TestCacheSeesChanges(t *testing.T) {
	const code = `import { getDocument } from "./servers/google-drive"; import { x } from "./lib.js"; console.log(getDocument, x);`
	remove := func(t *testing.T, name string) {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, change := range map[string]func(t *testing.T, dir, tree string){
		"a file that was read": func(t *testing.T, dir, _ string) { write(t, filepath.Join(dir, "lib.ts"), "export const x = 'new1';") },
		"one it imports": func(t *testing.T, dir, _ string) {
			write(t, filepath.Join(dir, "sub/deep.ts"), "export const y = 'new1';")
		},
		"a wrapper": func(t *testing.T, _, tree string) {
			write(t, filepath.Join(tree, "google_drive/getDocument.ts"), "export function getDocument() { return 'new1' }")
		},
		"a file that comes first": func(t *testing.T, dir, _ string) { write(t, filepath.Join(dir, "lib.js"), "export const x = 'new1';") },
		"a folder that comes first": func(t *testing.T, _, tree string) {
			write(t, filepath.Join(tree, "google-drive/index.ts"), "export const getDocument = 'new1';")
		},
		"a file that is gone": func(t *testing.T, dir, _ string) {
			remove(t, filepath.Join(dir, "lib.ts"))
			write(t, filepath.Join(dir, "lib.mts"), "export const x = 'new1';")
		},
		"a link": func(t *testing.T, dir, _ string) {
			write(t, filepath.Join(dir, "other.ts"), "export const x = 'new1';")
			remove(t, filepath.Join(dir, "lib.ts"))
			if err := os.Symlink("other.ts", filepath.Join(dir, "lib.ts")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, dir, servers := NewCache(0), t.TempDir(), tree(t)
			lib := filepath.Join(dir, "lib.ts")
			write(t, lib, "import { y } from './sub/deep'; export const x = 'old' + y;")
			write(t, filepath.Join(dir, "sub/deep.ts"), "export const y = 'old1';")
			was, err := os.Stat(lib)
			if err != nil {
				t.Fatal(err)
			}
			first := c.get(t, code, dir, servers)
			if !c.isKept(t, code, dir, servers) || c.get(t, code, dir, servers) != first {
				t.Fatal("an unchanged script was bundled again")
			}
			change(t, dir, servers)
			if _, err := os.Stat(lib); err == nil {
				_ = os.Chtimes(lib, was.ModTime(), was.ModTime()) // as if nothing had happened
			}
			if got := c.get(t, code, dir, servers); got == first || !strings.Contains(got, "new1") {
				t.Errorf("the bundle is\n%s", got)
			}
			if !c.isKept(t, code, dir, servers) {
				t.Error("the new bundle is not kept")
			}
		})
	}
}

func TestCacheKey(t *testing.T) {
	c, dir := NewCache(0), t.TempDir()
	write(t, filepath.Join(dir, "lib.ts"), "export const x = 'one';")
	other := t.TempDir()
	write(t, filepath.Join(other, "lib.ts"), "export const x = 'two';")
	const code = "import { x } from './lib.ts'; console.log(x)"
	if one, two := c.get(t, code, dir, ""), c.get(t, code, other, ""); one == two {
		t.Error("two folders share a bundle")
	}
	if one, two := c.get(t, "console.log(1)", "", ""), c.get(t, "console.log(2)", "", ""); one == two {
		t.Error("two scripts share a bundle")
	}
	a, err := c.Prepare(t.Context(), Source{Name: "a.ts", Code: "console.log(1)", Language: sandbox.LangTypeScript}, Options{})
	if err != nil || !strings.Contains(decoded(t, a.Code), `"script:a.ts"`) {
		t.Errorf("another name shares a bundle: %v", err)
	}
}

func TestCacheKeepsNoErrors(t *testing.T) {
	c, dir := NewCache(0), t.TempDir()
	src := Source{Name: "script.ts", Code: "import './lib.ts'", Language: sandbox.LangTypeScript, Dir: dir}
	if _, err := c.Prepare(t.Context(), src, Options{}); err == nil {
		t.Fatal("bundled what is not there")
	}
	write(t, filepath.Join(dir, "lib.ts"), "console.log(1)")
	if _, err := c.Prepare(t.Context(), src, Options{}); err != nil {
		t.Error(err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	c := NewCache(200_000)
	text := strings.Repeat("x", 10_000)
	for i := range 100 {
		c.get(t, fmt.Sprintf("console.log(%d, %q)", i, text), "", "")
		if c.size > c.limit {
			t.Fatalf("%d bytes are kept", c.size)
		}
	}
	if !c.isKept(t, fmt.Sprintf("console.log(%d, %q)", 99, text), "", "") || c.isKept(t, fmt.Sprintf("console.log(%d, %q)", 0, text), "", "") {
		t.Error("it does not keep the last ones")
	}
	huge := fmt.Sprintf("console.log(%q)", strings.Repeat("x", 100_000))
	c.get(t, huge, "", "")
	if c.isKept(t, huge, "", "") || !c.isKept(t, fmt.Sprintf("console.log(%d, %q)", 99, text), "", "") {
		t.Error("one huge script drives out the others")
	}
}

func TestCacheAtOnce(t *testing.T) {
	c, servers := NewCache(100_000), tree(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 20 {
				code := fmt.Sprintf(`import { getDocument } from "./servers/google-drive"; console.log(%d, getDocument);`, (i+j)%5)
				if got := c.get(t, code, "", servers); !strings.Contains(got, fmt.Sprintf("console.log(%d", (i+j)%5)) {
					t.Errorf("another script's bundle: %s", got)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkPrepareAgain(b *testing.B) {
	c, servers := NewCache(0), tree(b)
	for b.Loop() {
		c.get(b, `import { getDocument } from "./servers/google-drive"; console.log(await getDocument({}));`, "", servers)
	}
}

// decoded is a bundle's source map.
func decoded(t *testing.T, bundle string) string {
	t.Helper()
	_, encoded, _ := strings.Cut(bundle, "base64,")
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
