package postgres

import (
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/internal/sqldb"
)

var Configure = configure

// SetCommitTime sets how long a transaction goes on after its caller has given up.
func (s *Store) SetCommitTime(d time.Duration) { s.backend.commitTime = d }

// Unopened returns a store whose connections come from a connector.
func Unopened(c driver.Connector) store.Store {
	dial := &connector{Connector: c, retryTime: retryTime}
	b := &backend{db: sql.OpenDB(dial), dial: dial, place: "postgres://db/name", commitTime: commitTime}
	return &Store{sqldb.New(b), b}
}
