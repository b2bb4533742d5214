package folder

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestVanished(t *testing.T) {
	dir := t.TempDir()
	stays, goes, replaced, other := filepath.Join(dir, "stays"), filepath.Join(dir, "goes"), filepath.Join(dir, "replaced"), filepath.Join(dir, "other")
	for _, name := range []string{stays, goes, replaced, other} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all, late := See(stays, goes), See(stays, replaced)
	if err := errors.Join(all.Vanished(), late.Vanished(), See().Vanished()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(stays, "x"), nil, 0o600), os.Remove(goes), os.Remove(replaced), os.Rename(other, replaced)); err != nil {
		t.Fatal(err)
	}
	for want, seen := range map[string]Seen{goes: all, replaced: late, other: See(stays, other)} {
		err, ok := errors.AsType[*Error](seen.Vanished())
		if !ok || err.Path != want || err.Hint() == "" {
			t.Errorf("got %v; %s is to be named, with a remedy", err, want)
		}
	}
}
