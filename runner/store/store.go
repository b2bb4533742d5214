// Package store is what a deployment remembers: the rows of the record, documents, logs, leases and cached results. Processes share a store, and machines
// share one in Postgres. The packages below it are named after the database they use, and pass the suite in storetest.
//
// The store does not interpret what it keeps. Package audit hashes and signs the rows of the record; the owner of a kind of documents
// gives them their form.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Errors of a Store. Implementations wrap them; use errors.Is.
var (
	// ErrNotFound says that there is no such document.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that a document has another version than the caller expected, because somebody else changed it.
	ErrConflict = errors.New("changed by another process")
	// ErrFull says that the disk or the database has no room. Nothing was written.
	ErrFull error = &fault{"no room for the state", "make room, or name another database with --state"}
	// ErrNewer says that the database has tables of a later version of mcprun.
	ErrNewer error = &fault{"the state was written by a newer version of mcprun", "update mcprun, or name another database with --state"}
	// ErrUnreachable says that the server of the database does not answer, or refuses this user.
	ErrUnreachable error = &fault{"the state cannot be reached", "start the server of the database, or correct its address: --state, MCPRUN_STATE, or run.state in mcpgen.yaml"}
	// ErrUnusable says that the file, or its folder, cannot be made, read or written, or is no database of mcprun.
	ErrUnusable error = &fault{"the state cannot be used", "name another file with --state, or make this one and its folder writable; move a damaged one away"}
)

// fault is an error of the database with what its user can do.
type fault struct{ text, hint string }

func (f *fault) Error() string { return f.text }

// Hint says what to do.
func (f *fault) Hint() string { return f.hint }

// DamagedError says that a row of the record does not have the form in which it was written.
type DamagedError struct {
	Index int64 // of the row
	Err   error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("row %d cannot be read: %v", e.Index, e.Err)
}

// Unwrap returns the cause.
func (e *DamagedError) Unwrap() error { return e.Err }

// Store is a database. Its methods are safe for concurrent use, by several processes too. What a method has written when it returns
// survives the death of the process.
type Store interface {
	Record
	Documents
	Logs
	Leases
	CachedResults
	// Place describes the database for people: a path, or a URL without its password.
	Place() string
	// About asks the database about itself.
	About(ctx context.Context) (About, error)
	// Close releases the database. Call it when all methods have returned.
	Close() error
}

// About is what a database says about itself.
type About struct {
	Version int64 // of its tables
	Bytes   int64 // that it takes on the disk, more or less
}

// Opener opens a store when it is first needed, and returns the same one each time. Whoever gave it away closes the store.
type Opener func(ctx context.Context) (Store, error)

// Row is a row of the record. Stores find rows of the kinds call and call.end, which are most of them, only by their place, time or run.
type Row struct {
	Index int64     // its place, from 0, without gaps
	Time  time.Time // in UTC, with microseconds
	Kind  string
	Run   string // the run it belongs to; empty: none
	// Content is a JSON object in its canonical form (RFC 8785). Nil: it was removed by [Record.Forget].
	Content []byte
}

// Addition is what [Record.Extend] adds.
type Addition struct {
	Rows []Row // their indexes continue the record's
	// Hashes are the tree's hashes that the rows add, in the order of their storage; see [tlog.StoredHashes]. Each row keeps its own.
	Hashes []tlog.Hash
}

// Range selects rows. The zero value selects all of them.
type Range struct {
	From, To    time.Time // From ≤ time < To; zero: unbounded. Rows more than an hour out of order may be missed
	After       int64     // only rows with an index of at least this one
	Kinds       []string  // empty: all
	Run         string    // empty: all
	Limit       int       // zero: no limit
	NewestFirst bool
}

// Head is a signed head of the record's tree.
type Head struct {
	Size int64 // rows that it covers
	Time time.Time
	Text []byte // a C2SP checkpoint, signed
}

// Record keeps the rows of the record, and the hashes of a Merkle tree over them.
type Record interface {
	// Extend adds rows. Between the call of next and the end of the transaction, no other process can add any. next gets the number of
	// rows, and may read hashes of the tree by their storage index. An error of next is returned, and nothing is added.
	// next is called again if nothing was added because another process has added rows first, or because the connection broke.
	Extend(ctx context.Context, next func(size int64, hashes tlog.HashReader) (Addition, error)) error
	// Size returns the number of rows, those with removed contents included.
	Size(ctx context.Context) (int64, error)
	// Rows calls each with the selected rows, in order. An error of each ends it and is returned. A row that was damaged ends it with a
	// [DamagedError].
	Rows(ctx context.Context, r Range, each func(Row) error) error
	// Hashes returns hashes of the tree by their storage index. An index without one is ErrNotFound.
	Hashes(ctx context.Context, indexes []int64) ([]tlog.Hash, error)
	// Forget removes the contents of the rows with an index below before, and the codes that no content refers to any more. Their hashes
	// stay. It returns how many contents it removed.
	Forget(ctx context.Context, before int64) (removed int64, err error)
	// SetHead adds a signed head.
	SetHead(ctx context.Context, h Head) error
	// Heads calls each with the signed heads, in the order in which they were added.
	Heads(ctx context.Context, each func(Head) error) error
	// NewestHead returns the head that was added last, or ErrNotFound.
	NewestHead(ctx context.Context) (Head, error)
	// SetCode keeps a script's code by its digest, once. Call it before each row that refers to the code, or Forget may remove it.
	SetCode(ctx context.Context, digest string, code []byte) error
	// Code returns a script's code, or ErrNotFound.
	Code(ctx context.Context, digest string) ([]byte, error)
}

// Key names a document or a log.
type Key struct {
	Customer string // empty: the project itself
	Kind     string // such as "plan"; see the package that owns it
	Name     string
}

// Document is a value with a version.
type Document struct {
	Key
	Value []byte
	// Version is that of the value, from 1. A caller that sets the document gives the version that it has read; 0 means that there must be
	// none yet.
	Version int64
	Updated time.Time // in UTC
}

// Documents keeps values by key.
type Documents interface {
	// Document returns a document, or ErrNotFound.
	Document(ctx context.Context, k Key) (*Document, error)
	// SetDocument sets a value and returns its new version, or ErrConflict.
	SetDocument(ctx context.Context, d *Document) (version int64, err error)
	// SetDocuments sets several values in one transaction: all of them, or none. ErrConflict says that one of them has another version.
	SetDocuments(ctx context.Context, all []Document) error
	// DeleteDocument deletes a document. One that does not exist is no error.
	DeleteDocument(ctx context.Context, k Key) error
	// ListDocuments returns the documents of a customer and a kind, by name, with their values.
	ListDocuments(ctx context.Context, customer, kind string) ([]Document, error)
}

// Line is a line of a log.
type Line struct {
	Number int64 // from 1, without gaps. The first of a log whose lines were replaced has a later one
	Time   time.Time
	Value  []byte
}

// Logs keeps lists of values that only grow.
type Logs interface {
	// AppendLine adds a line and returns its number.
	AppendLine(ctx context.Context, k Key, value []byte) (number int64, err error)
	// AppendLineAt adds the line with this number, or returns ErrConflict if that is not the next one: somebody else has added a line, or
	// the log was deleted. Use either this or AppendLine for a log.
	AppendLineAt(ctx context.Context, k Key, number int64, value []byte) error
	// ReplaceLines is AppendLineAt, and deletes the lines before.
	ReplaceLines(ctx context.Context, k Key, number int64, value []byte) error
	// Lines calls each with the lines of a log after the given number, in order. A log that does not exist has no lines.
	Lines(ctx context.Context, k Key, after int64, each func(Line) error) error
	// LogSize returns the size of a log's values together, in bytes. It does not read them.
	LogSize(ctx context.Context, k Key) (bytes int64, err error)
	// ListLogs returns the names of the logs of a customer and a kind, sorted.
	ListLogs(ctx context.Context, customer, kind string) ([]string, error)
	// LogCustomers returns the customers that have logs, in any order. Empty: the project itself.
	LogCustomers(ctx context.Context) ([]string, error)
	// DeleteLog deletes a log. One that does not exist is no error.
	DeleteLog(ctx context.Context, k Key) error
}

// Lease is a name that one owner holds for some time.
type Lease struct {
	Name, Owner string
	Expired     bool // by the clock of the database
}

// Leases tells processes which others are alive, and who may do what only one may do.
type Leases interface {
	// Lease takes a lease that is free or expired, or renews the owner's own. held is false if another owner has it.
	Lease(ctx context.Context, name, owner string, lasts time.Duration) (held bool, err error)
	// Leases returns the leases whose names begin with a prefix, by name.
	Leases(ctx context.Context, prefix string) ([]Lease, error)
	// Release gives a lease up. One that the owner does not hold is left alone.
	Release(ctx context.Context, name, owner string) error
}

// CachedResult is the result of a call that answers equal calls for some time.
type CachedResult struct {
	Customer string // empty: the project itself
	Server   string // the one that was called
	Name     string // finds it among the customer's
	Value    []byte
	// Created and Expires are by the clock of the process that has set it.
	Created, Expires time.Time
}

// CachedPart selects cached results. The zero value selects all of them.
type CachedPart struct {
	Customer *string // nil: of all customers; empty: of the project itself
	Server   string  // empty: of all servers
	// Expired selects those that have expired by then. Zero: those that have not, too.
	Expired time.Time
}

// CachedUse is what there is of one customer and server.
type CachedUse struct {
	Customer string `json:"customer"`
	Server   string `json:"server"`
	Results  int64  `json:"results"`
	Bytes    int64  `json:"bytes"`
	Hits     int64  `json:"hits"` // of the results that are there
}

// CachedResults keeps results of calls. Whatever changes what a server would answer gives the server a new generation. A result is kept only if
// the generation is still that from before its call.
type CachedResults interface {
	// CachedResult returns a result that expires after now, or nil, and the generation of the server.
	CachedResult(ctx context.Context, customer, server, name string, now time.Time) (r *CachedResult, generation int64, err error)
	// SetCachedResult keeps a result, unless the server has another generation by now, and removes what has expired when the result was made.
	// A result costs the size of its value and [CachedCost]. Those of the customer that were not used for longest are removed until all cost at
	// most room.
	SetCachedResult(ctx context.Context, r *CachedResult, generation, room int64) error
	// UseCachedResults counts hits of a customer's results, by name.
	UseCachedResults(ctx context.Context, customer string, hits map[string]int64, now time.Time) error
	// ChangeServer gives a server a new generation, and removes its results of all customers.
	ChangeServer(ctx context.Context, server string) error
	// DeleteCachedResults removes results, also those of calls that are in progress, and returns how many it removed.
	DeleteCachedResults(ctx context.Context, p CachedPart) (removed int64, err error)
	// CachedUses counts the results that are there, by customer and server.
	CachedUses(ctx context.Context) ([]CachedUse, error)
}

// CachedCost is what a cached result costs beside its value, in bytes.
const CachedCost = 512
