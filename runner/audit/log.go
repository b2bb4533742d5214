package audit

import (
	"context"

	"github.com/mcpgen/mcpgen/runner/store"
)

// Options configure a Log.
type Options struct {
	// Who is added to every entry, where the entry does not say it.
	Who Who
	// Warn is called when an entry given to [Log.Later] could not be written. May be nil.
	Warn func(error)
}

// Log writes the record. It is safe for concurrent use. A nil Log keeps nothing, and its methods succeed.
type Log struct {
	store store.Record
	opt   Options
}

// Open returns the log of a store. The caller closes it before the store.
func Open(s store.Record, opt Options) (*Log, error) {
	return &Log{s, opt}, nil
}

// Append writes entries, and returns when they are durable. With an error, none of them is.
func (l *Log) Append(ctx context.Context, entries ...Entry) error { return nil }

// Later writes an entry with the next batch, within some milliseconds, behind those that were given before.
func (l *Log) Later(e Entry) {}

// Flush returns when everything that was given to the log is durable, with the first error since the last Flush.
func (l *Log) Flush(ctx context.Context) error { return nil }

// Code keeps a script's code, with tokens for personal data, and returns its digest.
func (l *Log) Code(ctx context.Context, code string) (digest string, err error) { return "", nil }

// Close flushes the log and publishes its head.
func (l *Log) Close() error { return nil }
