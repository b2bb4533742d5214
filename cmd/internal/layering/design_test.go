package layering

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDesignNamesPlaces checks that every place which docs/design.md names exists. NAME and LANGUAGE stand for what a reader adds.
func TestDesignNamesPlaces(t *testing.T) {
	const root = "../../.."
	page, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, m := range regexp.MustCompile("`((?:cmd|docs|gen|runner|templates|skills)/[^` ]*)`").FindAllStringSubmatch(string(page), -1) {
		for _, place := range alternatives(m[1]) {
			if strings.HasSuffix(place, "/NAME") || strings.HasSuffix(place, "/LANGUAGE") {
				continue
			}
			count++
			if matches, err := filepath.Glob(filepath.Join(root, place)); err != nil || len(matches) == 0 {
				t.Errorf("docs/design.md names %s, which does not exist", place)
			}
		}
	}
	if count < 150 {
		t.Errorf("docs/design.md names %d places, want at least 150", count)
	}
}

// alternatives expands the first {a,b} of a path.
func alternatives(path string) []string {
	before, rest, found := strings.Cut(path, "{")
	list, after, _ := strings.Cut(rest, "}")
	if !found {
		return []string{path}
	}
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		out = append(out, before+part+after)
	}
	return out
}
