package runner

import (
	"path"
	"slices"
	"sync"
)

// own returns the ones among files that this run's script wrote.
func (x *run) own(files []string) []string {
	if !x.runner.sharing.overlapped(x) || !x.outcome.Done {
		return files
	}
	wrote := map[string]bool{}
	for _, name := range x.outcome.Wrote {
		wrote[name] = true
	}
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool {
		for name := f; name != "."; name = path.Dir(name) { // or a folder that contains it was renamed
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
	inProgress map[*run]bool // the value: another run has used the same workspace meanwhile
}

// begin notes that a run is using its workspace. Call end when the run has finished with it.
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
