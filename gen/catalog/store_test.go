package catalog

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeTree puts the stored part of a tree into a folder.
func writeTree(t testing.TB, c *Catalog) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string][]byte{}
	for i := range c.Servers {
		b, err := MarshalServer(&c.Servers[i])
		if err != nil {
			t.Fatal(err)
		}
		files[StoredPath(c.Servers[i].Dir)] = b
	}
	lock, err := NewLock(c, nil, files).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	files[LockPath] = lock
	for name, b := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const exact = `{"name":"t","z":1.50,"inputSchema":{"type":"object","properties":{"b":{"maximum":9007199254740993},"a":{}}},"description":"<b>&\u2028"}`

func TestStoredListsKeepEveryValue(t *testing.T) {
	c := catalogOf(t, "s", exact)
	b, err := MarshalServer(&c.Servers[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"z": 1.50`, `9007199254740993`, `"<b>&\u2028"`} {
		if !strings.Contains(string(b), part) {
			t.Errorf("no %s in\n%s", part, b)
		}
	}
	if strings.Index(string(b), `"b": {`) > strings.Index(string(b), `"a": {`) {
		t.Error("the order of keys changed")
	}
	again, warnings, err := UnmarshalServer(b)
	if err != nil || len(warnings) > 0 || string(again.Tools[0].Raw) != exact || again.Tools[0].Digest != c.Servers[0].Tools[0].Digest {
		t.Errorf("%v %v %s, want len(warnings) at most 0, %v, again.Tools[0].Digest %v and no error", err, warnings, again.Tools[0].Raw, exact, c.Servers[0].Tools[0].Digest)
	}
}

// Characters that a reviewer would not see are escaped in all that is stored, and digests do not depend on that.
func TestStoredTextIsVisible(t *testing.T) {
	hidden := []string{"\u202e", "\u2066", "\u200f", "\u200b", "\u200d", "\u2028", "\u2029", "\ufeff", "\ue000", "\U000f0000", "\U000e0041", "\ufe0f", "\U000e0100",
		"\u3164", "\u00ad", "\x7f", "\u009b", "a\ufe0f", "⚠\ufe0f\ufe0e"}
	ordinary := []string{"é", "日本", "⚠\ufe0f", "1\ufe0f\u20e3", "👨\u200d👩", "नि\u200dष", "می\u200cخواهم", "\u00a0"}
	definition := func(text string) string {
		return `{"name":"t` + text + `","description":"` + text + `","inputSchema":{"properties":{"` + text + `":{"enum":["` + text + `"]}}}}`
	}
	for _, text := range append(hidden, ordinary...) {
		c := catalogOf(t, "s", definition(text))
		c.Servers[0].Title, c.Servers[0].Instructions = text, text
		stored, err := MarshalServer(&c.Servers[0])
		if err != nil {
			t.Fatal(err)
		}
		lock, err := NewLock(c, nil, nil).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		learned, err := MarshalLearned("s", map[string]Learned{text: {Schema: json.RawMessage(`{"properties":{"` + text + `":{}}}`)}})
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range [][]byte{stored, lock, learned} {
			if got, want := strings.Contains(string(file), text), slices.Contains(ordinary, text); got != want {
				t.Errorf("%+q: file holds it as it is: %t, want %t\n%+q", text, got, want, file)
			}
		}
		again, _, err := UnmarshalServer(stored)
		if err != nil || again.Title != text || again.Tools[0].Name != "t"+text || again.Tools[0].Digest != c.Servers[0].Tools[0].Digest {
			t.Errorf("UnmarshalServer(%+q) = %+v, %v; want the same digest %s", stored, again, err, c.Servers[0].Tools[0].Digest)
		}
		b, err := MarshalServer(&again)
		if err != nil || string(b) != string(stored) {
			t.Errorf("MarshalServer(UnmarshalServer()) = %+q, %v; want %+q", b, err, stored)
		}
	}
}

// A definition that is small enough to be listed is small enough to be read back.
func TestStoredSizeCounts(t *testing.T) {
	raw := `{"name":"t","description":"` + strings.Repeat("\U000e0041", MaxDefinitionBytes/12) + `"}`
	if s, warnings := NewServer("s", "", "", raws(raw)); len(s.Tools) != 0 || len(warnings) != 1 {
		t.Errorf("NewServer() = %d tools, %v; want none, which is too large escaped", len(s.Tools), warnings)
	}
}

func TestLoadTree(t *testing.T) {
	c := catalogOf(t, "My Server", exact, `{"name":"u","inputSchema":{},"annotations":{"readOnlyHint":true}}`)
	dir := writeTree(t, c)
	got, lock, err := LoadTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, tool, ok := got.Lookup("my_server__u")
	if !ok || tool.Name != "u" || tool.Hints.ReadOnly == nil || tool.Digest != c.Servers[0].Tools[1].Digest {
		t.Errorf("%+v %v", tool, ok)
	}
	if lock.Servers["My Server"].Tools["u"].Digest != tool.Digest || got.Tools() != c.Tools() {
		t.Errorf("lock %+v", lock)
	}
}

func TestLoadTreeRefusesDamage(t *testing.T) {
	stored := filepath.Join(".mcpgen", "s.json")
	lock := filepath.Join(".mcpgen", "lock.json")
	edit := func(name string, f func(string) string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			changed := f(string(b))
			if changed == string(b) {
				t.Fatal("nothing was changed")
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	replace := func(old, new string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, new, 1) }
	}
	tests := []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   string
	}{
		{"another schema", edit(stored, replace("9007199254740993", "1")), "was changed after the lock was written"},
		{"no stored list", func(t *testing.T, dir string) { _ = os.Remove(filepath.Join(dir, stored)) }, "no such file"},
		{"a link", func(t *testing.T, dir string) {
			path := filepath.Join(dir, stored)
			if err := errors.Join(os.Rename(path, path+".real"), os.Symlink("s.json.real", path)); err != nil {
				t.Fatal(err)
			}
		}, "not a plain file"},
		{"merge conflict", edit(lock, replace("\n", "\n<<<<<<< HEAD\n")), "merge conflict"},
		{"newer version", edit(lock, replace(`"version": 1`, `"version": 2`)), "version 2"},
		{"escaping folder", edit(lock, replace(`"directory": "s"`, `"directory": ".."`)), "not a folder's name"},
		{"escaping file", edit(lock, replace(`".mcpgen/s.json"`, `"../s.json"`)), "not a path inside the tree"},
		{"tool renamed in the lock", edit(lock, replace(`"t": {`, `"x": {`)), "the lock does not name it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := writeTree(t, catalogOf(t, "s", exact))
			tt.damage(t, dir)
			_, _, err := LoadTree(dir)
			var tree *TreeError
			if !errors.As(err, &tree) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			want := `run "mcpgen sync"`
			if version, ok := errors.AsType[*VersionError](err); ok {
				want = version.Hint()
			}
			if tree.Hint() != want {
				t.Errorf("the hint of %v is %q, want %q", err, tree.Hint(), want)
			}
		})
	}
	if _, _, err := LoadTree(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v, want %v", err, fs.ErrNotExist)
	}
}

func TestReadStoredIsLenient(t *testing.T) {
	dir := writeTree(t, catalogOf(t, "s", exact))
	lock := filepath.Join(dir, ".mcpgen", "lock.json")
	if err := os.WriteFile(lock, []byte("<<<<<<< HEAD\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := ReadStored(dir)
	if err != nil || got.Lock != nil || len(got.Problems) != 1 || len(got.Servers["s"].Tools) != 1 || got.Servers["s"].Dir != "s" {
		t.Errorf(`%+v %v, want Lock nil, len(got.Problems) 1, 1, "s" and no error`, got, err)
	}
	if err := os.WriteFile(lock, []byte(`{"version": 99}`), 0o644); err != nil {
		t.Fatal(err)
	}
	var version *VersionError
	if _, err := ReadStored(dir); !errors.As(err, &version) {
		t.Errorf("a lock of a newer version: %v", err)
	}
	if got, err := ReadStored(filepath.Join(dir, "none")); err != nil || len(got.Servers) != 0 {
		t.Errorf("no tree: %+v %v, want len(got.Servers) 0 and no error", got, err)
	}
}

func BenchmarkLoadTree(b *testing.B) {
	var tools []string
	for i := range 1000 {
		tools = append(tools, `{"name":"tool_`+itoa(i)+`","description":"`+strings.Repeat("words ", 100)+`","inputSchema":{"type":"object","properties":{"a":{"type":"string","description":"`+strings.Repeat("words ", 50)+`"}}}}`)
	}
	s, _ := NewServer("s", "", "", raws(tools...))
	c, _ := New([]Server{s})
	dir := writeTree(b, c)
	for b.Loop() {
		if _, _, err := LoadTree(dir); err != nil {
			b.Fatal(err)
		}
	}
}

func catalogOf(t *testing.T, key string, tools ...string) *Catalog {
	t.Helper()
	s, warnings := NewServer(key, "", "", raws(tools...))
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	c, err := New([]Server{s})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
