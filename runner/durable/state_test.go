package durable

import (
	"path/filepath"
	"testing"
)

// eachState runs a test on each database.
func eachState(t *testing.T, test func(*testing.T, Options)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, Options{State: filepath.Join(t.TempDir(), "state.db"), Store: newShared(t)})
	})
}

// sharedFile returns the file of a store for tests; empty: it is another store.
func sharedFile(s Store) (path string) {
	if s, ok := s.(shared); ok {
		s.db.QueryRow("SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path)
	}
	return path
}
