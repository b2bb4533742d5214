package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/owner"
)

// A folder of a run says whose it is in a file, so that what a killed host has left can be told from what is in use. That
// file is there as long as the folder has its name: while it is filled, and while it is removed, the folder has another
// one that ends with its owner.
const (
	ownerFile = "owner"
	ownerMark = "~"
	// unnamedAge is how old a folder without any owner must be to be taken for abandoned.
	unnamedAge = time.Minute
)

func ownedName(path, text string) string {
	return path + ownerMark + strings.ReplaceAll(text, "/", ",")
}

// Name is the name of a folder of Make's without its owner, which base ends with while it is made or removed.
func Name(base string) string {
	name, _, _ := strings.Cut(base, ownerMark)
	return name
}

// Make makes the folder path, which only its user may enter, with a file that says whose it is.
func Make(path string, me owner.Owner) error {
	staged := ownedName(path, me.String())
	err := os.Mkdir(staged, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(staged, ownerFile), []byte(me.String()), 0o600)
	}
	if err == nil {
		err = os.Rename(staged, path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("make the run's folder: %w", err), os.RemoveAll(staged))
	}
	return nil
}

// Remove removes a folder that Make made. One that is gone is none to complain about.
func Remove(path string) error {
	if text, err := os.ReadFile(filepath.Join(path, ownerFile)); err == nil {
		if o, ok := owner.Parse(string(text)); ok && !strings.Contains(filepath.Base(path), ownerMark) {
			if staged := ownedName(path, o.String()); os.Rename(path, staged) == nil {
				path = staged
			}
		}
	}
	return os.RemoveAll(path)
}

// Abandoned tells whether the owner of a folder that Make made, or was making, or Remove was removing, is dead or of
// another boot; me is this process. One of another process namespace may be in use, and so may one whose owner cannot be
// read, as when this process has no descriptors left.
func Abandoned(path string, me owner.Owner, now time.Time) bool {
	_, text, named := strings.Cut(filepath.Base(path), ownerMark)
	text = strings.ReplaceAll(text, ",", "/")
	if !named {
		content, err := os.ReadFile(filepath.Join(path, ownerFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		text = string(content)
	}
	if o, ok := owner.Parse(text); ok {
		return o.Judge(me) == owner.Dead || o.Boot != me.Boot
	}
	st, err := os.Stat(path)
	return err == nil && now.Sub(st.ModTime()) > unnamedAge
}
