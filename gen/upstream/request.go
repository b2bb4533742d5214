package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/internal/rawjson"
)

const (
	// maxRounds bounds how often one request may come back with questions before it is given up.
	maxRounds = 10
	// maxRequests bounds the questions of one round.
	maxRequests = 16
	// busyPause is the pause before the next round if a server asks for nothing; it doubles.
	busyPause = 50 * time.Millisecond
)

// request is a call of a tool, or a request for a prompt or a resource: a server may ask questions before it answers.
type request struct {
	// doing says what is being done, such as: call "x".
	doing string
	opt   *CallOptions
	// member names the member of the result that has to be a list; empty if none has to be.
	member string
	// tasks says that the answer may be a task, which is then polled.
	tasks bool
	// task is the id of the task that the request is about; empty for any other request.
	task string
	// send sends the request through the SDK once.
	send func(ctx context.Context, meta mcp.Meta) error
}

// exchange sends a request, answers the questions that the server asks because of it, and returns the result.
func (s *Session) exchange(ctx context.Context, r request) (json.RawMessage, error) {
	up, cancel := s.whileUp(ctx)
	defer cancel()
	active := s.inflight.begin(up, r.opt)
	defer s.inflight.end(active)
	if active.opt.Elicit != nil {
		s.awaitListening(up)
	}
	var set map[string]json.RawMessage // members of the parameters
	wait := &urlWait{}
	for rounds := 0; rounds < maxRounds; rounds++ {
		raw, err := s.round(ctx, up, active, r, set)
		if err != nil {
			if !s.inflight.repeat(up, active, wait, err) {
				return nil, err
			}
			rounds--
			continue
		}
		if r.tasks && s.modern() && isTask(raw) {
			return s.awaitTask(ctx, up, active, r, raw)
		}
		more, err := parseInput(raw, r.member)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.doing, s.errs.badAnswer("%v", err))
		}
		if more == nil {
			return raw, nil
		}
		if len(more.requests) == 0 && !pause(up, busyPause<<min(rounds, 5)) { // the server is busy
			return nil, s.fail(ctx, &capture{sent: true}, r.doing, context.Cause(up))
		}
		if set, err = s.respond(up, active, more); err != nil {
			return nil, fmt.Errorf("%s: %w", r.doing, err)
		}
	}
	return nil, fmt.Errorf("%s: %w", r.doing, s.errs.badAnswer("it asked for input more than %d times", maxRounds))
}

// round sends the request once and returns the raw result. up is ctx that also ends with the session.
func (s *Session) round(ctx, up context.Context, active *activeRequest, r request, set map[string]json.RawMessage) (json.RawMessage, error) {
	c := &capture{set: set}
	c.Name = r.task
	c.Asked = func(req *jsonrpc.Request) {
		if err := s.conn.serverRequest(active, req); err != nil {
			s.conn.lose(err)
		}
	}
	if reserve := active.opt.Reserve; reserve != nil {
		c.Reserve = func(bytes int) error { return reserve(up, bytes) }
	}
	meta := mcp.Meta{}
	if active.progress != nil {
		meta[metaProgressToken] = active.token
	}
	if s.modern() && active.opt.Elicit == nil {
		meta[metaCapabilities] = map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}} // nobody can be asked about this request
	}
	trace := active.opt.Trace
	if trace != nil {
		for name, value := range trace.Meta {
			meta[name] = value
		}
	}
	err := r.send(withCapture(up, c), meta)
	c.release()
	if trace != nil && c.sent && r.task == "" {
		trace.Pipe, trace.Protocol, trace.Session, trace.RequestID = s.process != nil, s.Info().Protocol, s.sdk.ID(), fmt.Sprint(c.ID.Raw())
	}
	// An answer counts even if the session ended at the same time.
	if err != nil && (c.raw == nil || c.Answer != nil || ctx.Err() != nil) {
		return nil, s.fail(ctx, c, r.doing, err)
	}
	if err := c.ReserveFor(len(c.raw)); err != nil {
		return nil, s.fail(ctx, c, r.doing, err)
	}
	if !utf8.Valid(c.raw) {
		return bytes.ToValidUTF8(c.raw, []byte("\uFFFD")), nil
	}
	return c.raw, nil
}

// inputRequired is a result that asks for more before the request goes on.
type inputRequired struct {
	requests map[string]inputRequest // by the server's own id
	state    json.RawMessage         // a string; nil: none
}

type inputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// parseInput reads what a result asks for. It returns nil if the result is complete; then its member has to be a
// list.
func parseInput(raw json.RawMessage, member string) (*inputRequired, error) {
	fields, err := rawjson.Members(raw)
	if err != nil {
		return nil, errors.New("its result is not an object")
	}
	var kind string
	if t := fields["resultType"]; t != nil && json.Unmarshal(t, &kind) != nil {
		return nil, errors.New(`"resultType" in its result is not a string`)
	}
	switch {
	case kind == "input_required" || kind == "" && fields["inputRequests"] != nil:
	case kind != "" && kind != "complete":
		return nil, fmt.Errorf("its result is of the type %q, which this client did not ask for", ident.Printable(kind, 100))
	case member != "" && !bytes.HasPrefix(fields[member], []byte("[")):
		return nil, fmt.Errorf("%q in its result is not a list", member)
	default:
		return nil, nil
	}
	more := &inputRequired{}
	if r := fields["inputRequests"]; r != nil && json.Unmarshal(r, &more.requests) != nil {
		return nil, errors.New(`"inputRequests" in its result is not an object`)
	}
	if len(more.requests) > maxRequests {
		return nil, fmt.Errorf("it asks for more than %d inputs at once", maxRequests)
	}
	if state := fields["requestState"]; state != nil {
		if state[0] != '"' {
			return nil, errors.New(`"requestState" in its result is not a string`)
		}
		more.state = state
	}
	return more, nil
}

// respond asks the questions, all at the same time, and returns the members to send in the next round.
func (s *Session) respond(ctx context.Context, active *activeRequest, more *inputRequired) (map[string]json.RawMessage, error) {
	for _, asked := range more.requests {
		if asked.Method != methodElicit {
			return nil, s.errs.protocol(jsonrpc.CodeMethodNotFound, fmt.Sprintf("it asks the client for %q, which this client does not offer", ident.Printable(asked.Method, 100)), nil)
		}
	}
	responses := make(map[string]json.RawMessage, len(more.requests))
	var mu sync.Mutex
	var asking sync.WaitGroup
	for id, asked := range more.requests {
		asking.Go(func() {
			answer := s.inflight.ask(ctx, active, asked.Params)
			mu.Lock()
			defer mu.Unlock()
			responses[id] = answer
		})
	}
	asking.Wait()
	if ctx.Err() != nil {
		return nil, interrupted(ctx, "wait for a person")
	}
	text, err := json.Marshal(responses)
	if err != nil {
		return nil, err
	}
	set := map[string]json.RawMessage{"inputResponses": text}
	if more.state != nil {
		set["requestState"] = more.state
	}
	return set, nil
}
