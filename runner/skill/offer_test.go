package skill

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// TestSearch: the order is that of how well words fit, and always the same.
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
			t.Errorf("%.40q: %v %v", query, names, err)
		}
	}
}

// TestLink: a host sees a skill through a relative link; what is not ours is neither replaced nor removed.
func TestLink(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	k := save(t, s, Draft{Name: "one", Code: tsCode}).Skill
	folder := filepath.Join(w.top, ".claude", "skills")
	made, err := s.Link("one", folder)
	if err != nil || !made.Made || made.Copied {
		t.Fatalf("%+v %v", made, err)
	}
	if target, err := os.Readlink(made.Path); err != nil || target != filepath.FromSlash("../../skills/one") {
		t.Errorf("%q %v", target, err)
	}
	if _, err := os.Stat(filepath.Join(made.Path, File)); err != nil || !s.IsLinked(k, folder) {
		t.Error(err)
	}
	if again, err := s.Link("one", folder); err != nil || again.Made {
		t.Errorf("%+v %v", again, err)
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
	if removed, err := s.Unlink(k, folder); err != nil || !removed { // the skill is gone, and the link dangles
		t.Error(removed, err)
	}
	writeTree(t, w.tree, lister)
	var broken *BrokenError
	if _, err := w.open(t).Link("two", filepath.Join(w.top, "other")); !errors.As(err, &broken) {
		t.Error(err)
	}
}

// TestShipped: skills of the program itself are listed, read, copied where they are linked, and overruled by one's own.
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
			t.Fatalf("%+v %v", made, err)
		}
	}
	if removed, err := s.Unlink(k, folder); err != nil || !removed {
		t.Error(removed, err)
	}
	if _, err := s.Save(t.Context(), Draft{Name: "guide", Code: tsCode, Author: AuthorScript}); err == nil {
		t.Error("a script replaced a shipped skill")
	}
	own := save(t, s, Draft{Name: "guide", Files: map[string][]byte{File: shipped["guide/SKILL.md"].Data}})
	if own.Shipped || load(t, s, "guide").Path != filepath.Join(w.skills, "guide") {
		t.Errorf("%+v", own)
	}
}

// TestFrontmatter: the front matter of other makers is read and served as it stands; what is odd is marked, not hidden.
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
	// Saved by a person, the keys of others stay.
	files := map[string][]byte{}
	for _, f := range k.Files() {
		files[f.Path], _ = k.Read(f.Path)
	}
	saved := save(t, s, Draft{Name: "other", Files: files})
	if saved.Broken || !strings.Contains(string(saved.Frontmatter()), `"allowed-tools":"Bash Read"`) || saved.Version == "" {
		t.Errorf("%+v %s", saved, saved.Frontmatter())
	}
}

// TestAnswers: what scripts ask for; parameters are hostile.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	save(t, s, Draft{Name: "hers", Code: tsCode})
	answers := Answers(s)
	ask := func(method, params string) (string, error) {
		v, err := answers[method](context.Background(), json.RawMessage(params))
		return string(v), err
	}
	said, err := ask("skills/save", `{"name":"sumUp","code":"# Sum up.\nx = 1\n","language":"python"}`)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, said, `"name":"sum-up"`, `"path":"skills/sum-up/scripts/main.py"`, `"warnings":[]`)
	if k := load(t, s, "sum-up"); k.Author != AuthorScript || k.Description != "Sum up." {
		t.Errorf("%+v", k)
	}
	said, err = ask("skills/load", `{"name":"sum_up"}`)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, said, `"language":"python"`, `"code":"# Sum up.\nx = 1\n"`, `"import":"import skills.sum_up"`)
	said, err = ask("skills/list", ``)
	if err != nil || strings.Count(said, `"name"`) != 2 {
		t.Error(said, err)
	}
	if said, err = ask("skills/list", `{"query":"csv"}`); err != nil || !strings.Contains(said, `"skills":[{"name":"hers"`) {
		t.Error(said, err)
	}
	for _, bad := range [][3]string{
		{"skills/save", `{"name":"hers","code":"1"}`, "a person saved"},
		{"skills/save", `{"name":"../x","code":"1"}`, "path"},
		{"skills/save", `{"name":"x1"}`, "code is missing"},
		{"skills/save", `{"name":"x1","code":"1","author":"me"}`, "unknown field"},
		{"skills/save", `{"name":"x1","code":"1"}{}`, "more than one"},
		{"skills/save", `[]`, "parameters"},
		{"skills/save", `{"name":"x1","code":"` + strings.Repeat("a", MaxSavedSize+1) + `"}`, "at most"},
		{"skills/load", `{"name":"../../etc/passwd"}`, "path"},
		{"skills/load", `{"name":"nope"}`, "there is no skill"},
	} {
		if _, err := ask(bad[0], bad[1]); err == nil || !strings.Contains(err.Error(), bad[2]) {
			t.Errorf("%s %.60s: %v", bad[0], bad[1], err)
		}
	}
}
