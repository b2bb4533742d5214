package layering

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDesignNamesPlaces checks that every place which the index of docs/design.md names exists.
func TestDesignNamesPlaces(t *testing.T) {
	const root = "../../.."
	page, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n## Where is …\n")
	index, _, found := strings.Cut(rest, "\n## ")
	if !found {
		t.Fatal("docs/design.md has no section \"Where is …\"")
	}
	count := 0
	for _, m := range regexp.MustCompile("`((?:cmd|gen|runner|templates|skills)/[^`]*)`").FindAllStringSubmatch(index, -1) {
		count++
		if matches, err := filepath.Glob(filepath.Join(root, m[1])); err != nil || len(matches) == 0 {
			t.Errorf("docs/design.md names %s, which does not exist", m[1])
		}
	}
	if count < 40 {
		t.Errorf("the index names %d places, want at least 40", count)
	}
}
