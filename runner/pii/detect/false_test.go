package detect

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// mostFalse is the number of names, companies and addresses that may be found in 100 KB of code, which has hardly any.
const mostFalse = 1.0

// TestFalseNames searches the code and the documents of this repository for names, companies and addresses. There are none in most files, so
// what is found counts as false.
func TestFalseNames(t *testing.T) {
	var size, found int
	byExt := map[string][2]int{}
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2 || d.Name() == "node_modules" || d.Name() == "build" || strings.HasSuffix(path, filepath.Join("runner", "pii"))) {
				return fs.SkipDir
			}
			return err
		}
		switch filepath.Ext(path) {
		case ".go", ".ts", ".py", ".js", ".mjs", ".md", ".txtar", ".tmpl", ".yml", ".json":
		default:
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil || !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
			return err
		}
		size += len(raw)
		text := string(raw)
		n := 0
		for _, m := range Find(text, "") {
			if m.Type == Name || m.Type == Company || m.Type == Address {
				n++
				t.Logf("%s: %s %q in %q", path, m.Type, text[m.Start:m.End], text[max(0, m.Start-30):min(len(text), m.End+10)])
			}
		}
		ext := byExt[filepath.Ext(path)]
		byExt[filepath.Ext(path)] = [2]int{ext[0] + n, ext[1] + len(raw)}
		found += n
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for ext, n := range byExt {
		t.Logf("%-6s %4d in %5.1f MB", ext, n[0], float64(n[1])/1e6)
	}
	rate := float64(found) / float64(size) * 100_000
	t.Logf("%d in %.1f MB: %.2f in 100 KB", found, float64(size)/1e6, rate)
	if size < 4_000_000 {
		t.Errorf("%d bytes were searched, want at least 4 MB", size)
	}
	if rate > mostFalse {
		t.Errorf("%.2f names in 100 KB, want at most %v", rate, mostFalse)
	}
}
