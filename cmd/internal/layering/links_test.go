package layering

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinks reports whether every relative link of README.md, the other pages at the root and docs leads to a file and a heading, and
// whether the front page of docs leads to each of its pages.
func TestLinks(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	front := filepath.Join(root, "docs", "README.md")
	pages, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	links, linked := 0, map[string]bool{}
	for _, page := range pages {
		for _, link := range regexp.MustCompile(`\]\(([^()\s]+)\)`).FindAllStringSubmatch(prose(t, page), -1) {
			to, err := url.Parse(link[1])
			if err != nil || to.Scheme != "" {
				continue
			}
			links++
			target := page
			if to.Path != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(to.Path))
			}
			if page == front {
				linked[target] = true
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link to %s: the file does not exist", page, link[1])
			} else if to.Fragment != "" && !headings(t, target)[to.Fragment] {
				t.Errorf("%s: link to %s: no such heading", page, link[1])
			}
		}
	}
	for _, page := range pages {
		if strings.HasPrefix(page, filepath.Dir(front)) && page != front && !linked[page] {
			t.Errorf("%s has no link to %s", front, page)
		}
	}
	if links < 50 {
		t.Errorf("found %d links, want at least 50", links)
	}
}

// prose is a page without its code blocks and code spans, which contain no links and no headings.
func prose(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("(?ms)^ *```.*?^ *```$").ReplaceAllString(string(text), "")
}

// headings are the anchors of a page, as GitHub derives them.
func headings(t *testing.T, page string) map[string]bool {
	t.Helper()
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ +(.*)$`).FindAllStringSubmatch(prose(t, page), -1) {
		anchor := strings.ReplaceAll(regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		for base, n := anchor, 1; anchors[anchor]; n++ {
			anchor = fmt.Sprintf("%s-%d", base, n)
		}
		anchors[anchor] = true
	}
	return anchors
}
