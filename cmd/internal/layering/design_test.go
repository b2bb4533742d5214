package layering

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// TestDesignListsLibraries checks that the table of libraries in docs/design.md has a row for every module that go.mod requires directly,
// and for no other.
func TestDesignListsLibraries(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("..", "..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	required := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1) {
		required[m[1]] = true
	}
	if len(required) < 30 {
		t.Fatalf("go.mod requires %d libraries, want at least 30", len(required))
	}
	for _, row := range rows(t, "## Third-party code") {
		name := row[0]
		if first, _, _ := strings.Cut(name, "/"); !strings.Contains(first, ".") {
			name = "github.com/" + name
		}
		if !required[name] {
			t.Errorf("docs/design.md has a row for %s, which go.mod does not require directly, or has two", name)
		}
		delete(required, name)
	}
	for name := range required {
		t.Errorf("docs/design.md has no row for %s", name)
	}
}

// TestDesignListsFolders checks that the table of folders has every package, and that every folder in it exists and is named once.
func TestDesignListsFolders(t *testing.T) {
	listed := map[string]bool{}
	for _, row := range rows(t, "## Folders") {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[0], -1) {
			for _, folder := range alternatives(m[1]) {
				if info, err := os.Stat(filepath.Join("..", "..", "..", folder)); err != nil || !info.IsDir() {
					t.Errorf("docs/design.md has a row for %s, which is no folder", folder)
				}
				if listed[folder] {
					t.Errorf("docs/design.md has two rows for %s", folder)
				}
				listed[folder] = true
			}
		}
	}
	for _, s := range sources(t) {
		if !listed[s.pkg] && s.pkg != "." {
			t.Errorf("docs/design.md has no row for the package %s", s.pkg)
			listed[s.pkg] = true
		}
	}
}

// TestDesignListsImports checks that docs/design.md lists who may import whom as rules() says it.
func TestDesignListsImports(t *testing.T) {
	name := filepath.Join("..", "..", "..", "docs", "design.md")
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), "\n## Who may import whom\n")
	intro, rest, open := strings.Cut(rest, "```text\n")
	listed, after, closed := strings.Cut(rest, "```\n")
	if !ok || !open || !closed {
		t.Fatal("docs/design.md has no list below \"Who may import whom\"")
	}
	want := importList()
	if *update {
		text := before + "\n## Who may import whom\n" + intro + "```text\n" + want + "```\n" + after
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if listed != want {
		t.Errorf("docs/design.md lists other imports than rules(); run go test ./cmd/internal/layering -run Design -update\n%s", cmp.Diff(want, listed))
	}
}

// importList returns the rules as text: a line each, broken after 140 characters, and the packages that import none of ours at the end.
func importList() string {
	var b strings.Builder
	var leaves []string
	line := func(head string, imports []string) {
		at, _ := b.WriteString(head)
		for i, item := range braced(imports) {
			if i > 0 {
				b.WriteByte(',')
			}
			if at+len(item) > 140 {
				b.WriteString("\n   ")
				at = 3
			}
			n, _ := b.WriteString(" " + item)
			at += n + 1
		}
		b.WriteByte('\n')
	}
	for _, r := range rules() {
		if len(r.mayBe) == 0 {
			leaves = append(leaves, r.pkg)
			continue
		}
		line(r.pkg+" →", r.mayBe)
	}
	b.WriteByte('\n')
	line("none of ours ←", leaves)
	return b.String()
}

// braced returns paths in order, those of one folder as folder/{a,b}.
func braced(paths []string) []string {
	byFolder := map[string][]string{}
	for _, p := range paths {
		byFolder[path.Dir(p)] = append(byFolder[path.Dir(p)], path.Base(p))
	}
	var out []string
	for _, folder := range slices.Sorted(maps.Keys(byFolder)) {
		names := slices.Sorted(slices.Values(byFolder[folder]))
		switch {
		case folder == ".":
			out = append(out, names...)
		case len(names) == 1:
			out = append(out, folder+"/"+names[0])
		default:
			out = append(out, folder+"/{"+strings.Join(names, ",")+"}")
		}
	}
	return out
}

// rows returns the cells of a table of docs/design.md, the first below a heading. A row with another number of cells than the head fails
// the test: readers would not see it as a row.
func rows(t *testing.T, heading string) [][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "\n"+heading)
	section, _, _ = strings.Cut(section, "\n## ")
	var out [][]string
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(out) > 0 && !strings.HasPrefix(line, "|--") && len(cells) != len(out[0]) {
			t.Errorf("docs/design.md, below %q: a row has %d cells, want %d: %s", heading, len(cells), len(out[0]), line)
		}
		if !strings.HasPrefix(line, "|--") {
			out = append(out, cells)
		}
	}
	if !ok || len(out) < 20 {
		t.Fatalf("docs/design.md has %d rows below %q, want at least 20", len(out), heading)
	}
	return out[1:]
}

// TestDesignTablesAreWhole checks that no row of the other table is malformed.
func TestDesignTablesAreWhole(t *testing.T) {
	rows(t, "## Where is …")
}

// alternatives expands each {a,b} of a path. An empty alternative is the folder itself.
func alternatives(path string) []string {
	before, rest, found := strings.Cut(path, "{")
	list, after, _ := strings.Cut(rest, "}")
	if !found {
		return []string{strings.TrimSuffix(path, "/")}
	}
	var out []string
	for part := range strings.SplitSeq(list, ",") {
		out = append(out, alternatives(before+part+after)...)
	}
	return out
}
