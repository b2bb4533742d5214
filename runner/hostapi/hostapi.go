// Package hostapi implements the methods of the host other than tools that scripts call: to search tools, save and load skills, replace
// personal data by tokens, show images, and fill in forms. The guests' libraries know the methods by name.
//
// Errors that a script sees are *call.Error. Errors in the host's own files are passed to [Methods].Trouble; the script learns only that an
// error occurred.
package hostapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/form"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// Names of methods, as in the guests' libraries.
const (
	methodSearch     = "tools/search"
	methodTokenize   = "pii/tokenize"
	methodDetokenize = "pii/detokenize"
	methodImage      = "output/image"
	methodSaveSkill  = "skills/save"
	methodLoadSkill  = "skills/load"
	methodListSkills = "skills/list"
	methodFillForm   = "form/fill"
)

// Method answers one method. It takes an object of parameters and returns a JSON value.
type Method = func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// Methods holds what the methods use. Its functions must be safe for concurrent use. They are called when a script first needs them, and
// again after an error. A method whose function is nil is not offered, and a script that calls it is told so.
type Methods struct {
	// Tools searches the tools of the tree.
	Tools func(ctx context.Context, q search.Query, detail search.Detail) ([]search.Result, error)
	// Skills returns the skills. Errors are about the script's request or the host's files.
	Skills func() (*skill.Store, error)
	// Run is the policy's record of the run. The run's taint goes into the skills that it saves, and the run receives the taint of skills
	// that it loads or lists. Nil: taint is not tracked.
	Run *policy.Run
	// Vault returns the vault of what tokens stand for.
	Vault func() (*pii.Vault, error)
	// Sealed refuses to restore tokens for the script, because it may have tokens only. They stay if the script tokenizes a text.
	Sealed bool
	// Image takes an image. Its error is shown to the script.
	Image func(mimeType string, data []byte) error
	// Forms fills forms in. Nil: there are no forms.
	Forms *Forms
	// Trouble is called with errors in the host's own files. It may be nil.
	Trouble func(error)
}

// All returns the methods that are offered, by name.
func (h *Methods) All() map[string]Method {
	m := map[string]Method{}
	if h.Tools != nil {
		m[methodSearch] = h.search
	}
	if h.Skills != nil {
		m[methodSaveSkill], m[methodLoadSkill], m[methodListSkills] = h.saveSkill, h.loadSkill, h.listSkills
	}
	if h.Vault != nil {
		share := Once(func() (*pii.Share, error) {
			v, err := h.Vault()
			if err != nil {
				return nil, err
			}
			s := v.Share(pii.RunValues, pii.RunBytes)
			s.Own = h.Sealed
			return s, nil
		})
		m[methodTokenize] = func(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
			return h.tokenize(ctx, share, params)
		}
		m[methodDetokenize] = h.detokenize
	}
	if h.Image != nil {
		m[methodImage] = h.show
	}
	return m
}

// Calling returns the methods that call tools, by name, for one execution of a run.
func (h *Methods) Calling() map[string]chain.Method {
	if h.Forms == nil {
		return nil
	}
	replayed, asked := form.InMemory(), &requests{numbers: map[string]int{}}
	return map[string]chain.Method{methodFillForm: func(ctx context.Context, params json.RawMessage, host *chain.Host) (json.RawMessage, error) {
		if host.Replay {
			return h.fillForm(ctx, params, host, replayed, "")
		}
		return h.fillForm(ctx, params, host, h.Forms.Kept, asked.id(host.Place, params))
	}}
}

// badParams returns an error about invalid parameters.
func badParams(method, format string, args ...any) error {
	return &call.Error{Kind: call.KindArgument, Message: method + ": " + fmt.Sprintf(format, args...)}
}

// read decodes parameters. The bridge bounds their size.
func read(method string, params json.RawMessage, into any) error {
	err := json.Unmarshal(params, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return badParams(method, "%s is a JSON %s", wrong.Field, wrong.Value)
	}
	if wrong, ok := errors.AsType[*search.WordingsError](err); ok {
		return badParams(method, "%v", wrong)
	}
	if err != nil {
		return badParams(method, "invalid parameters")
	}
	return nil
}

// internal reports an error in the host's own files, and returns what the script may see of it.
func (h *Methods) internal(what string, err error) error {
	if _, ok := errors.AsType[*call.Error](err); ok {
		return err
	}
	if h.Trouble != nil {
		h.Trouble(err)
	}
	return &call.Error{Kind: call.KindInternal, Message: what + " can't be used: whoever started mcprun is told why", Cause: err}
}

// search answers tools/search.
func (h *Methods) search(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var in struct {
		Query    search.Wordings `json:"query"`
		Server   string          `json:"server"`
		Category string          `json:"category"`
		Detail   search.Detail   `json:"detail"`
		Limit    *int            `json:"limit"`
	}
	if err := read(methodSearch, params, &in); err != nil {
		return nil, err
	}
	if in.Detail == "summary" { // as in other hosts
		in.Detail = search.DetailDescription
	}
	if in.Detail != "" && !slices.Contains(search.Details(), in.Detail) {
		return nil, badParams(methodSearch, "unknown detail %.50q; use %s", in.Detail, orWords(search.Details()))
	}
	q := in.Query.Query()
	q.Server, q.Category = in.Server, in.Category
	if in.Limit != nil {
		if q.Limit = *in.Limit; q.Limit < 1 || q.Limit > search.MaxLimit {
			return nil, badParams(methodSearch, "limit is %d; it can be 1 to %d", q.Limit, search.MaxLimit)
		}
	}
	found, err := h.Tools(ctx, q, in.Detail)
	if unknown, ok := errors.AsType[*search.UnknownError](err); ok {
		message := unknown.Error()
		if hint := unknown.Hint(); hint != "" {
			message += "; " + hint
		}
		return nil, &call.Error{Kind: call.KindArgument, Message: message}
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, h.internal("the catalogue of tools", err)
	}
	if found == nil {
		found = []search.Result{}
	}
	return json.Marshal(map[string]any{"hits": found})
}

// tokenize answers pii/tokenize from the script's share of the vault.
func (h *Methods) tokenize(ctx context.Context, share func() (*pii.Share, error), params json.RawMessage) (json.RawMessage, error) {
	var in struct {
		Value json.RawMessage `json:"value"`
		Types []pii.Type      `json:"types"`
	}
	if err := read(methodTokenize, params, &in); err != nil {
		return nil, err
	}
	if len(in.Value) == 0 {
		return nil, badParams(methodTokenize, "there is no value")
	}
	if len(in.Types) > 100 {
		return nil, badParams(methodTokenize, "%d types are too many", len(in.Types))
	}
	for _, t := range in.Types {
		if !slices.Contains(pii.Types(), t) {
			return nil, badParams(methodTokenize, "there is no type %.50q; there are %s", t, orWords(pii.Types()))
		}
	}
	v, err := share()
	if err != nil {
		return nil, h.internal("the vault of personal data", err)
	}
	value, found, err := v.TokenizeJSON(ctx, in.Value, in.Types...)
	if err != nil {
		return nil, h.full(ctx, err)
	}
	return json.Marshal(map[string]any{"value": value, "found": found})
}

// full converts an error of tokenizing for the script, which is told about limits.
func (h *Methods) full(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if over, ok := errors.AsType[*pii.ShareError](err); ok {
		return badParams(methodTokenize, "%v; %s", over, over.Hint())
	}
	said := ""
	if _, ok := errors.AsType[*pii.FullError](err); ok {
		said = fmt.Sprintf("the vault of personal data is full: it holds at most %d values of %d MiB together; values that it knows have their tokens still", pii.MaxVaultValues, pii.MaxVaultBytes>>20)
	} else if over, ok := errors.AsType[*customer.QuotaError](err); ok {
		said = over.Error()
	} else {
		return h.internal("the vault of personal data", err)
	}
	if h.Trouble != nil {
		h.Trouble(err) // with a hint for the user
	}
	return badParams(methodTokenize, "%s. Nothing of this text was kept; whoever started mcprun is told what can be done", said)
}

// detokenize answers pii/detokenize.
func (h *Methods) detokenize(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
	var in struct {
		Value json.RawMessage `json:"value"`
	}
	if err := read(methodDetokenize, params, &in); err != nil {
		return nil, err
	}
	if len(in.Value) == 0 {
		return nil, badParams(methodDetokenize, "there is no value")
	}
	if h.Sealed {
		return nil, &call.Error{Kind: call.KindDenied, Message: methodDetokenize + ": scripts have tokens only here (pii mode bridge); pass tokens to tools, which get what they stand for"}
	}
	v, err := h.Vault()
	if err != nil {
		return nil, h.internal("the vault of personal data", err)
	}
	value, err := v.RestoreJSON(in.Value)
	if large, ok := errors.AsType[*pii.LimitError](err); ok {
		return nil, &call.Error{Kind: call.KindArgument, Message: large.Error()}
	}
	if err != nil {
		return nil, h.internal("the vault of personal data", err)
	}
	return json.Marshal(map[string]any{"value": value})
}

// show answers output/image.
func (h *Methods) show(_ context.Context, params json.RawMessage) (json.RawMessage, error) {
	var in struct {
		MimeType string `json:"mimeType"`
		Data     []byte `json:"data"`
	}
	if err := read(methodImage, params, &in); err != nil {
		return nil, err
	}
	if !imageType.MatchString(in.MimeType) {
		return nil, badParams(methodImage, "%.50q is not an image type, such as \"image/png\"", in.MimeType)
	}
	if len(in.Data) == 0 {
		return nil, badParams(methodImage, "the image is empty")
	}
	if err := h.Image(in.MimeType, in.Data); err != nil {
		return nil, badParams(methodImage, "%v", err)
	}
	return json.RawMessage("{}"), nil
}

// orWords joins words: a, b or c.
func orWords[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	last := len(out) - 1
	return strings.Join(out[:last], ", ") + " or " + out[last]
}

// Once returns a function that calls open on its first call and returns the same value from then on. After an error it calls open again.
func Once[T any](open func() (T, error)) func() (T, error) {
	var mu sync.Mutex
	var value T
	var done bool
	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if done {
			return value, nil
		}
		v, err := open()
		if err == nil {
			value, done = v, true
		}
		return v, err
	}
}
