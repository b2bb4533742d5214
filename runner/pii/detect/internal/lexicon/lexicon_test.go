package lexicon

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSections: of a section that is there twice, only the second would count.
func TestSections(t *testing.T) {
	seen := map[string]bool{}
	for line := range strings.Lines(wordsText + peopleText + ordinaryText) {
		if line[0] == '[' {
			if seen[line] {
				t.Errorf("the section %s is there twice", strings.TrimSpace(line))
			}
			seen[line] = true
		}
	}
}

// TestSectionsExist: a section that does not exist has no words.
func TestSectionsExist(t *testing.T) {
	named := regexp.MustCompile(`Words\(\)\["([^"]+)"\]`)
	for _, pattern := range []string{"*.go", "../*/*.go", "../../*.go", "../../*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				if Words()[m[1]] == nil {
					t.Errorf("%s names the section %q, which does not exist", file, m[1])
				}
			}
		}
	}
}
