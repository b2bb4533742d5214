package form

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/store"
)

// ErrDry is the error of Submit in a dry run. Nothing was sent, and the form stays open.
var ErrDry = errors.New("dry run: the form was not submitted")

// saveTime bounds how long the end of a submission may take to be kept.
const saveTime = 10 * time.Second

// StateError says that a form is not submitted in its state.
type StateError struct {
	ID    string
	State State
	At    time.Time // of its last change
}

func (e *StateError) Error() string {
	at := e.At.Local().Format("2006-01-02 15:04:05")
	if e.State == Submitted {
		return fmt.Sprintf("the form %s was submitted at %s", e.ID, at)
	}
	return fmt.Sprintf("it is unknown whether the form %s was submitted: it was sent at %s, and no answer came", e.ID, at)
}

// Hint says what to do.
func (e *StateError) Hint() string {
	if e.State == Submitted {
		return "fill in a new one"
	}
	return "look at the server what has happened; --again sends it once more"
}

// OpenError says that a form cannot be submitted yet.
type OpenError struct {
	ID       string // empty: it is not kept
	Problems []Problem
	Missing  []string
}

func (e *OpenError) Error() string {
	return fmt.Sprintf("the form %s is open: %s", e.ID, lacks(e.Problems, e.Missing))
}

// Lacks says in one line what keeps a form open: its values, or why its last call failed. Empty: nothing does.
func (r *Record) Lacks() string {
	if len(r.Problems)+len(r.Missing) == 0 {
		return r.Error
	}
	return lacks(r.Problems, r.Missing)
}

func lacks(problems []Problem, missing []string) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Message)
	}
	if len(missing) > 0 {
		all = append(all, "missing: "+strings.Join(missing, ", "))
	}
	return strings.Join(all, "; ")
}

// Sender calls a tool. It returns a tool's failure as a [*call.Error], too.
type Sender func(ctx context.Context, tool string, arguments json.RawMessage) (*call.Result, error)

// Submit submits a kept form: it calls the tool once, and keeps what was sent and what came back. Values that do not fit are an [*OpenError]. A
// form that was sent before is a [*StateError], unless again allows one whose outcome is unknown. In a dry run the error is [ErrDry]. Any other
// error of the call is returned, and the form stays open if it is certain that the tool has not done its work.
func (k *Kept) Submit(ctx context.Context, r *Record, x *Filling, again bool, send Sender) error {
	switch {
	case r.State == Submitted, r.State != Open && !again:
		return &StateError{r.ID, r.State, r.Updated}
	case !x.Complete():
		return &OpenError{r.ID, x.Problems, x.Missing}
	}
	arguments, err := x.form.Arguments(x.Values())
	if err != nil {
		return fmt.Errorf("%s: %w", x.form.File, err)
	}
	r.Take(x)
	r.State, r.Tool, r.Arguments, r.Error, r.Result = Sending, x.form.Tool, arguments, "", nil
	if err := k.Save(ctx, r); errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("the form %s: %w; look at it again", r.ID, err)
	} else if err != nil {
		return err
	}
	res, err := send(ctx, r.Tool, arguments)
	switch {
	case err == nil && res.As == call.AsDry:
		r.State, err = Open, ErrDry
	case err == nil:
		r.State, r.Result = Submitted, res.Value
	default:
		r.State, r.Error = after(err), err.Error()
	}
	kept, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	if failed := k.Save(kept, r); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// after returns the state of a form whose call has failed: unknown, unless it is certain that nothing was sent, or the server has answered that
// it failed.
func after(err error) State {
	failed, ok := errors.AsType[*call.Error](err)
	if !ok {
		return Unknown
	}
	switch {
	case failed.Kind == call.KindArgument, failed.Kind == call.KindDenied, failed.Kind == call.KindTool, failed.Retryable:
		return Open
	case failed.Kind == call.KindProtocol && failed.Code != 0:
		return Open
	}
	return Unknown
}
