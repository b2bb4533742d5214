package durable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/store"
)

// Errors of an Engine and of work. Methods wrap them; use errors.Is. Work that does not exist is [store.ErrNotFound], a database
// without room [store.ErrFull], and one that does not answer [store.ErrUnreachable].
var (
	// ErrExists says that there is work with this id already.
	ErrExists = errors.New("work with this id exists")
	// ErrEnded says that the work has ended.
	ErrEnded = errors.New("the work has ended")
	// ErrClosed says that the engine is closing. The work continues in another process.
	ErrClosed = errors.New("the engine is closed")
	// ErrCancelled says that somebody cancelled the work.
	ErrCancelled = errors.New("the work was cancelled")
	// ErrTakenOver says that another process runs the work now, because this one did not renew its lease in time.
	ErrTakenOver = errors.New("another process has taken the work over")
	// ErrElsewhere is the error of a function that cannot do the work in this process, such as for want of a key. The work has not failed: it is
	// put back for another process of the group. The function must not have taken a step.
	ErrElsewhere = errors.New("another process must do the work")
	// ErrTimeout says that nothing was received in time.
	ErrTimeout = errors.New("no answer in time")
)

// UnknownError says that a crash interrupted a call: it may have been made, or not, and it is not repeated.
type UnknownError = call.UnknownError

// BusyError says that too much work waits in a queue.
type BusyError struct {
	Queue      string
	Waiting    int
	RetryAfter time.Duration // when there may be room: at least a second, at most a minute
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("queue %s is full: %d wait; try again in %s", e.Queue, e.Waiting, e.RetryAfter)
}

// failure is the error of work as it is kept.
type failure struct {
	Text    string
	Unknown string // the call with an unknown result; empty: the work failed otherwise
}

func (f *failure) Error() string { return f.Text }

// failed returns the form in which the error of a work's function is kept.
func failed(err error) *failure {
	f := &failure{Text: err.Error()}
	if unknown, ok := errors.AsType[*UnknownError](err); ok {
		f.Unknown = unknown.Call
	}
	return f
}

// explain turns an error of the library into one of this package, with what was tried.
func explain(doing string, err error) error {
	if err == nil {
		return nil
	}
	cause := err
	switch {
	case errors.Is(err, dbos.ErrNonExistentWorkflow):
		return fmt.Errorf("%s: %w", doing, store.ErrNotFound)
	case errors.Is(err, dbos.ErrWorkflowIDInUse):
		return fmt.Errorf("%s: %w", doing, ErrExists)
	case isAway(err):
		cause = fmt.Errorf("%w: %w", store.ErrUnreachable, err)
	case full(err):
		cause = fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return fmt.Errorf("%s: %w", doing, cause)
}

// isAway reports whether no connection to Postgres could be made, or one was closed before it was used.
func isAway(err error) bool {
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	return refused || pgconn.SafeToRetry(err) && !errors.Is(err, context.Canceled)
}

// full reports whether an error says that the disk or the database has no room. The library does not keep every error's type.
func full(err error) bool {
	text := err.Error()
	return strings.Contains(text, "database or disk is full") || strings.Contains(text, "SQLSTATE 53100")
}
