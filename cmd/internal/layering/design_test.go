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

// TestDesignListsLibraries checks that docs/design.md has a row for every library that go.mod requires directly.
func TestDesignListsLibraries(t *testing.T) {
	const root = "../../.."
	page, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Third-party code")
	table, _, _ = strings.Cut(table, "\n## ")
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	required := regexp.MustCompile(`(?m)^\t(\S+?)(?:/v\d+)? v\S+$`).FindAllStringSubmatch(string(mod), -1)
	if len(required) < 30 {
		t.Fatalf("go.mod requires %d libraries, want at least 30", len(required))
	}
	for _, m := range required {
		parts := strings.Split(m[1], "/")
		name := parts[len(parts)-1]
		if parts[0] == "github.com" {
			name = strings.Join(parts[1:3], "/")
		}
		if !strings.Contains(table, name) {
			t.Errorf("docs/design.md has no row for %s", m[1])
		}
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
