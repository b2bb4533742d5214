package catalog

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

func TestReadLearned(t *testing.T) {
	dir := t.TempDir()
	if got, err := ReadLearned(filepath.Join(dir, "nowhere")); err != nil || len(got) != 0 {
		t.Errorf("a tree that isn't there: %v %v, want len(got) 0 and no error", got, err)
	}
	if got, err := ReadLearned(dir); err != nil || len(got) != 0 {
		t.Errorf("a tree without any: %v %v, want len(got) 0 and no error", got, err)
	}
	folder := filepath.Join(dir, filepath.FromSlash(LearnedDir))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]Learned{
		"b<c": {Digest: "d", Replies: 2, JSON: true, Schema: json.RawMessage(`{}`)},
		"a":   {Digest: "e", Replies: 1, Schema: json.RawMessage(`{}`)},
	}
	text, err := MarshalLearned("s", want)
	if err != nil {
		t.Fatal(err)
	}
	write("s.json", text)
	// A sync that was cut off when the server got another folder leaves the file of the older one.
	other, err := MarshalLearned("s", map[string]Learned{"a": {Digest: "other", Schema: json.RawMessage(`{}`)}})
	if err != nil {
		t.Fatal(err)
	}
	write("z.json", other)
	got, err := ReadLearned(dir)
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got["s"], want) {
		t.Errorf("%+v %v, want len(got) 1, %v and no error", got, err, want)
	}
	if again, err := MarshalLearned("s", got["s"]); err != nil || string(again) != string(text) {
		t.Errorf("written again it is, want %v and no error\n%s %v", string(text), again, err)
	}

	for name, damaged := range map[string]string{"cut off": `{"server":"x","tools":{`, "a conflict": "<<<<<<< HEAD\n", "no server": `{"tools":{}}`, "a list": `[]`, "nothing": ``} {
		t.Run(name, func(t *testing.T) {
			write("x.json", []byte(damaged))
			_, err := ReadLearned(dir)
			bad, ok := errors.AsType[*DamagedLearnedError](err)
			if !ok || bad.File != LearnedDir+"/x.json" || bad.Hint() == "" || bad.ExitCode() != 2 {
				t.Errorf("%v", err)
			}
		})
	}
	if err := os.Remove(filepath.Join(folder, "x.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(folder, "s.json"), filepath.Join(folder, "x.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLearned(dir); err == nil {
		t.Error("a link is followed: got no error, want an error")
	}
}
