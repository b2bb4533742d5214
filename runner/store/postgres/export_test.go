package postgres

import "time"

var Configure = configure

// SetCommitTime sets how long a transaction goes on after its caller has given up.
func (s *Store) SetCommitTime(d time.Duration) { s.backend.commitTime = d }
