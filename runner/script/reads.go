package script

import (
	"crypto/sha256"
	"strings"
	"sync"
)

// place is a path below the tree or the script's folder.
type place struct{ Namespace, Path string }

// reads is everything on disk that a bundle stands on: which files were looked for and were there or not, and what those
// held that were read. The bundler asks from many goroutines. A nil one keeps nothing.
type reads struct {
	mu      sync.Mutex
	there   map[place]bool
	content map[place][sha256.Size]byte
	lists   map[place]string // folders that were listed
}

func newReads() *reads {
	return &reads{there: map[place]bool{}, content: map[place][sha256.Size]byte{}, lists: map[place]string{}}
}

func (r *reads) looked(p place, there bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.there[p] = there
}

func (r *reads) read(p place, text []byte) {
	if r == nil {
		return
	}
	sum := sha256.Sum256(text)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.content[p] = sum
}

func (r *reads) listed(p place, names []string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lists[p] = strings.Join(names, "/")
}

// hold tells whether all of it would be found and read as before. Contents are compared, not times: a checkout or a
// quick edit may leave those as they were.
func (r *reads) hold(src Source, opt Options) bool {
	if len(r.there) == 0 && len(r.content) == 0 && len(r.lists) == 0 {
		return true
	}
	files := &files{}
	defer files.close()
	if files.open(src.Dir, opt) != nil {
		return false
	}
	for p, there := range r.there {
		if _, err := files.stat(p.Namespace, p.Path); (err == nil) != there {
			return false
		}
	}
	for p, names := range r.lists {
		if strings.Join(entries(files.root(p.Namespace), p.Path), "/") != names {
			return false
		}
	}
	for p, sum := range r.content {
		text, err := files.read(p.Namespace, p.Path)
		if err != nil || sha256.Sum256(text) != sum {
			return false
		}
	}
	return true
}
