package chain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// tallied is a server that counts its calls and has an identity.
type tallied struct {
	answer answerer
	who    upstream.Identity // with which it is used

	mu    sync.Mutex
	calls int
}

func (s *tallied) Call(ctx context.Context, _, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
	s.mu.Lock()
	s.calls++
	s.mu.Unlock()
	opt.Origin.Identity = s.who
	return s.answer(ctx, tool, args, opt)
}

func (s *tallied) Identity(string) (upstream.Identity, error) { return s.who, nil }

// rising answers each call with another number.
func rising() *tallied {
	n := 0
	return &tallied{who: upstream.Identity{1}, answer: func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
		n++
		return structured(fmt.Sprintf(`{"n":%d}`, n)), nil
	}}
}

// results is a cache that tests can look into.
type results struct {
	*cache.Cache
	store *spy
	now   time.Time
}

func newResults(t *testing.T) *results {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &results{store: &spy{Store: s}, now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	r.Cache = cache.New(r.options())
	return r
}

func (r *results) options() cache.Options {
	return cache.Options{
		State: func(context.Context) (store.Store, error) { return r.store, nil }, Secret: func() ([]byte, error) { return bytes.Repeat([]byte{7}, 32), nil },
		TTL: func(tool string) time.Duration { return map[bool]time.Duration{false: time.Minute}[tool == "crm__off"] }, Now: func() time.Time { return r.now },
	}
}

var vouched = map[string]ServerSettings{"crm": {Trusted: true}}

func TestCache(t *testing.T) {
	r, up := newResults(t), rising()
	w := newTestCalls(t, up, vouched, Settings{Cache: r.Cache}, "")
	wants(t, w.do(t.Context(), "crm__get", `{"id":1}`), `{"n":1}`)
	r.now = r.now.Add(10 * time.Second)
	wants(t, w.do(t.Context(), "crm__get", ` {"id" : 1}`), `{"n":1}`)
	wants(t, w.do(t.Context(), "crm__get", `{"id":2}`), `{"n":2}`)
	wants(t, w.do(t.Context(), "crm__get", `{"id":90071992547409930}`), `{"n":3}`)
	wants(t, w.do(t.Context(), "crm__get", `{"id":90071992547409931}`), `{"n":4}`) // another integer, though not as a double
	sum := w.Finish()
	if rec := sum.Calls[1]; !rec.Cached || rec.AgeMS != 10_000 || rec.Outcome != OutcomeOK || rec.ResultBytes != len(`{"n":1}`) || rec.reached {
		t.Errorf("the record of the cached call is %+v, want that it is cached, is 10 s old, and reached no server", rec)
	}
	if sum.Calls[0].Cached || sum.Cache.Hits != 1 || sum.Cache.Misses != 4 || sum.Cache.Bytes != int64(len(`{"n":1}`)) {
		t.Errorf("Cache = %+v, want a hit of 7 bytes and 4 misses", sum.Cache)
	}
	if uses, err := r.store.CachedUses(t.Context()); err != nil || len(uses) != 1 || uses[0].Hits != 1 || uses[0].Results != 4 || uses[0].Server != "crm" {
		t.Errorf("CachedUses() = %+v, %v, want 4 results and a hit", uses, err)
	}

	// Another process, later.
	again := newTestCalls(t, up, vouched, Settings{Cache: cache.New(r.options())}, "")
	wants(t, again.do(t.Context(), "crm__get", `{"id":1}`), `{"n":1}`)
	r.now = r.now.Add(50 * time.Second)
	wants(t, again.do(t.Context(), "crm__get", `{"id":1}`), `{"n":5}`)
	if up.calls != 5 {
		t.Errorf("the server was called %d times, want 5", up.calls)
	}
}

// TestCacheForms keeps the forms apart in which results can be asked for.
func TestCacheForms(t *testing.T) {
	r, up := newResults(t), rising()
	w := newTestCalls(t, up, vouched, Settings{Cache: r.Cache}, "")
	raw := func() string {
		res, err := w.handler(t.Context(), &call.Request{Tool: "crm__get", Args: json.RawMessage(`{}`), Raw: true})
		if err == nil && !bytes.Equal(res.Raw, res.Value) {
			t.Errorf("the result has Raw %s and Value %s, want the same", res.Raw, res.Value)
		}
		return outcomeOf(res, err)
	}
	for range 2 {
		wants(t, w.do(t.Context(), "crm__get", `{}`), `{"n":1}`)
		wants(t, raw(), `{"structuredContent":{"n":2}}`)
	}
}

// TestCacheKeepsApart has calls that must not be answered by the result of another one.
func TestCacheKeepsApart(t *testing.T) {
	r, up := newResults(t), rising()
	get := func(want string, servers map[string]ServerSettings, set Settings) {
		t.Helper()
		set.Cache = r.Cache
		wants(t, newTestCalls(t, up, servers, set, "").do(t.Context(), "crm__get", `{}`), want)
	}
	get(`{"n":1}`, vouched, Settings{Subject: policy.Subject{Customer: "acme"}})
	get(`{"n":2}`, vouched, Settings{Subject: policy.Subject{Customer: "bolt"}})
	get(`{"n":3}`, vouched, Settings{})
	get(`{"n":1}`, vouched, Settings{Subject: policy.Subject{Customer: "acme"}})
	up.who = upstream.Identity{2} // another server of this name, or other credentials
	get(`{"n":4}`, vouched, Settings{})
	up.who = upstream.Identity{1}
	get(`{"n":3}`, vouched, Settings{})
	get(`{"n":5}`, nil, Settings{})                                                          // only the server says that the tool is read-only; nobody believes it
	get(`{"n":6}`, vouched, Settings{})                                                      // since that call may have changed something
	get(`{"n":6}`, map[string]ServerSettings{"crm": {ReadOnly: []string{"g*"}}}, Settings{}) // a person says it
	get(`{"n":7}`, vouched, Settings{AllowDrift: true})
	get(`{"n":8}`, vouched, Settings{NoCache: true})
	get(`{"n":8}`, vouched, Settings{}) // which that call has refreshed
	get(`{"n":9}`, vouched, Settings{DryRun: true})
	get(`{"n":8}`, vouched, Settings{})

	saved := definitions["get"]
	t.Cleanup(func() { definitions["get"] = saved })
	definitions["get"] = strings.Replace(saved, `"readOnlyHint":true`, `"readOnlyHint":true,"title":"x"`, 1) // after a sync
	get(`{"n":10}`, vouched, Settings{})
	definitions["get"] = strings.Replace(saved, `"readOnlyHint":true`, `"readOnlyHint":true,"destructiveHint":true`, 1)
	get(`{"n":11}`, map[string]ServerSettings{"crm": {ReadOnly: []string{"*"}}}, Settings{Policy: decided(policy.Allow)})
	get(`{"n":12}`, map[string]ServerSettings{"crm": {ReadOnly: []string{"*"}}}, Settings{Policy: decided(policy.Allow)})
}

// TestCacheWrites makes a call that changes something between two that read.
func TestCacheWrites(t *testing.T) {
	r, up := newResults(t), rising()
	w := newTestCalls(t, up, vouched, Settings{Cache: r.Cache}, "")
	for _, c := range []struct{ tool, want string }{
		{"crm__get", `{"n":1}`}, {"crm__get", `{"n":1}`}, {"crm__send", `{"n":2}`}, {"crm__get", `{"n":3}`}, {"crm__get", `{"n":3}`}, {"crm__send", `{"n":4}`}, {"crm__put", `{"n":5}`}, {"crm__put", `{"n":6}`},
	} {
		wants(t, w.do(t.Context(), c.tool, `{}`), c.want)
	}

	// A read that is in progress during a write leaves nothing.
	inside := up.answer
	up.answer = func(ctx context.Context, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
		res, err := inside(ctx, tool, args, opt)
		if tool == "get" {
			w.do(ctx, "crm__send", `{}`)
		}
		return res, err
	}
	wants(t, w.do(t.Context(), "crm__get", `{}`), `{"n":7}`)
	wants(t, w.do(t.Context(), "crm__get", `{}`), `{"n":9}`)
}

// TestCacheOnlyGoodResults has results that are not kept.
func TestCacheOnlyGoodResults(t *testing.T) {
	failed := &upstream.CallResult{IsError: true, Raw: json.RawMessage(`{"isError":true,"content":[]}`)}
	lasting := func(ttl string) *upstream.CallResult {
		res := structured(`{"n":1}`)
		res.Raw = json.RawMessage(`{"ttlMs":` + ttl + `,"structuredContent":{"n":1}}`)
		return res
	}
	for name, c := range map[string]struct {
		answer answerer
		raw    bool
		kept   bool
	}{
		"good": {answer: always(`{"n":1}`), kept: true},
		"an error": {answer: func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
			return nil, &upstream.ProtocolError{Message: "no"}
		}},
		"a failure": {answer: func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
			return failed, nil
		}},
		"a raw failure": {answer: func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
			return failed, nil
		}, raw: true},
		"a misfit":    {answer: always(`{"n":"text"}`)},
		"a large one": {answer: always(`{"n":1,"more":"` + strings.Repeat("x", cache.MaxResult) + `"}`)},
		"of another session": {answer: func(_ context.Context, _ string, _ json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
			opt.Origin.Identity = upstream.Identity{9}
			return structured(`{"n":1}`), nil
		}},
		"not to be kept": {answer: func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
			return lasting("0"), nil
		}},
		"for long": {answer: func(context.Context, string, json.RawMessage, *upstream.CallOptions) (*upstream.CallResult, error) {
			return lasting("3600000"), nil
		}, kept: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, up := newResults(t), &tallied{who: upstream.Identity{1}, answer: c.answer}
			w := newTestCalls(t, up, vouched, Settings{Cache: r.Cache}, "")
			var got [2]string
			for i := range got {
				res, err := w.handler(t.Context(), &call.Request{Tool: "crm__get", Args: json.RawMessage(`{}`), Raw: c.raw})
				got[i] = outcomeOf(res, err)
			}
			if got[0] != got[1] || (up.calls == 1) != c.kept {
				t.Errorf("%d calls reached the server, want that the result is kept: %t; results %.200q", up.calls, c.kept, got)
			}
			r.now = r.now.Add(time.Minute) // a longer time of the server does not count
			w.do(t.Context(), "crm__get", `{}`)
			if before := map[bool]int{true: 1, false: 2}[c.kept]; up.calls != before+1 {
				t.Errorf("%d calls reached the server by the end, want %d", up.calls, before+1)
			}
		})
	}
}

// TestCacheDrift has a server whose definition changes under the lock.
func TestCacheDrift(t *testing.T) {
	live := definitions["get"]
	r, up := newResults(t), &changing{tallied: rising(), live: func() string { return live }}
	w := newTestCalls(t, up, vouched, Settings{Cache: r.Cache}, "")
	wants(t, w.do(t.Context(), "crm__get", `{}`), `{"n":1}`)
	live = strings.Replace(live, `"id":{"type":"integer"}`, `"id":{"type":["integer","string"]}`, 1) // harmless
	wants(t, w.do(t.Context(), "crm__get", `{"id":1}`), `{"n":2}`)
	wants(t, w.do(t.Context(), "crm__get", `{"id":1}`), `{"n":3}`) // nobody has reviewed the tool that gave the result
	wants(t, w.do(t.Context(), "crm__get", `{}`), `{"n":4}`)
	live = strings.Replace(live, `"id":{"type":["integer","string"]}`, `"id":{"type":"boolean"}`, 1)
	wants(t, w.do(t.Context(), "crm__get", `{}`), `denied: drift`)
	live = definitions["get"]
	wants(t, w.do(t.Context(), "crm__get", `{"id":1}`), `{"n":5}`)
	wants(t, w.do(t.Context(), "crm__get", `{}`), `{"n":1}`)
}

type changing struct {
	*tallied
	live func() string
}

func (s *changing) Definition(context.Context, string, string) (json.RawMessage, error) {
	return json.RawMessage(s.live()), nil
}

// TestCacheIsGoverned has a policy that decides about cached results as about others.
func TestCacheIsGoverned(t *testing.T) {
	r, up := newResults(t), rising()
	do := func(effect policy.Effect, approver approve.Approver) string {
		t.Helper()
		w := newTestCalls(t, up, vouched, Settings{Cache: r.Cache, Policy: decided(effect), Approver: approver}, "")
		return w.do(t.Context(), "crm__get", `{}`)
	}
	wants(t, do(policy.Allow, nil), `{"n":1}`)
	wants(t, do(policy.Allow, nil), `{"n":1}`)
	wants(t, do(policy.Deny, nil), `denied: policy: refused`)
	// What a person has approved is sent, and its result is for this call only.
	wants(t, do(policy.Ask, approves{}), `{"n":2}`)
	wants(t, do(policy.Ask, approves{}), `{"n":3}`)
	wants(t, do(policy.Allow, nil), `{"n":1}`)
}

type decided policy.Effect

func (d decided) Decide(context.Context, *policy.Request) policy.Decision {
	return policy.Decision{Effect: policy.Effect(d), Rule: "test"}
}

type approves struct{}

func (approves) Approve(context.Context, *approve.Question) (approve.Answer, error) {
	return approve.Answer{Scope: approve.Once, By: "ann"}, nil
}

// TestCacheReplay replays a run whose calls were cached: the recording has their results.
func TestCacheReplay(t *testing.T) {
	r, up := newResults(t), rising()
	var recording bytes.Buffer
	run := func(set Settings) string {
		t.Helper()
		w := newTestCalls(t, up, vouched, set, "")
		out := w.do(t.Context(), "crm__get", `{}`)
		w.Finish()
		return out
	}
	run(Settings{Cache: r.Cache})
	wants(t, run(Settings{Cache: r.Cache, Record: &recording}), `{"n":1}`)
	r.now = r.now.Add(time.Hour)
	wants(t, run(Settings{Cache: r.Cache, Replay: io.Reader(&recording)}), `{"n":1}`)
	if up.calls != 1 {
		t.Errorf("the server was called %d times, want once", up.calls)
	}
}

// TestCacheForged changes what the database has. Nothing of it answers a call.
func TestCacheForged(t *testing.T) {
	r, up := newResults(t), rising()
	w := newTestCalls(t, up, vouched, Settings{Cache: r.Cache}, "")
	key := func(customer string) *store.CachedResult {
		t.Helper()
		w := newTestCalls(t, up, vouched, Settings{Cache: r.Cache, Subject: policy.Subject{Customer: customer}}, "")
		w.do(t.Context(), "crm__get", `{}`)
		return r.store.last
	}
	own, other := key(""), key("acme")
	n := up.calls
	for name, change := range map[string]func(c *store.CachedResult){
		"another value":      func(c *store.CachedResult) { c.Value = []byte("{}\n{\"n\":99}") },
		"a damaged one":      func(c *store.CachedResult) { c.Value = bytes.Clone(c.Value); c.Value[20] ^= 1 },
		"nothing":            func(c *store.CachedResult) { c.Value = nil },
		"another customer's": func(c *store.CachedResult) { c.Value = other.Value },
		"a longer time":      func(c *store.CachedResult) { c.Expires = c.Expires.Add(time.Hour) },
		"that it is younger": func(c *store.CachedResult) { c.Created = c.Created.Add(time.Second) },
	} {
		forged := *own
		change(&forged)
		_, version, err := r.store.CachedResult(t.Context(), "", "crm", "x", r.now)
		if err == nil {
			err = r.store.SetCachedResult(t.Context(), &forged, version, 1<<20)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := w.do(t.Context(), "crm__get", `{}`)
		if n++; up.calls != n || strings.Contains(got, "99") {
			t.Errorf("%s: the call got %s, and %d reached the server, want that it is sent (%d)", name, got, up.calls, n)
		}
	}
}

// spy is a store that remembers the last result that was kept.
type spy struct {
	store.Store
	last *store.CachedResult
}

func (s *spy) SetCachedResult(ctx context.Context, r *store.CachedResult, version, room int64) error {
	s.last = r
	return s.Store.SetCachedResult(ctx, r, version, room)
}

// TestCacheTogether makes equal calls at the same time. One of them is sent.
func TestCacheTogether(t *testing.T) {
	r := newResults(t)
	release := make(chan struct{})
	up := rising()
	inside := up.answer
	up.answer = func(ctx context.Context, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
		<-release
		if strings.Contains(string(args), "id") {
			return structured(`{"n":0}`), nil
		}
		return inside(ctx, tool, args, opt)
	}
	w := newTestCalls(t, up, vouched, Settings{Cache: r.Cache}, "")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { wants(t, w.do(t.Context(), "crm__get", `{}`), `{"n":1}`) })
	}
	gone, cancel := context.WithCancel(t.Context())
	for _, ctx := range []context.Context{gone, t.Context()} { // a caller that gives up ends no other call
		all.Go(func() {
			res, err := w.handler(ctx, &call.Request{Tool: "crm__get", Args: json.RawMessage(`{"id":1}`)})
			if ctx == gone && err != nil {
				return // otherwise the other one was first, and has ended before
			}
			wants(t, outcomeOf(res, err), `{"n":0}`)
		})
	}
	cancel()
	close(release)
	all.Wait()
	if sum := w.Finish(); sum.Cache.Hits < 19 || up.calls > 3 {
		t.Errorf("%d calls reached the server, %+v, want one, and one or two of the others", up.calls, sum.Cache)
	}
}

// TestCacheWithoutState has a state that cannot be opened. Calls are made without it, and the operator is told once.
func TestCacheWithoutState(t *testing.T) {
	r, up := newResults(t), rising()
	opt := r.options()
	opened := 0
	opt.State = func(context.Context) (store.Store, error) { opened++; return nil, store.ErrUnreachable }
	w := newTestCalls(t, up, vouched, Settings{Cache: cache.New(opt)}, "")
	for i := range 3 {
		wants(t, w.do(t.Context(), "crm__get", `{}`), fmt.Sprintf(`{"n":%d}`, i+1))
	}
	var advice []string
	for _, e := range w.events {
		if e.Kind == EventAdvice {
			advice = append(advice, e.Message)
		}
	}
	if len(advice) != 1 || !strings.HasPrefix(advice[0], "results are not cached: the state cannot be reached") || opened != 1 {
		t.Errorf("advice %q after %d attempts to open the state, want one of each", advice, opened)
	}
}

// shelf is a server with a resource whose content changes with each read.
type shelf struct {
	library
	*tallied
	ttl string // that it says, as JSON
}

func (s *shelf) Call(ctx context.Context, server, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
	return s.tallied.Call(ctx, server, tool, args, opt)
}

func (s *shelf) ReadResource(_ context.Context, _, uri string, opt *upstream.CallOptions) (json.RawMessage, error) {
	s.calls++
	opt.Origin.Identity = s.who
	return fmt.Appendf(nil, `{%s"contents":[{"uri":%q,"text":"%d"}]}`, s.ttl, uri, s.calls), nil
}

// TestCacheResources reads resources, whose servers say how long they may be kept. Nothing else of resources and prompts is kept.
func TestCacheResources(t *testing.T) {
	for name, c := range map[string]struct {
		ttl  string
		want string // after some seconds
		last string // after a minute
	}{
		"by the settings": {"", "1", "2"},
		"for a second":    {`"ttlMs":1000,`, "2", "3"},
		"for an hour":     {`"ttlMs":3600000,"cacheScope":"private",`, "1", "2"},
		"not at all":      {`"ttlMs":0,`, "2", "3"},
		"nonsense":        {`"ttlMs":"never",`, "2", "3"},
	} {
		t.Run(name, func(t *testing.T) {
			r, up := newResults(t), &shelf{tallied: rising(), ttl: c.ttl}
			w := newTestCalls(t, up, nil, Settings{Cache: r.Cache}, "")
			ask := func(method, want string) {
				t.Helper()
				value, err := w.Answerer()(t.Context(), &call.Ask{Method: method, Params: json.RawMessage(`{"server":"crm","uri":"x","name":"p"}`)})
				wants(t, outcomeOf(&call.Result{Value: value}, err), want)
			}
			ask(methodReadResource, `"text":"1"`)
			ask(methodPrompt, `"messages"`)
			ask(methodResources, `"uri":"a"`)
			r.now = r.now.Add(10 * time.Second)
			ask(methodReadResource, `"text":"`+c.want+`"`)
			r.now = r.now.Add(50 * time.Second)
			ask(methodReadResource, `"text":"`+c.last+`"`)
		})
	}
}

// TestCacheTimeout makes a call with a timeout of its own while an equal one is in progress. It does not wait for that.
func TestCacheTimeout(t *testing.T) {
	r, up := newResults(t), rising()
	first, release := make(chan struct{}), make(chan struct{})
	inside := up.answer
	up.answer = func(ctx context.Context, tool string, args json.RawMessage, opt *upstream.CallOptions) (*upstream.CallResult, error) {
		if up.calls == 1 {
			close(first)
			<-release
		}
		return inside(ctx, tool, args, opt)
	}
	w := newTestCalls(t, up, vouched, Settings{Cache: r.Cache}, "")
	var all sync.WaitGroup
	all.Go(func() { wants(t, w.do(t.Context(), "crm__get", `{}`), `{"n":2}`) })
	<-first
	res, err := w.handler(t.Context(), &call.Request{Tool: "crm__get", Args: json.RawMessage(`{}`), Timeout: time.Minute})
	wants(t, outcomeOf(res, err), `{"n":1}`)
	close(release)
	all.Wait()
}
