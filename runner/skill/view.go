package skill

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// keepViews is how long a view stays that nobody has asked for.
const keepViews = 7 * 24 * time.Hour

// View returns a folder that holds the skills as scripts are to see them: of all folders of the store, those that count.
// Where they all lie in one folder that everybody may read, that is it; otherwise it is a copy below the folder named, absolute and made if missing,
// which is made once for the same skills. Empty: there are none.
func (s *Store) View(below string) (string, error) {
	all, err := s.List()
	if err != nil {
		return "", err
	}
	h, only, one := sha256.New(), "", true
	for _, k := range all {
		if k.dir.FS != nil || only != "" && only != k.dir.Path {
			one = false
		}
		only = k.dir.Path
		fmt.Fprintf(h, "%q %q\n", k.Name, k.Version)
	}
	switch {
	case len(all) == 0:
		return "", nil
	case one && Readable(only):
		return only, nil
	}
	at := filepath.Join(below, hex.EncodeToString(h.Sum(nil))[:32])
	if info, err := os.Stat(at); err == nil && info.IsDir() {
		now := time.Now()
		return at, os.Chtimes(at, now, now)
	}
	if err := os.MkdirAll(below, 0o700); err != nil {
		return "", fmt.Errorf("make the folder for views of skills: %w", err)
	}
	root, err := os.OpenRoot(below)
	if err != nil {
		return "", fmt.Errorf("open the folder for views of skills: %w", err)
	}
	defer root.Close()
	stage := "stage-" + rand.Text()
	err = root.Mkdir(stage, 0o755) // whoever runs the script reads it; others do not get past the folder around it
	for _, k := range all {
		for _, info := range k.content.infos {
			if err == nil {
				err = writeFile(root, stage+"/"+k.Name+"/"+info.Path, k.content.files[info.Path])
			}
		}
	}
	if err == nil {
		if err = root.Rename(stage, filepath.Base(at)); err != nil {
			if _, there := root.Stat(filepath.Base(at)); there == nil {
				err = root.RemoveAll(stage) // another run was first
			}
		}
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("make a view of the skills: %w", err), root.RemoveAll(stage))
	}
	sweepViews(root)
	return at, nil
}

// Readable tells whether whoever a script runs as may read a folder.
func Readable(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o005 == 0o005
}

// sweepViews removes views that nobody has asked for in a long time, and what was begun and not finished.
func sweepViews(root *os.Root) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > keepViews {
			_ = root.RemoveAll(e.Name()) // tried again the next time
		}
	}
}
