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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// keepViews is how long an unused view is kept.
const keepViews = 7 * 24 * time.Hour

// maxViews limits the size of the views of one store that were used in the last hour, in bytes: every save before a run makes
// another view, and runs may still be reading the earlier ones. Older views are removed to make room.
const (
	maxViews = 256 << 20
	viewUsed = time.Hour
)

// ViewError reports that a view of the skills would be too large.
type ViewError struct{ Bytes int64 } // the size of the view

func (e *ViewError) Error() string {
	return fmt.Sprintf("the skills of several folders need %d bytes to be shown to scripts as one folder; with the views of the last hour that is more than %d", e.Bytes, maxViews)
}

// Hint returns what a person can do about the error.
func (e *ViewError) Hint() string {
	return "remove skills that nobody needs, or copy those you use to one folder, for example with mcprun skill save NAME --shipped"
}

// View returns a folder that holds the skills of all folders of the store, as scripts see them. If all are in one folder that
// everybody may read, it returns that folder; otherwise it makes a copy in the folder below, which is absolute and created if
// it is missing. The copy is reused as long as the skills do not change. View returns "" if there are no skills. The error is
// a *[ViewError] if the copy would be too large.
func (s *Store) View(below string) (string, error) {
	all, err := s.List()
	if err != nil {
		return "", err
	}
	h, only, one, bytes := sha256.New(), "", true, int64(0)
	for _, k := range all {
		if k.dir.FS != nil || only != "" && only != k.dir.Path {
			one = false
		}
		only = k.dir.Path
		fmt.Fprintf(h, "%q %q\n", k.Name, k.Version)
		bytes += onDisk(k)
	}
	switch {
	case len(all) == 0:
		return "", nil
	case one && Readable(only):
		return only, nil
	}
	// The name consists of the store, the skills and the size.
	at := filepath.Join(below, fmt.Sprintf("%s-%s-%d", s.key(), hex.EncodeToString(h.Sum(nil))[:32], bytes))
	if info, err := os.Stat(at); err == nil && info.IsDir() {
		now := time.Now()
		return at, os.Chtimes(at, now, now)
	}
	if err := os.MkdirAll(below, 0o700); err != nil {
		return "", fmt.Errorf("create the folder for views of skills: %w", err)
	}
	root, err := safeopen.Root(below)
	if err != nil {
		return "", fmt.Errorf("open the folder for views of skills: %w", err)
	}
	defer root.Close()
	if sweepViews(root, s.key(), maxViews-bytes) > maxViews-bytes {
		return "", &ViewError{Bytes: bytes}
	}
	return at, makeView(root, filepath.Base(at), all)
}

// makeView copies skills to a folder. The folder is complete or does not exist.
func makeView(root *os.Root, name string, all []*Skill) error {
	stage := "stage-" + rand.Text()
	err := root.Mkdir(stage, 0o755) // scripts may run as another user; other users cannot pass the folder around it
	for _, k := range all {
		for _, info := range k.content.infos {
			var data []byte
			if err == nil {
				data, err = k.data(info.Path)
			}
			if err == nil {
				err = writeFile(root, stage+"/"+k.Name+"/"+info.Path, data)
			}
		}
	}
	if err == nil {
		if err = root.Rename(stage, name); err != nil {
			if _, there := root.Stat(name); there == nil {
				err = root.RemoveAll(stage) // another run created it
			}
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("create a view of the skills: %w", err), root.RemoveAll(stage))
	}
	return nil
}

// key returns a digest of the store's folders.
func (s *Store) key() string {
	h := sha256.New()
	for _, d := range s.dirs {
		fmt.Fprintf(h, "%q\n", d.Path)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// onDisk returns about how much disk space a copy of a skill takes, in bytes.
func onDisk(k *Skill) int64 {
	const block = 4096
	sum := int64(2 * block) // folders
	for _, info := range k.content.infos {
		sum += (info.Size + block) / block * block
	}
	return sum
}

// Readable reports whether every user may read a folder.
func Readable(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && info.Mode().Perm()&0o005 == 0o005
}

// sweepViews removes views that have long been unused, and unfinished ones. It also removes the oldest views whose names
// begin with key until the rest takes at most max bytes, except those used recently. It returns the size of the rest.
func sweepViews(root *os.Root, key string, max int64) int64 {
	type view struct {
		name  string
		bytes int64
		at    time.Time
	}
	var own []view
	sum := int64(0)
	entries, err := fs.ReadDir(safeopen.FS(root), ".")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue
		}
		if time.Since(info.ModTime()) > keepViews {
			_ = root.RemoveAll(e.Name()) // the next call tries again
			continue
		}
		parts := strings.Split(e.Name(), "-")
		bytes, err := strconv.ParseInt(parts[len(parts)-1], 10, 64)
		if err == nil && len(parts) == 3 && parts[0] == key {
			own, sum = append(own, view{e.Name(), bytes, info.ModTime()}), sum+bytes
		}
	}
	slices.SortFunc(own, func(a, b view) int { return a.at.Compare(b.at) })
	for _, v := range own {
		if sum <= max || time.Since(v.at) < viewUsed {
			break
		}
		if root.RemoveAll(v.name) == nil {
			sum -= v.bytes
		}
	}
	return sum
}
