package folder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/owner"
)

// Whenever its host is killed, a folder tells whose it was.
func TestOwnedFolders(t *testing.T) {
	me, err := owner.Self()
	if err != nil {
		t.Fatal(err)
	}
	dead := me
	dead.PID, dead.Start = 1<<30, "1"
	parent := t.TempDir()
	now := time.Now()
	for name, c := range map[string]struct {
		of        owner.Owner
		abandoned bool
	}{"mine": {me, false}, "dead": {dead, true}} {
		path := filepath.Join(parent, name)
		if err := Make(path, c.of); err != nil {
			t.Fatal(err)
		}
		staged := ownedName(path, c.of.String())
		if Abandoned(path, me, now) != c.abandoned || Abandoned(staged, me, now) != c.abandoned {
			t.Errorf("%s: abandoned %t, while it is made or removed %t", name, Abandoned(path, me, now), Abandoned(staged, me, now))
		}
		if err := os.WriteFile(filepath.Join(path, "x"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Remove(path); err != nil {
			t.Error(err)
		}
		// Killed right after the folder was made, and after its file was removed.
		if err := os.Mkdir(staged, 0o700); err != nil {
			t.Fatal(err)
		}
		if Name(filepath.Base(staged)) != filepath.Base(path) || Name(filepath.Base(path)) != filepath.Base(path) {
			t.Errorf("%s: the name of %s is %s", name, filepath.Base(staged), Name(filepath.Base(staged)))
		}
		if Abandoned(staged, me, now) != c.abandoned {
			t.Errorf("%s: half made, it is not known", name)
		}
		if err := Remove(staged); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(parent); len(left) > 0 || strings.Contains(me.String(), ownerMark) || strings.Contains(me.String(), ",") {
		t.Errorf("left %v of %s", left, me)
	}
	strange := filepath.Join(parent, "strange")
	if err := os.Mkdir(strange, 0o700); err != nil {
		t.Fatal(err)
	}
	if Abandoned(strange, me, now) || !Abandoned(strange, me, now.Add(2*unnamedAge)) {
		t.Error("a folder of nobody is judged wrongly")
	}
	if err := os.Mkdir(filepath.Join(strange, ownerFile), 0o700); err != nil { // it cannot be read
		t.Fatal(err)
	}
	if Abandoned(strange, me, time.Now().Add(2*unnamedAge)) {
		t.Error("a folder whose owner cannot be told is taken for nobody's")
	}
	if err := Remove(filepath.Join(parent, "none")); err != nil {
		t.Error(err)
	}
}
