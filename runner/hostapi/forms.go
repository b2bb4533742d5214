package hostapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config/node"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/form"
)

// Forms are the forms that scripts fill in.
type Forms struct {
	Folder *form.Folder
	// Tree has the tools that take the forms.
	Tree func() (*gen.Tree, error)
	// Kept keeps the forms.
	Kept *form.Kept
}

// Statuses of a form that a script has filled in.
const (
	formSubmitted = "submitted"
	formOpen      = "open"    // something is missing, or it was not to be submitted
	formInvalid   = "invalid" // a value does not fit
)

// filledForm is the answer of form/fill.
type filledForm struct {
	Status   string          `json:"status"`
	ID       string          `json:"id"`
	Problems []form.Problem  `json:"problems"`
	Missing  []string        `json:"missing"`
	Result   json.RawMessage `json:"result,omitempty"` // of the tool, as a script gets it
}

// requests numbers the equal requests of a run.
type requests struct {
	mu      sync.Mutex
	numbers map[string]int
}

// id returns what a request has in each execution of its run, or "" if the run is not continued.
func (r *requests) id(place string, params json.RawMessage) string {
	if place == "" {
		return ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := place + string(params)
	r.numbers[key]++
	return form.RequestID(place, params, r.numbers[key])
}

// fillForm answers form/fill. With an id, the data are values of fields for a form that stayed open. A call that fails is the method's error, as it
// is a call's. own is the id of the request in a run that may be continued, else empty.
func (h *Methods) fillForm(ctx context.Context, params json.RawMessage, host *chain.Host, kept *form.Kept, own string) (json.RawMessage, error) {
	in := struct {
		Form   string          `json:"form"`
		ID     string          `json:"id"`
		Data   json.RawMessage `json:"data"`
		Submit bool            `json:"submit"`
		Ask    bool            `json:"ask"`
	}{Submit: true, Ask: true}
	if err := read(methodFillForm, params, &in); err != nil {
		return nil, err
	}
	f, err := h.Forms.Folder.Read(in.Form)
	if err != nil {
		return nil, h.formError(err)
	}
	tree, err := h.Forms.Tree()
	if err != nil {
		return nil, h.internal("the tree", err)
	}
	if err := f.Check(tree); err != nil {
		return nil, h.formError(err)
	}
	r, err := h.formOf(ctx, kept, in.ID, own, host)
	var x *form.Filling
	mine := own != "" && r != nil && r.Sender == own // its journal knows whether it has sent it
	switch {
	case err != nil:
	case r.Form == "":
		x, err = f.Fill(in.Data, host.Personal.Restored)
	case r.Form != in.Form:
		return nil, badParams(methodFillForm, "%s is a form %s", r.ID, r.Form)
	case r.State == form.Submitted && mine: // the journal waits for each of its calls
		if _, err := host.Call(ctx, &call.Request{Tool: r.Tool, Args: r.Arguments}); err != nil {
			return nil, h.formError(err)
		}
		return json.Marshal(answerFor(r, host.Personal))
	case r.State == form.Submitted, r.ID == own && !in.Submit: // a script that is run again
		return json.Marshal(answerFor(r, host.Personal))
	case r.State != form.Open && !mine:
		return nil, h.formError(&form.StateError{ID: r.ID, State: r.State, At: r.Updated})
	default:
		if x, err = f.Filling(r, host.Personal.Restored); err == nil && in.ID != "" && len(in.Data) > 0 && !mine {
			err = x.Set(in.Data, "script")
		}
	}
	if err == nil && in.Ask && host.Ask != nil {
		err = x.Ask(ctx, form.Asker(host.Ask))
	}
	if err != nil {
		return nil, h.formError(err)
	}
	r.Take(x)
	if err := kept.Save(ctx, r); err != nil {
		return nil, h.internal("the state that keeps forms", err)
	}
	if in.Submit && x.Complete() {
		r.Sender = own
		err = kept.Submit(ctx, r, x, mine, func(ctx context.Context, tool string, args json.RawMessage) (*call.Result, error) {
			return host.Call(ctx, &call.Request{Tool: tool, Args: args})
		})
		if err != nil && !errors.Is(err, form.ErrDry) {
			return nil, h.formError(err)
		}
	}
	return json.Marshal(answerFor(r, host.Personal))
}

// formOf returns the kept form with an id, or the one that an earlier execution of the run has begun with the request, or else a new one.
func (h *Methods) formOf(ctx context.Context, kept *form.Kept, id, own string, host *chain.Host) (*form.Record, error) {
	if id != "" {
		return kept.Load(ctx, id)
	}
	if own != "" {
		r, err := kept.Load(ctx, own)
		if _, missing := errors.AsType[*form.NotFoundError](err); !missing {
			return r, err
		}
	}
	return &form.Record{ID: cmp.Or(own, form.NewID()), By: host.Run}, nil
}

// answerFor returns what a script learns of a form. Messages quote values, for which a script may have tokens only.
func answerFor(r *form.Record, p *chain.Personal) filledForm {
	out := filledForm{Status: formOpen, ID: r.ID, Problems: []form.Problem{}, Missing: append([]string{}, r.Missing...), Result: r.Result}
	switch {
	case r.State == form.Submitted:
		out.Status = formSubmitted
	case len(r.Problems) > 0:
		out.Status = formInvalid
	}
	for _, problem := range r.Problems {
		if p.Bridges() {
			problem.Message = p.Mask(problem.Message)
		}
		out.Problems = append(out.Problems, problem)
	}
	return out
}

// formError converts an error for the script, which is shown those of its request, of the form's file and of its call.
func (h *Methods) formError(err error) error {
	if failed, ok := errors.AsType[*call.Error](err); ok {
		return failed
	}
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	if path || link {
		return h.internal("the folder of forms", err)
	}
	message := err.Error()
	if bad, ok := errors.AsType[*node.FileError](err); ok { // scripts see no path of the host
		shown := *bad
		shown.File = filepath.Base(bad.File)
		message = shown.Error()
	}
	if unknown, ok := errors.AsType[*form.UnknownError](err); ok {
		message = fmt.Sprintf("there is no form %.100q", unknown.Name)
	}
	if hint := exit.Hint(err); hint != "" {
		message += "; " + hint
	}
	return &call.Error{Kind: call.KindArgument, Message: methodFillForm + ": " + message, Cause: err}
}
