package skill

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
)

// install puts a folder in the place of another in one step where the system can do that, else in two. What was there is
// at stage afterwards, or gone.
func install(root *os.Root, stage, name string) error {
	var last error
	for range 50 {
		if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			if last = root.Rename(stage, name); last == nil {
				return nil
			}
			continue // somebody else was first
		}
		err := exchange(root, stage, name)
		if err == nil {
			return nil
		}
		last = err
		if !errors.Is(err, errors.ErrUnsupported) {
			continue // it may just have been removed
		}
		aside := stagePrefix + rand.Text()
		if err := root.Rename(name, aside); err != nil {
			last = err
			continue
		}
		last = root.Rename(stage, name)
		_ = root.RemoveAll(aside) // swept later
		if last == nil {
			return nil
		}
	}
	return last
}
