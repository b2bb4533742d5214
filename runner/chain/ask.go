package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/script"
)

// Methods that a script may call on the host besides tools.
const (
	methodImport       = "import"
	methodResources    = "resources/list"
	methodTemplates    = "resources/templates"
	methodReadResource = "resources/read"
	methodPrompts      = "prompts/list"
	methodPrompt       = "prompts/get"
	askSeparator       = "__" // between a server's folder and a method
	maxURI             = 64 << 10
	maxPromptArguments = 1000
	codeMethodNotFound = -32601
)

// resourceClient lists and reads the resources and prompts of servers. *upstream.Pool implements it.
type resourceClient interface {
	ListResources(ctx context.Context, server string) ([]json.RawMessage, error)
	ListResourceTemplates(ctx context.Context, server string) ([]json.RawMessage, error)
	ReadResource(ctx context.Context, server, uri string, opt *upstream.CallOptions) (json.RawMessage, error)
	ListPrompts(ctx context.Context, server string) ([]json.RawMessage, error)
	GetPrompt(ctx context.Context, server, name string, args map[string]string, opt *upstream.CallOptions) (json.RawMessage, error)
}

// Answerer returns the function that answers requests which are not tool calls.
func (c *Calls) Answerer() call.Answerer {
	ask := c.asker()
	return func(ctx context.Context, a *call.Ask) (json.RawMessage, error) {
		leave, err := c.enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		switch a.Method {
		case methodImport:
			if c.turns != nil {
				c.turns.take(ctx, a.Seq, a.Method)
			}
			return c.module(ctx, a.Params)
		case methodResources, methodTemplates, methodReadResource, methodPrompts, methodPrompt:
			req, err := c.chain.askRequest(a)
			if err != nil {
				return nil, err
			}
			res, err := ask(ctx, req)
			if err != nil {
				return nil, err
			}
			return res.Value, nil
		}
		if step := c.workflow(a.Method); step != nil {
			return step(ctx, a)
		}
		if own := c.run.Answers[a.Method]; own != nil {
			return c.answerHost(ctx, a, own)
		}
		if own := c.run.Methods[a.Method]; own != nil { // not noted in the journal, which has its call
			c.askedHost.Store(true)
			return own(ctx, a.Params, c.hostFor(a))
		}
		return nil, &call.Error{Kind: call.KindArgument, Message: fmt.Sprintf("unknown method %.100q: this version of mcprun does not support it", a.Method)}
	}
}

// Method answers a request of a script, in whose name it may call tools and ask a person. It takes an object of parameters and returns a JSON
// value.
type Method = func(ctx context.Context, params json.RawMessage, h *Host) (json.RawMessage, error)

// Host is what a [Method] does in the name of a script.
type Host struct {
	// Run is the id of the run.
	Run string
	// Place is the journal of a run that may be continued, and the step of the request: each execution of the run has the same one. Empty: the
	// run has no journal.
	Place string
	// Replay says that calls are answered from a recording.
	Replay bool
	// Call makes a call through all stages of the run. It has the number of the request, so a method makes at most one.
	Call call.Handler
	// Ask asks a person, while the clock of the run is held. Nil: nobody can be asked.
	Ask upstream.ElicitFunc
	// Personal says what is done with personal data in the run; nil: nothing.
	Personal *Personal
}

// hostFor returns what a method does for a request.
func (c *Calls) hostFor(a *call.Ask) *Host {
	handle := c.Handler()
	h := &Host{Run: c.run.ID, Replay: c.player != nil, Personal: c.set.Personal, Call: func(ctx context.Context, req *call.Request) (*call.Result, error) {
		req.Seq, req.At, req.Step = a.Seq, a.At, a.Step
		return handle(ctx, req)
	}}
	if j := c.journalOf(); j != nil {
		h.Place = fmt.Sprintf("%q %q", j.Name(), c.path(a.Step))
	}
	if ask := c.run.Elicit; ask != nil {
		h.Ask = func(ctx context.Context, q *upstream.Question) (*upstream.Reply, error) {
			c.clock.Hold() // a person may take any time
			defer c.clock.Release()
			return ask(ctx, q)
		}
	}
	return h
}

// module bundles a module that the running script imports by a computed path.
func (c *Calls) module(ctx context.Context, params json.RawMessage) (json.RawMessage, error) {
	var in struct{ Specifier, From string }
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, &call.Error{Kind: call.KindArgument, Message: "import: the parameters must be strings"}
	}
	if c.run.Import == nil {
		return nil, &call.Error{Kind: call.KindArgument, Message: fmt.Sprintf("import %.200q: this script cannot import modules at run time", in.Specifier)}
	}
	id, code, err := c.run.Import(ctx, in.Specifier, in.From)
	if err != nil {
		if bad, ok := errors.AsType[*script.Error](err); ok {
			return nil, &call.Error{Kind: call.KindArgument, Message: bad.Error()}
		}
		return nil, err
	}
	return json.Marshal(map[string]string{"id": id, "code": code})
}

// askParams are the parameters of a request for resources or prompts.
type askParams struct {
	Server    string            `json:"server"`
	URI       string            `json:"uri,omitempty"`
	Name      string            `json:"name,omitempty"`
	Arguments map[string]string `json:"arguments,omitempty"`
}

// askRequest converts an Ask into a request for the chain. The server must be in the tree.
func (ch *Chain) askRequest(a *call.Ask) (*request, error) {
	var q askParams
	if err := json.Unmarshal(a.Params, &q); err != nil {
		return nil, &call.Error{Kind: call.KindArgument, Message: a.Method + ": " + wrongParams(a.Params, err)}
	}
	key, dir, err := ch.serverOf(q.Server)
	if err != nil {
		return nil, err
	}
	bad := func(format string, args ...any) error {
		return &call.Error{Kind: call.KindArgument, Server: key, Message: a.Method + ": " + fmt.Sprintf(format, args...)}
	}
	switch {
	case a.Method == methodReadResource && (q.URI == "" || len(q.URI) > maxURI):
		return nil, bad("a resource's uri must be 1 to %d bytes long", maxURI)
	case a.Method == methodPrompt && q.Name == "":
		return nil, bad("the prompt's name is missing")
	case len(q.Arguments) > maxPromptArguments:
		return nil, bad("%d arguments: a prompt takes at most %d", len(q.Arguments), maxPromptArguments)
	}
	q.Server = dir
	args, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	return &request{Request: call.Request{Tool: dir + askSeparator + a.Method, Server: key, Name: a.Method, Args: args, Seq: a.Seq, At: a.At, Step: a.Step}, isAsk: true}, nil
}

// wrongParams says which of the parameters is not a string.
func wrongParams(params json.RawMessage, err error) string {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok || wrong.Field == "" {
		return "the parameters must be an object"
	}
	at, what := wrong.Field, wrong.Value
	var in struct{ Arguments map[string]json.RawMessage }
	if at == "arguments" && json.Unmarshal(params, &in) == nil {
		for _, name := range slices.Sorted(maps.Keys(in.Arguments)) {
			if text := in.Arguments[name]; text[0] != '"' && string(text) != "null" {
				at, what = fmt.Sprintf("%s.%.100s", at, name), string(text[:min(len(text), 100)])
				break
			}
		}
	}
	return fmt.Sprintf("%s is %s; it must be a string", at, what)
}

// serverOf finds a server of the tree by its folder or its configured name.
func (ch *Chain) serverOf(name string) (key, dir string, err error) {
	var dirs []string
	for _, s := range ch.catalog.Servers {
		if s.Dir == name {
			return s.Key, s.Dir, nil
		}
		dirs = append(dirs, s.Dir)
	}
	if s, ok := ch.catalog.Server(name); ok {
		return s.Key, s.Dir, nil
	}
	message := fmt.Sprintf("no server %.100q in the tree", name)
	if near := ident.Nearest(name, dirs, maxNear); len(near) > 0 {
		message += "; did you mean " + orList(near) + "?"
	} else if len(dirs) > 0 {
		message += "; the servers are: " + ident.List(dirs)
	}
	return "", "", &call.Error{Kind: call.KindArgument, Message: message}
}

// askUpstream sends the request to the server and returns its answer.
func (ch *Chain) askUpstream(ctx context.Context, req *request) (*call.Result, error) {
	up, ok := ch.upstreams.(resourceClient)
	if !ok {
		return nil, noServers(req)
	}
	var q askParams
	if err := json.Unmarshal(req.Args, &q); err != nil {
		return nil, err
	}
	var value json.RawMessage
	var err error
	opt := req.options
	switch req.Name {
	case methodResources:
		value, err = joinNonEmpty(up.ListResources(ctx, req.Server))
	case methodTemplates:
		value, err = joinNonEmpty(up.ListResourceTemplates(ctx, req.Server))
	case methodPrompts:
		value, err = joinNonEmpty(up.ListPrompts(ctx, req.Server))
	case methodReadResource:
		value, err = up.ReadResource(ctx, req.Server, q.URI, opt)
	case methodPrompt:
		value, err = up.GetPrompt(ctx, req.Server, q.Name, q.Arguments, opt)
	}
	req.recordAttempt(ctx, err)
	if err == nil {
		return &call.Result{Value: value, Raw: value}, nil
	}
	failed := callError(ctx, req, err)
	if failed.Kind == call.KindProtocol && failed.Code == codeMethodNotFound {
		what, _, _ := strings.Cut(req.Name, "/")
		failed.Message = fmt.Sprintf("the server has no %s: %s", what, failed.Message)
	}
	return nil, failed
}

// joinNonEmpty returns values as a JSON array, without empty ones.
func joinNonEmpty(values []json.RawMessage, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	return joined(slices.DeleteFunc(slices.Clone(values), func(v json.RawMessage) bool { return len(v) == 0 }))
}
