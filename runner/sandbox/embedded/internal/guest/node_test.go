package guest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The .out files contain node 20's output for the same script; see testdata/README.
func TestLikeNode(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.mjs")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, name := range scripts {
		t.Run(filepath.Base(name), func(t *testing.T) {
			code, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(name, ".mjs") + ".out")
			if err != nil {
				t.Fatal(err)
			}
			r := script(t, string(code))
			if r.Code != 0 || r.stderr != "" {
				t.Errorf(`code %d, stderr %s, want 0 and ""`, r.Code, r.stderr)
			}
			diff(t, strings.Split(r.stdout, "\n"), strings.Split(string(want), "\n"))
		})
	}
}

// diff reports the first lines that differ.
func diff(t *testing.T, got, want []string) {
	t.Helper()
	shown := 0
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("line %d\ngot  %q\nwant %q", i+1, g, w)
			if shown++; shown == 10 {
				return
			}
		}
	}
}

// TestCopyIntoItself: as in node, such a copy is refused; otherwise it would not end before the limits do.
func TestCopyIntoItself(t *testing.T) {
	r := script(t, `
import fs from "node:fs";
fs.mkdirSync("/workspace/a");
for (const to of ["/workspace/a", "a/../a/b", "ab"]) {
  try { fs.cpSync("/workspace/a", to, { recursive: true }); console.log("copied"); } catch (e) { console.log(e.code); }
}`)
	if want := "ERR_FS_CP_EINVAL\nERR_FS_CP_EINVAL\ncopied\n"; r.stdout != want {
		t.Errorf("%q, want %q\n%s", r.stdout, want, r.stderr)
	}
}
