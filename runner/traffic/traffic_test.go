package traffic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/learn"
)

func observation(tool, reply string) *learn.Observation {
	return &learn.Observation{Tool: learn.Tool{Server: "s", Name: tool}, Digest: "d", Reply: learn.Reply{Value: json.RawMessage(reply)}}
}

func schemas(t *testing.T, path string) map[string]string {
	t.Helper()
	kept, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, p := range kept.Proposals() {
		schema, err := p.Schema(nil)
		if err != nil {
			t.Fatal(err)
		}
		out[p.Tool.Name] = string(schema)
	}
	return out
}

// The file contains what several processes have seen, and a name that each of them has seen once is known.
func TestStoresShareAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "project", "shapes.json")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of no file: %v, want %v", err, fs.ErrNotExist)
	}
	for i := range 3 {
		s := New(path)
		if err := errors.Join(s.Observe(observation("get", `{"id":1,"name":"x","owner":1}`)), s.Observe(observation(fmt.Sprintf("own%d", i), `"x"`)), s.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	got := schemas(t, path)
	if len(got) != 4 || !strings.Contains(got["get"], "owner") {
		t.Errorf(`got %v, want len(got) 4 and "owner" in it`, got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v %v", info, err)
	}
}

func TestStoresWriteAtTheSameTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shapes.json")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			s := New(path)
			if err := errors.Join(s.Observe(observation(fmt.Sprintf("t%d", i), `"x"`)), s.Flush()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := schemas(t, path); len(got) != 8 {
		t.Errorf("%d tools are kept, want 8", len(got))
	}
}

// A second write soon after the first is made later, in the background.
func TestFlushIsNotTooOften(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shapes.json")
	s := New(path)
	if err := errors.Join(s.Observe(observation("a", `"x"`)), s.Flush(), s.Observe(observation("b", `"x"`)), s.Flush()); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); len(schemas(t, path)) < 2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the second write never came")
		}
	}
}

func TestAStoreThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	damaged := filepath.Join(dir, "damaged.json")
	if err := os.WriteFile(damaged, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := New(damaged).Observe(observation("a", `"x"`)); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf(`of a damaged file: %v, want an error and "remove it" in it`, err)
	}
	for _, shape := range []string{`null`, `{"m":[{"k":"a","v":null}]}`, `{"p":{"x":null}}`, `{"i":{"r":{"p":{"x":{"v":null}}}}}`} {
		text := fmt.Sprintf(`{"version":%d,"key":"AAAA","tools":[{"server":"s","tool":"a","digest":"d","shape":%s}]}`, learn.TrafficVersion, shape)
		if err := os.WriteFile(damaged, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := New(damaged).Observe(observation("a", `{"a":1}`)); err == nil || !strings.Contains(err.Error(), "remove it") {
			t.Errorf(`of the shape %s: %v, want an error and "remove it" in it`, shape, err)
		}
	}
	panics := observation("a", `{"id":1}`)
	panics.Words = func() map[string]bool { panic("no words") }
	if err := New(filepath.Join(dir, "other.json")).Observe(panics); err == nil || !strings.Contains(err.Error(), "no words") {
		t.Errorf(`of a panic: %v, want an error and "no words" in it`, err)
	}
	s := New(filepath.Join(damaged, "below", "shapes.json"))
	if err := errors.Join(s.Observe(observation("a", `"x"`)), s.Flush()); err == nil {
		t.Error("no error of a folder that cannot be made: got no error, want an error")
	}
}

// What a person has removed is not written again by a process that is still running.
func TestWhatIsForgotten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "project", "shapes.json")
	if err := Forget(path, learn.Tool{Server: "s", Name: "a"}); err != nil {
		t.Errorf("Forget without a file: %v", err)
	}
	s := New(path)
	keep := func(tools ...string) {
		t.Helper()
		for _, tool := range tools {
			if err := s.Observe(observation(tool, `"x"`)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	keep("a", "b")
	if err := Forget(path, learn.Tool{Server: "s", Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if got := schemas(t, path); len(got) != 1 || got["b"] == "" {
		t.Errorf("after Forget: %v", got)
	}
	keep("c")
	if got := schemas(t, path); len(got) != 2 || got["a"] != "" {
		t.Errorf(`after Forget and a further result: %v, want len(got) 2 and ""`, got)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	keep("d")
	if got := schemas(t, path); len(got) != 1 || got["d"] == "" {
		t.Errorf("after the folder was removed: %v", got)
	}
}

// Close writes what Flush has postponed.
func TestClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shapes.json")
	s := New(path)
	if err := errors.Join(s.Observe(observation("a", `"x"`)), s.Flush(), s.Observe(observation("b", `"x"`)), s.Flush(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if got := schemas(t, path); len(got) != 2 {
		t.Errorf("%v, want len(got) 2", got)
	}
}
