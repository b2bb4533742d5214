package script

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestDigest: it changes with each file that a script imports, however far away, and with no other.
func TestDigest(t *testing.T) {
	for _, c := range []struct {
		name, main, first, second string
		language                  sandbox.Language
		texts                     map[string]string
	}{
		{"typescript", `import { a } from "./a.ts"; console.log(a);`, "a.ts", "b.json", sandbox.LangTypeScript, map[string]string{
			"a.ts": `import b from "./b.json"; export const a = b;`, "b.json": `{"b": 1}`, "other.ts": "1",
		}},
		{"python", "import a\nprint(a.b)", "a.py", "b.py", sandbox.LangPython, map[string]string{"a.py": "from b import b", "b.py": "b = 1", "other.py": "1"}},
	} {
		dir := t.TempDir()
		write := func(name, text string) {
			t.Helper()
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range c.texts {
			write(name, text)
		}
		digest := func(code string) string {
			t.Helper()
			got, err := Read(t.Context(), Source{Name: "main" + filepath.Ext(c.first), Code: code, Language: c.language, Dir: dir}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			return got.Digest
		}
		seen := map[string]string{digest(c.main): "nothing"}
		if first, again := digest(c.main), digest(c.main); first != again || len(first) != 64 {
			t.Errorf("%s: the digest is %q, and then %q", c.name, first, again)
		}
		write("other"+filepath.Ext(c.first), "2")
		if _, same := seen[digest(c.main)]; !same {
			t.Errorf("%s: a file that is not imported changes the digest", c.name)
		}
		note := func(what, got string) {
			if was, known := seen[got]; known {
				t.Errorf("%s: the digest is the same after a change of %s as after %s", c.name, what, was)
			}
			seen[got] = what
		}
		note("the script", digest(c.main+" "))
		for _, name := range []string{c.first, c.second} {
			write(name, c.texts[name]+"\n")
			note(name, digest(c.main))
		}
	}
}
