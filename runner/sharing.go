package runner

import (
	"path"
	"slices"
	"sync"
)

// own returns those of the files that the script of this run wrote.
func (x *run) own(files []string) []string {
	if !x.runner.sharing.overlapped(x) || !x.outcome.Done {
		return files
	}
	wrote := map[string]bool{}
	for _, name := range x.outcome.Wrote {
		wrote[name] = true
	}
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool {
		for name := f; name != "."; name = path.Dir(name) { // or a folder of it, which was renamed
			if wrote[name] {
				return false
			}
		}
		return true
	})
}

// sharing knows which runs use a workspace at the same time.
type sharing struct {
	mu         sync.Mutex
	inProgress map[*run]bool // whether another run has used the same workspace meanwhile
}

// begin notes that a run uses its workspace until the function that it returns is called.
func (s *sharing) begin(x *run) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inProgress == nil {
		s.inProgress = map[*run]bool{}
	}
	s.inProgress[x] = false
	for other := range s.inProgress {
		if other != x && other.script.Workspace == x.script.Workspace {
			s.inProgress[other], s.inProgress[x] = true, true
		}
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.inProgress, x)
	}
}

// overlapped reports whether another run used the workspace of a run that is in progress.
func (s *sharing) overlapped(x *run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inProgress[x]
}
