package skill

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// TestSearch checks that the order depends on how well words match, and is always the same.
func TestSearch(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	for name, description := range map[string]string{
		"save-sheet-as-csv": "Save a sheet of the drive as a CSV file in the workspace.",
		"crm-report":        "Sum the deals of the CRM by month. Reads a sheet of targets.",
		"merge-sheets":      "Put several sheets together.",
		"greet":             "Say hello.",
	} {
		save(t, s, Draft{Name: name, Description: description, Code: "export const x = 1;"})
	}
	for query, want := range map[string]string{
		"sheet":                      "save-sheet-as-csv merge-sheets crm-report", // the word itself comes before a form of it
		"save sheets to csv":         "save-sheet-as-csv merge-sheets crm-report",
		"saveSheetAsCsv":             "save-sheet-as-csv merge-sheets crm-report",
		"CSV":                        "save-sheet-as-csv",
		"workspaces":                 "save-sheet-as-csv",
		"nothing like it":            "",
		"":                           "crm-report greet merge-sheets save-sheet-as-csv",
		"the a of":                   "crm-report greet merge-sheets save-sheet-as-csv",
		strings.Repeat("\xff", 5000): "crm-report greet merge-sheets save-sheet-as-csv",
	} {
		found, err := s.Search(query)
		var names []string
		for _, k := range found {
			names = append(names, k.Name)
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("Search(%.40q) = %v, %v, want %v and no error", query, names, err, want)
		}
	}
}

// TestTriggers checks that the words in the front matter under which people ask for a skill find it, as a list and as a text.
func TestTriggers(t *testing.T) {
	w := newWorld(t)
	writeAll(t, w.skills, map[string]string{
		"discover/SKILL.md": "---\nname: discover\ndescription: Browse the tree.\ntriggers:\n  - find tool\n  - which server\n  - {a: b}\n---\nBody.\n",
		"report/SKILL.md":   "---\nname: report\ndescription: A tool that sums up.\ntriggers: monthly figures, revenue\n---\nBody.\n",
		"many/SKILL.md":     "---\nname: many\ndescription: x\ntriggers: [" + strings.Repeat("word, ", 40) + "late]\n---\nBody.\n",
	})
	s := w.open(t)
	for query, want := range map[string]string{"find tool": "discover report", "revenue": "report", "servers": "discover", "late": ""} {
		found, err := s.Search(query)
		var names []string
		for _, k := range found {
			names = append(names, k.Name)
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("Search(%q) = %v, %v, want %v and no error", query, names, err, want)
		}
	}
	if k := load(t, s, "discover"); strings.Join(k.Triggers, ", ") != "find tool, which server" {
		t.Errorf("Triggers = %q", k.Triggers)
	}
}

// TestLink checks that a host sees a skill through a relative link, and that foreign files are neither replaced nor
// removed.
func TestLink(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	k := save(t, s, Draft{Name: "one", Code: tsCode}).Skill
	folder := filepath.Join(w.top, ".claude", "skills")
	made, err := s.Link("one", folder)
	if err != nil || !made.Made || made.Copied {
		t.Fatalf("Link() = %+v, %v", made, err)
	}
	if target, err := os.Readlink(made.Path); err != nil || target != filepath.FromSlash("../../skills/one") {
		t.Errorf("%q %v", target, err)
	}
	if _, err := os.Stat(filepath.Join(made.Path, File)); err != nil || !s.IsLinked(k, folder) {
		t.Error(err)
	}
	if again, err := s.Link("one", folder); err != nil || again.Made {
		t.Errorf("the second Link() = %+v, %v", again, err)
	}
	save(t, s, Draft{Name: "two", Code: tsCode})
	writeAll(t, folder, map[string]string{"two/SKILL.md": "somebody else's"})
	var foreign *LinkError
	if _, err := s.Link("two", folder); !errors.As(err, &foreign) {
		t.Error(err)
	}
	if removed, err := s.Unlink(load(t, s, "two"), folder); err != nil || removed {
		t.Error(removed, err)
	}
	if _, err := s.Link("one", w.skills); !errors.As(err, &foreign) {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(folder, "one")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(w.top, "elsewhere"), filepath.Join(folder, "one")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Link("one", folder); !errors.As(err, &foreign) {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(folder, "one")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Link("one", folder); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Remove("one"); err != nil {
		t.Fatal(err)
	}
	if removed, err := s.Unlink(k, folder); err != nil || !removed { // the skill was removed, and the link is broken
		t.Error(removed, err)
	}
	writeTree(t, w.tree, lister)
	var broken *BrokenError
	if _, err := w.open(t).Link("two", filepath.Join(w.top, "other")); !errors.As(err, &broken) {
		t.Error(err)
	}
}

// TestShipped checks that skills of the program itself are listed, read and copied, and that own skills take precedence.
func TestShipped(t *testing.T) {
	w := newWorld(t)
	shipped := fstest.MapFS{"guide/SKILL.md": {Data: []byte("---\nname: guide\ndescription: How to.\n---\nRead.\n")}, "skills.go": {Data: []byte("package skills")}}
	s, err := Open([]Dir{{Path: w.skills, Writable: true}, {FS: shipped, Shipped: true}}, &Options{Tree: w.tree})
	if err != nil {
		t.Fatal(err)
	}
	k := load(t, s, "guide")
	if !k.Shipped || !k.ReadOnly || k.Broken || k.Path != "shipped:guide" || k.Instructions() != "Read.\n" {
		t.Errorf("%+v", k)
	}
	folder := filepath.Join(w.top, ".agents/skills")
	for range 2 { // the second renews it
		made, err := s.Link("guide", folder)
		if err != nil || !made.Copied {
			t.Fatalf("Link() = %+v, %v", made, err)
		}
	}
	if removed, err := s.Unlink(k, folder); err != nil || !removed {
		t.Error(removed, err)
	}
	if _, err := s.Save(t.Context(), Draft{Name: "guide", Code: tsCode, Author: AuthorScript}); err == nil {
		t.Error("a script replaced a shipped skill: got no error, want an error")
	}
	own := save(t, s, Draft{Name: "guide", Files: map[string][]byte{File: shipped["guide/SKILL.md"].Data}})
	if own.Shipped || load(t, s, "guide").Path != filepath.Join(w.skills, "guide") {
		t.Errorf("%+v", own)
	}
}

// TestFrontmatter checks that foreign front matter is served unchanged, and that a malformed one is listed as broken.
func TestFrontmatter(t *testing.T) {
	w := newWorld(t)
	writeAll(t, w.skills, map[string]string{
		"other/SKILL.md":      "---\r\nname: other\r\ndescription: >\r\n  Two\r\n  lines.\r\nallowed-tools: Bash Read\r\nmodel: opus\r\nuser-invocable: true\r\nmetadata:\r\n  version: 1.10\r\n  big: 0x10\r\nlist: [1, two, null]\r\n---\r\nBody.\r\n",
		"wrong/SKILL.md":      "---\nname: another\ndescription: x\n---\n",
		"without/SKILL.md":    "---\nname: without\n---\n",
		"none/SKILL.md":       "# none\n",
		"7-Bad_name/SKILL.md": "---\nname: 7-Bad_name\ndescription: x\n---\n",
		"hidden/SKILL.md":     "---\nname: hidden\ndescription: \"do\u202ethis\"\n---\n",
	})
	s := w.open(t)
	k := load(t, s, "other")
	if k.Broken || k.Description != "Two lines." || k.Instructions() != "Body.\n" {
		t.Errorf("%+v %q", k, k.Instructions())
	}
	if got := string(k.Frontmatter()); got != `{"name":"other","description":"Two lines.\n","allowed-tools":"Bash Read","model":"opus","user-invocable":true,"metadata":{"version":1.10,"big":"0x10"},"list":[1,"two",null]}` {
		t.Error(got)
	}
	all, err := s.List()
	if err != nil || len(all) != 6 {
		t.Fatal(len(all), err)
	}
	for _, k := range all {
		if k.Fatal() != (k.Name != "other") {
			t.Errorf("%s: %+v", k.Name, k.Reasons)
		}
	}
	// If a person saves it, foreign keys are kept.
	files := map[string][]byte{}
	for _, f := range k.Files() {
		files[f.Path], _ = k.Read(f.Path)
	}
	saved := save(t, s, Draft{Name: "other", Files: files})
	if saved.Broken || !strings.Contains(string(saved.Frontmatter()), `"allowed-tools":"Bash Read"`) || saved.Version == "" {
		t.Errorf("%+v %s", saved, saved.Frontmatter())
	}
}
