package skill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// TestSave checks that a script becomes a folder in the Agent Skills format, which records the tools it uses.
func TestSave(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	saved := save(t, s, Draft{Name: "saveSheetAsCsv", Code: tsCode, Language: sandbox.LangTypeScript})
	if saved.Name != "save-sheet-as-csv" || saved.Broken || saved.Before != "" || len(saved.Warnings) > 0 {
		t.Errorf("Save() = %+v", saved)
	}
	text, err := os.ReadFile(filepath.Join(w.skills, "save-sheet-as-csv", File))
	if err != nil {
		t.Fatal(err)
	}
	wants(t, string(text), "---\nname: save-sheet-as-csv\ndescription: Save a sheet as CSV.\nmetadata:\n  mcprun-name: saveSheetAsCsv\n", "  tool/drive__get_sheet: sha256:",
		"import { saveSheet } from \"./skills/save-sheet-as-csv\";")
	for _, name := range []string{"save-sheet-as-csv", "save_sheet_as_csv", "saveSheetAsCsv", "SaveSheetAsCsv", "save_sheet-as_csv"} {
		k := load(t, s, name)
		if k.Name != saved.Name || k.Version != saved.Version || k.Edited || k.Given != "saveSheetAsCsv" || len(k.Tools) != 1 || k.Tools[0].ID != "drive__get_sheet" {
			t.Errorf("%s: %+v", name, k)
		}
	}
	file, code, ok := load(t, s, "save-sheet-as-csv").Main("")
	if !ok || file != "scripts/main.ts" || code != tsCode {
		t.Errorf("%s %q", file, code)
	}
	python := save(t, s, Draft{Name: "py_one", Code: pyCode, Language: sandbox.LangPython})
	if len(python.Tools) != 1 || python.Language() != sandbox.LangPython || !strings.Contains(python.Instructions(), "from skills.py_one import save_sheet") {
		t.Errorf("%+v\n%s", python, python.Instructions())
	}
}

// TestNames checks that hostile names are refused with a reason.
func TestNames(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	for name, why := range map[string]string{
		"": "empty", "..": "path", "../evil": "path", "a/b": "path", `a\b`: "path", "/etc": "path", "a..b": "path", ".hidden": "other than",
		"con": "device", "NUL": "device", "com1": "device", "class": "reserved", "import": "reserved", "skills": "reserved", "servers": "reserved", "mcprun": "reserved",
		strings.Repeat("a", 65): "at most 64", strings.Repeat("aB", 32): "at most 64", "naïve": "other than", "a b": "other than", "a\x00b": "other than", "a\nb": "other than",
		"---": "no letters", "_": "no letters", "7zip": "digit", "-7": "digit", "скилл": "other than", "a%2e%2e": "other than",
	} {
		_, err := s.Save(t.Context(), Draft{Name: name, Code: tsCode})
		var bad *NameError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), why) || bad.Hint() == "" {
			t.Errorf("Save() as %q = %v, want a *NameError", name, err)
		}
		if _, err := s.Load(name); err == nil {
			t.Errorf("Load(%q) succeeded, want an error", name)
		}
	}
	if entries, err := os.ReadDir(w.skills); err == nil {
		t.Errorf("refused saves left %v: got no error, want an error", entries)
	}
}

// TestHostileDrafts checks that drafts that lead outside, are not portable or are too large are refused, and nothing is
// written.
func TestHostileDrafts(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	front := func(head string) map[string][]byte {
		return map[string][]byte{File: []byte("---\nname: x\n" + head + "\n---\nbody"), "scripts/main.ts": []byte("export const x = 1;")}
	}
	big := make([]byte, 3<<20)
	for name, test := range map[string]struct {
		draft Draft
		want  string
	}{
		"nothing":        {Draft{}, "it is empty"},
		"traversal":      {Draft{Files: map[string][]byte{"../evil.ts": nil}}, "not a path below"},
		"absolute":       {Draft{Files: map[string][]byte{"/etc/passwd": nil}}, "not a path below"},
		"backslash":      {Draft{Files: map[string][]byte{`scripts\..\..\x.ts`: nil}}, "not a path below"},
		"stream":         {Draft{Files: map[string][]byte{"main.ts:hidden": nil}}, "not a path below"},
		"dot":            {Draft{Files: map[string][]byte{".mcprun/checks.json": nil}}, "begin with a dot"},
		"device":         {Draft{Files: map[string][]byte{"scripts/aux.ts": nil}}, "device"},
		"trailing":       {Draft{Files: map[string][]byte{"scripts/a. ": nil}}, "some systems"},
		"control":        {Draft{Files: map[string][]byte{"scripts/a\x1b[31m.ts": nil}}, "some systems"},
		"case":           {Draft{Files: map[string][]byte{"scripts/a.ts": nil, "scripts/A.ts": nil}}, "differ only in case"},
		"case of main":   {Draft{Files: map[string][]byte{"skill.md": nil}}, "must be written SKILL.md"},
		"deep":           {Draft{Files: map[string][]byte{"a/b/c/d/e/f/g.ts": nil}}, "too deep"},
		"binary":         {Draft{Code: "\xff\xfe"}, "not UTF-8"},
		"NUL":            {Draft{Code: "a\x00b"}, "not UTF-8"},
		"language":       {Draft{Code: "x", Language: "ruby"}, "neither typescript nor python"},
		"large":          {Draft{Files: map[string][]byte{"data.bin": big}, Author: AuthorScript, Code: "1"}, "at most"},
		"large code":     {Draft{Code: strings.Repeat("//", 1<<20)}, "at most"},
		"script's front": {Draft{Files: front("description: x"), Author: AuthorScript}, "cannot be given"},
		"description":    {Draft{Code: "1", Description: strings.Repeat("x", 1025)}, "at most 1024"},
		"bidi":           {Draft{Code: "1", Description: "safe\u202eelif"}, "invisible character"},
		"escape":         {Draft{Code: "1", Description: "a\x1b[2Jb"}, "invisible character"},
		"selectors":      {Draft{Code: "1", Description: "safe\U000E0148\U000E0155"}, "invisible character"},
		"two selectors":  {Draft{Code: "1", Description: "safe\uFE0F\uFE0F"}, "invisible character"},
		"filler":         {Draft{Code: "1", Description: "a\u3164b"}, "invisible character"},
		"blank braille":  {Draft{Code: "1", Description: "a\u2800b"}, "invisible character"},
		"no front":       {Draft{Files: map[string][]byte{File: []byte("# hello")}}, "front matter"},
		"open front":     {Draft{Files: map[string][]byte{File: []byte("---\nname: x\n")}}, "does not end"},
		"alias":          {Draft{Files: front("description: &a x\nmetadata:\n  b: *a")}, "anchor or an alias"},
		"bomb":           {Draft{Files: front("a: &a [x,x]\nb: &b [*a,*a]")}, "anchor or an alias"},
		"tag":            {Draft{Files: front("description: !!python/object:os.system x")}, "tag"},
		"twice":          {Draft{Files: front("description: a\nmetadata:\n  k: 1\n  k: 2")}, "more than once"},
		"merge":          {Draft{Files: front("description: a\n<<: {allowed-tools: Bash}")}, "a merge key <<"},
		"list":           {Draft{Files: map[string][]byte{File: []byte("---\n- a\n---\n")}}, "not a mapping"},
		"deep front":     {Draft{Files: front("x: " + strings.Repeat("[", 50) + strings.Repeat("]", 50))}, "too deeply"},
	} {
		t.Run(name, func(t *testing.T) {
			test.draft.Name = "victim"
			_, err := s.Save(t.Context(), test.draft)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Save() = %v, want %q", err, test.want)
			}
			if _, err := os.Stat(filepath.Join(w.skills, "victim")); err == nil {
				t.Error("a refused draft was saved: got no error, want an error")
			}
		})
	}
}

// TestSaveBroken checks that a skill that cannot work is only saved with Force.
func TestSaveBroken(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	for name, draft := range map[string]Draft{
		`scripts/main.ts:1: server "drive" has no tool "getShet"`: {Code: "import { getSheet } from './servers/drive/getShet'; getSheet();"},
		`exports no "getShet"`: {Code: "import { getShet } from './servers/drive'; getShet();"},
		`calls "drive__get_shet", which does not exist; did you mean drive__get_sheet?`: {Code: "import { callMCPTool } from './servers/client'; await callMCPTool<number>('drive__get_shet', {});"},
		"Expected":                             {Code: "export function ("},
		"no servers.drive.get_shet in the":     {Code: "from servers.drive import get_shet", Language: sandbox.LangPython},
		"no servers.drivel in the tree":        {Code: "import servers.drivel", Language: sandbox.LangPython},
		"main.py calls \"drive__get_shets\", ": {Code: "from servers.client import call_mcp_tool\ncall_mcp_tool('drive__get_shets', {})", Language: sandbox.LangPython},
	} {
		draft.Name, draft.Description = "broken-one", "A broken one."
		_, err := s.Save(t.Context(), draft)
		var broken *BrokenError
		if !errors.As(err, &broken) {
			t.Errorf("Save() of %s = %v", name, err)
			continue
		}
		wants(t, err.Error(), name)
	}
	if all, err := s.List(); err != nil || len(all) != 0 {
		t.Error(all, err)
	}
	forced := save(t, s, Draft{Name: "forced", Description: "x", Code: "import { callMCPTool } from './servers/client'; await callMCPTool('drive__nope', {});", Force: true})
	if !forced.Broken {
		t.Error("Broken = false, want true")
	}
}

// TestVersions checks that replaced versions are kept, can be loaded, and are limited in number.
func TestVersions(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	var versions []string
	for i := range maxVersions + 5 {
		saved := save(t, s, Draft{Name: "counter", Description: "Count.", Code: fmt.Sprintf("export const n = %d;\n", i)})
		if i > 0 && saved.Before != versions[i-1] {
			t.Errorf("%d replaced %q", i, saved.Before)
		}
		versions = append(versions, saved.Version)
	}
	again := save(t, s, Draft{Name: "counter", Code: fmt.Sprintf("export const n = %d;\n", maxVersions+4)})
	if again.Version != versions[len(versions)-1] || again.Description != "Count." {
		t.Errorf(`saving the same content created another version: %+v, want Version %v and Description "Count."`, again, versions[len(versions)-1])
	}
	all, err := s.Versions("counter")
	if err != nil || len(all) != maxVersions+1 || !all[0].Current || all[0].Version != again.Version {
		t.Fatalf("%d %+v %v", len(all), all[:1], err)
	}
	old, err := s.LoadVersion("counter", versions[len(versions)-3][:8])
	if err != nil {
		t.Fatal(err)
	}
	if _, code, _ := old.Main(""); code != fmt.Sprintf("export const n = %d;\n", maxVersions+2) {
		t.Error(code)
	}
	for _, bad := range []string{"x", "00", versions[0], "../../../etc", strings.Repeat("0", 64)} {
		if _, err := s.LoadVersion("counter", bad); err == nil || !strings.Contains(err.Error(), "the saved versions are") {
			t.Errorf("LoadVersion(%q) = %v, want an error", bad, err)
		}
	}
}

// TestEdited checks that a manual change is detected, and is kept as a version when it is saved.
func TestEdited(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	save(t, s, Draft{Name: "one", Code: tsCode})
	writeAll(t, w.skills, map[string]string{"one/scripts/main.ts": tsCode + "// by hand\n"})
	edited := load(t, s, "one")
	if !edited.Edited || edited.Broken {
		t.Errorf("%+v", edited)
	}
	files := map[string][]byte{}
	for _, f := range edited.Files() {
		files[f.Path], _ = edited.Read(f.Path)
	}
	saved := save(t, s, Draft{Name: "one", Files: files})
	if saved.Edited || saved.Version != edited.Version {
		t.Errorf("Save() = %+v", saved)
	}
	if _, err := s.LoadVersion("one", edited.Version); err != nil {
		t.Error(err)
	}
}

// TestConcurrentSaves checks that the last save wins, leaves nothing behind, and that readers always find a complete skill.
func TestConcurrentSaves(t *testing.T) {
	w := newWorld(t)
	first := w.open(t)
	save(t, first, Draft{Name: "shared", Description: "x", Code: "export const n = -1;\n"})
	var group sync.WaitGroup
	done := make(chan struct{})
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			k, err := first.Load("shared")
			if err != nil || k.Broken || k.Edited {
				t.Errorf("%v %+v", err, k)
				return
			}
		}
	})
	var savers sync.WaitGroup
	for i := range 4 {
		savers.Go(func() {
			s := w.open(t) // of its own, as in another process
			for n := range 5 {
				if _, err := s.Save(t.Context(), Draft{Name: "shared", Description: "x", Code: fmt.Sprintf("export const n = %d;\n", i*100+n), Files: map[string][]byte{fmt.Sprintf("scripts/lib%d.ts", i): []byte("export {}")}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	savers.Wait()
	close(done)
	group.Wait()
	k := load(t, first, "shared")
	if len(k.Files()) != 3 || k.Edited {
		t.Errorf("%+v", k.Files())
	}
	entries, err := os.ReadDir(filepath.Join(w.skills, ".mcprun"))
	if err != nil || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "stage-") }) {
		t.Error(entries, err)
	}
}

// TestNotOurs checks that other folders, read-only folders and skills of a person are not replaced.
func TestNotOurs(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	writeAll(t, w.skills, map[string]string{"notes/todo.txt": "mine", "old_style/SKILL.md": "---\nname: old_style\ndescription: x\n---\n"})
	for name, why := range map[string]string{"notes": "not a skill", "old-style": "spelled differently"} {
		if _, err := s.Save(t.Context(), Draft{Name: name, Code: tsCode}); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("Save() of %s = %v, want an error and %v in it", name, err, why)
		}
	}
	save(t, s, Draft{Name: "hers", Code: tsCode})
	save(t, s, Draft{Name: "its", Code: tsCode, Author: AuthorScript})
	for _, author := range []string{AuthorScript, AuthorAgent} {
		if _, err := s.Save(t.Context(), Draft{Name: "hers", Code: "1", Author: author}); err == nil || !strings.Contains(err.Error(), "a person saved") {
			t.Error(err)
		}
		if saved := save(t, s, Draft{Name: "its", Description: author, Code: tsCode, Author: author}); saved.Author != author {
			t.Errorf("Save() = %+v, want Author %v", saved, author)
		}
	}
	for _, dirs := range [][]Dir{
		{{Path: w.skills, Shipped: true}, {Path: filepath.Join(w.top, "own"), Writable: true}},
		{{Path: filepath.Join(w.top, "own"), Writable: true}, {Path: w.skills, Shipped: true}},
	} {
		both, err := Open(dirs, &Options{Tree: w.tree})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := both.Save(t.Context(), Draft{Name: "its", Code: "1", Author: AuthorScript}); err == nil || !strings.Contains(err.Error(), "choose another name") && !strings.Contains(hintOf(err), "choose another name") {
			t.Error(err)
		}
	}
	readOnly, err := Open([]Dir{{Path: w.skills}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readOnly.Save(t.Context(), Draft{Name: "other", Code: "1"}); err == nil || !strings.Contains(err.Error(), "no folder that skills may be saved to") {
		t.Error(err)
	}
	if _, err := readOnly.Remove("its"); err == nil {
		t.Error("Remove() removed a read-only skill: got no error, want an error")
	}
}

func hintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

// TestLimit checks that a skill is not saved if there is no room for it.
func TestLimit(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	asked := int64(0)
	s.Limit(func(more int64) error {
		if asked = more; more > 1<<20 {
			return errors.New("no room")
		}
		return nil
	})
	save(t, s, Draft{Name: "small", Code: tsCode})
	if asked < int64(2*len(tsCode)) {
		t.Errorf("Save() asked for room for %d bytes, want at least %d", asked, int64(2*len(tsCode)))
	}
	if _, err := s.Save(t.Context(), Draft{Name: "large", Code: tsCode, Files: map[string][]byte{"data.txt": make([]byte, 1<<20)}}); err == nil || err.Error() != "no room" {
		t.Error(err)
	}
	if all, err := s.List(); err != nil || len(all) != 1 {
		t.Error(all, err)
	}
}

// TestLinksInside checks that links in the folder of skills or in a skill are not followed.
func TestLinksInside(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	secret := filepath.Join(w.top, "secret")
	writeAll(t, secret, map[string]string{"SKILL.md": "---\nname: linked\ndescription: x\n---\nsecret", "key.txt": "secret"})
	save(t, s, Draft{Name: "one", Code: tsCode})
	if err := errors.Join(os.Symlink(secret, filepath.Join(w.skills, "linked")), os.Symlink(filepath.Join(secret, "key.txt"), filepath.Join(w.skills, "one", "key.txt"))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load("linked"); err == nil {
		t.Error("a link was followed: got no error, want an error")
	}
	if _, err := load(t, s, "one").Read("key.txt"); err == nil {
		t.Error("a skill includes a linked file: got no error, want an error")
	}
	if _, err := s.Save(t.Context(), Draft{Name: "linked", Code: tsCode}); err == nil {
		t.Error("a link was replaced: got no error, want an error")
	}
}

// TestRemove checks that a skill and its versions are removed, and nothing else.
func TestRemove(t *testing.T) {
	w := newWorld(t)
	s := w.open(t)
	save(t, s, Draft{Name: "one", Code: tsCode})
	save(t, s, Draft{Name: "two", Code: tsCode})
	if _, err := s.Remove("One"); err != nil {
		t.Fatal(err)
	}
	if all, err := s.List(); err != nil || len(all) != 1 || all[0].Name != "two" {
		t.Error(all, err)
	}
	if _, err := os.Stat(filepath.Join(w.skills, versionsDir, "one")); err == nil {
		t.Error("Remove() left the versions: got no error, want an error")
	}
	var missing *MissingError
	if _, err := s.Remove("one"); !errors.As(err, &missing) {
		t.Error(err)
	}
	if _, err := s.Load("tow"); err == nil || !strings.Contains(err.Error(), `did you mean two?`) {
		t.Error(err)
	}
}
