package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// way is a transport on which a server can notify and ask, in one era.
type way struct {
	name  string
	start func(t *testing.T) config.Server
}

func ways() []way {
	overHTTP := func(mode upstreamtest.Mode, opts *upstreamtest.HTTPOptions) func(t *testing.T) config.Server {
		return func(t *testing.T) config.Server { return upstreamtest.HTTPServer(t, mode, opts) }
	}
	overPipes := func(mode upstreamtest.Mode) func(t *testing.T) config.Server {
		return func(t *testing.T) config.Server { return upstreamtest.Server(t, mode) }
	}
	return []way{
		{"stdio", overPipes(upstreamtest.Rich)},
		{"stdio legacy", overPipes(upstreamtest.RichLegacy)},
		{"http", overHTTP(upstreamtest.Rich, &upstreamtest.HTTPOptions{EventStream: true})},
		{"http legacy", overHTTP(upstreamtest.RichLegacy, &upstreamtest.HTTPOptions{EventStream: true, Sessions: true})},
		{"http legacy with a stream of its own", overHTTP(upstreamtest.RichLegacy, &upstreamtest.HTTPOptions{EventStream: true, Sessions: true, Standalone: true})},
	}
}

// asking are options with somebody to answer.
func asking() *Options {
	opts := testOptions()
	opts.Elicit = true
	return opts
}

func inEveryWay(t *testing.T, test func(t *testing.T, s *Session)) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, w.start(t), asking()))
		})
	}
}

func TestProgress(t *testing.T) {
	inEveryWay(t, func(t *testing.T, s *Session) {
		var wg sync.WaitGroup
		for n := range 5 { // side by side: each gets its own
			wg.Go(func() {
				steps := n + 2
				var got []Progress
				res, err := s.Call(testContext(t), upstreamtest.ToolProgress, fmt.Appendf(nil, `{"steps":%d}`, steps),
					&CallOptions{Progress: func(p Progress) { got = append(got, p) }})
				if err != nil || res.IsError {
					t.Error(err)
					return
				}
				// Nothing is told after the call has returned, so got needs no lock.
				if len(got) != steps {
					t.Errorf("%d of %d notifications: %v", len(got), steps, got)
				}
				for i, p := range got {
					if want := (Progress{float64(i + 1), float64(steps), fmt.Sprintf("step %d", i+1)}); p != want {
						t.Errorf("%+v, want %+v", p, want)
					}
				}
			})
		}
		wg.Wait()
		// Without a listener there is no token, and the call goes its way.
		mustCall(t, s, upstreamtest.ToolProgress, `{"steps":3}`)
	})
}

func TestFloodOfProgressIsThinnedOut(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.Server(t, upstreamtest.Rich), testOptions())
	told, last := 0, 0.0
	start := time.Now()
	_, err := s.Call(testContext(t), upstreamtest.ToolProgress, json.RawMessage(`{"steps":20000}`), &CallOptions{Progress: func(p Progress) {
		told++
		last = p.Progress
	}})
	if err != nil {
		t.Fatal(err)
	}
	if most := maxProgressWaiting + int(time.Since(start)/progressPause) + 1; told > most || last != 20000 {
		t.Errorf("%d of at most %d notifications, the last %v", told, most, last)
	}
}

func TestQuestions(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer","minimum":1},"who":{"type":"string","default":"me"}},"required":["n"]}`
	inEveryWay(t, func(t *testing.T, s *Session) {
		ask := func(tool, args string, answer ElicitFunc) string {
			t.Helper()
			res, err := s.Call(testContext(t), tool, json.RawMessage(args), &CallOptions{Elicit: answer})
			if err != nil {
				t.Fatal(err)
			}
			return string(res.Structured)
		}
		form := `{"message":"how many?","times":2,"schema":` + schema + `}`
		var mu sync.Mutex
		var seen []*Question
		got := ask(upstreamtest.ToolForm, form, func(_ context.Context, q *Question) (*Reply, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, q)
			return &Reply{Action: ActionAccept, Content: json.RawMessage(`{"n":12345678901234567890}`)}, nil
		})
		const accepted = `{"action":"accept","content":{"n":12345678901234567890,"who":"me"}}`
		if want := `{"answers":[` + accepted + `,` + accepted + `]}`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if len(seen) != 2 || seen[0].Message != "how many?" || seen[0].Server != "fake" || string(seen[0].Schema) != schema || len(seen[0].Fields) != 2 || seen[0].URL != "" {
			t.Errorf("questions %+v", seen)
		}
		got = ask(upstreamtest.ToolForm, `{"schema":`+schema+`}`, func(context.Context, *Question) (*Reply, error) {
			return &Reply{Action: ActionAccept, Content: json.RawMessage(`{"n":1,"note":"a field that the form does not have"}`)}, nil
		})
		if got != `{"answers":[{"action":"accept","content":{"n":1,"who":"me"}}]}` {
			t.Errorf("with an unknown field: %s, want %q", got, `{"answers":[{"action":"accept","content":{"n":1,"who":"me"}}]}`)
		}
		got = ask(upstreamtest.ToolPage, `{"url":"https://example.com/login?a=b"}`, func(_ context.Context, q *Question) (*Reply, error) {
			if q.URL != "https://example.com/login?a=b" || q.Schema != nil || q.Message != "visit" {
				t.Errorf(`question %+v, want URL "https://example.com/login?a=b", Schema nil and Message "visit"`, q)
			}
			return &Reply{Action: ActionAccept, Content: json.RawMessage(`{"not":"sent"}`)}, nil
		})
		if got != `{"answers":[{"action":"accept"}]}` {
			t.Errorf("page: %s, want %q", got, `{"answers":[{"action":"accept"}]}`)
		}
		for name, c := range map[string]struct {
			reply *Reply
			err   error
			want  string
		}{
			"declined":          {&Reply{Action: ActionDecline, Content: json.RawMessage(`{"n":1}`)}, nil, "decline"},
			"cancelled":         {&Reply{Action: ActionCancel}, nil, "cancel"},
			"nothing":           {nil, nil, "cancel"},
			"an error":          {nil, errors.New("no"), "cancel"},
			"an odd action":     {&Reply{Action: `x","content":{}`}, nil, "cancel"},
			"what is unfit":     {&Reply{Action: ActionAccept, Content: json.RawMessage(`{"n":0}`)}, nil, "cancel"},
			"what is no JSON":   {&Reply{Action: ActionAccept, Content: json.RawMessage(`{"n":1},"x":{`)}, nil, "cancel"},
			"without an answer": {&Reply{Action: ActionAccept}, nil, "cancel"},
		} {
			got := ask(upstreamtest.ToolForm, `{"schema":`+schema+`}`, func(context.Context, *Question) (*Reply, error) { return c.reply, c.err })
			if want := `{"answers":[{"action":"` + c.want + `"}]}`; got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	})
}

func TestTooManyQuestions(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.Server(t, upstreamtest.RichLegacy), asking())
	asked := 0
	res, err := s.Call(testContext(t), upstreamtest.ToolPage, json.RawMessage(`{"times":30,"url":"https://example.com"}`),
		&CallOptions{Elicit: func(context.Context, *Question) (*Reply, error) { asked++; return &Reply{Action: ActionAccept}, nil }})
	if err != nil || asked != maxAsked || strings.Count(string(res.Structured), "decline") != 30-maxAsked {
		t.Errorf("asked %d times: %v, %v, want %d, %v and no error", asked, res, err, maxAsked, 30-maxAsked)
	}
	modern := open(t, upstreamtest.Server(t, upstreamtest.Rich), asking())
	_, err = modern.Call(testContext(t), upstreamtest.ToolPage, json.RawMessage(`{"times":30,"url":"https://example.com"}`),
		&CallOptions{Elicit: func(context.Context, *Question) (*Reply, error) { return nil, nil }})
	wantProtocolError(t, err, CodeBadAnswer, "more than 16 inputs")
}

func TestCapabilitiesSayWhoIsThere(t *testing.T) {
	inEveryWay(t, func(t *testing.T, s *Session) {
		got := field[map[string]any](t, mustCall(t, s, upstreamtest.ToolSession, ""), "capabilities")
		if e, _ := got["elicitation"].(map[string]any); len(got) != 2 || got["extensions"] == nil || e["form"] == nil || e["url"] == nil {
			t.Errorf("the client offers %v", got)
		}
	})
}

// TestWhoseQuestionIsIt: a question that comes by itself belongs to the only run that has calls in flight. One that comes
// with the answer to a call belongs to that call, whoever else has calls.
func TestWhoseQuestionIsIt(t *testing.T) {
	t.Parallel()
	byItself := open(t, upstreamtest.Server(t, upstreamtest.RichLegacy), asking())
	inStream := open(t, upstreamtest.HTTPServer(t, upstreamtest.RichLegacy, &upstreamtest.HTTPOptions{EventStream: true, Sessions: true}), asking())
	yes := func(context.Context, *Question) (*Reply, error) { return &Reply{Action: ActionAccept}, nil }
	never := func(context.Context, *Question) (*Reply, error) {
		t.Error("the wrong run was asked")
		return &Reply{Action: ActionAccept}, nil
	}
	for name, c := range map[string]struct {
		other, own any
		want       string
	}{
		"one run":             {"run", "run", "accept"},
		"two runs":            {"other", "run", "decline"},
		"no owners":           {nil, nil, "decline"},
		"one without owner":   {nil, "run", "decline"},
		"the other way round": {"run", nil, "decline"},
	} {
		for _, s := range []*Session{byItself, inStream} {
			want, asked := c.want, ElicitFunc(nil)
			if s == inStream {
				want, asked = "accept", never
			}
			ctx, cancel := context.WithCancel(testContext(t))
			var mu sync.Mutex
			var reasons []string
			declined := func(why string) {
				mu.Lock()
				defer mu.Unlock()
				reasons = append(reasons, why)
			}
			var wg sync.WaitGroup
			wg.Go(func() {
				_, _ = s.Call(ctx, upstreamtest.ToolHang, nil, &CallOptions{Owner: c.other, Elicit: asked, Declined: declined})
			})
			for countInFlight(s) == 0 {
				time.Sleep(time.Millisecond) // bounded by the test's time
			}
			res, err := s.Call(ctx, upstreamtest.ToolPage, json.RawMessage(`{"url":"https://example.com"}`), &CallOptions{Elicit: yes, Owner: c.own, Declined: declined})
			if err != nil || string(res.Structured) != `{"answers":[{"action":"`+want+`"}]}` {
				t.Errorf("%s: %v, %v, want %s", name, res, err, want)
			}
			mu.Lock()
			if warned := len(reasons) == 1 && strings.Contains(reasons[0], "calls of several runs are in progress"); warned != (want == "decline") {
				t.Errorf("%s: the runs are told %q", name, reasons)
			}
			mu.Unlock()
			cancel()
			wg.Wait()
		}
	}
}

// TestQuestionsOfTwoRuns: once a server has asked without saying for which call, each run has a session of its own at it.
// Others share one.
func TestQuestionsOfTwoRuns(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			srv := w.start(t)
			p := testPool(t, asking(), srv)
			const form = `{"message":"who?","schema":{"type":"object","properties":{"who":{"type":"string"}}}}`
			answer := func(who string, before func()) *CallOptions {
				return &CallOptions{Owner: who, Elicit: func(context.Context, *Question) (*Reply, error) {
					before()
					return &Reply{Action: ActionAccept, Content: json.RawMessage(`{"who":"` + who + `"}`)}, nil
				}, Declined: func(why string) { t.Errorf("%s: %s", who, why) }}
			}
			ask := func(who string, before func()) {
				res, err := p.Call(testContext(t), "fake", upstreamtest.ToolForm, json.RawMessage(form), answer(who, before))
				if want := `{"answers":[{"action":"accept","content":{"who":"` + who + `"}}]}`; err != nil || string(res.Structured) != want {
					t.Errorf("%s: %v, %v, want %s", who, res, err, want)
				}
			}
			ask("first", func() {})
			var all sync.WaitGroup // of the runs that are being asked at the same time
			all.Add(3)
			var runs sync.WaitGroup
			for _, who := range []string{"a", "b", "c"} {
				runs.Go(func() {
					ask(who, func() {
						all.Done()
						all.Wait()
					})
				})
			}
			runs.Wait()
			want := 0
			if strings.Contains(w.name, "stdio legacy") || strings.Contains(w.name, "stream of its own") {
				want = 2
			}
			if n := len(p.members["fake"].spares); n != want {
				t.Errorf("%d further sessions, want %d", n, want)
			}
			if s := p.Stats()[0]; s.Calls != 4 || s.InFlight != 0 || s.Restarts != 0 {
				t.Errorf("statistics %+v, want 4 calls", s)
			}
		})
	}
}

// TestRunAgainAfterAnAmbiguousQuestion: the first question that may be for either of two runs is declined, with the advice to
// run it again, which then helps.
func TestRunAgainAfterAnAmbiguousQuestion(t *testing.T) {
	t.Parallel()
	p := testPool(t, asking(), upstreamtest.Server(t, upstreamtest.RichLegacy))
	yes := func(context.Context, *Question) (*Reply, error) { return &Reply{Action: ActionAccept}, nil }
	ctx, cancel := context.WithCancel(testContext(t))
	var other sync.WaitGroup
	other.Go(func() {
		_, _ = p.Call(ctx, "fake", upstreamtest.ToolHang, nil, &CallOptions{Owner: "other", Elicit: yes})
	})
	s, err := p.Connect(ctx, "fake")
	if err != nil {
		t.Fatal(err)
	}
	for countInFlight(s) == 0 {
		time.Sleep(time.Millisecond) // bounded by the test's time
	}
	for _, want := range []string{"decline", "accept"} {
		warned := ""
		res, err := p.Call(ctx, "fake", upstreamtest.ToolPage, json.RawMessage(`{"url":"https://example.com"}`), &CallOptions{
			Owner: want, Elicit: yes, Declined: func(why string) { warned = why },
		})
		if err != nil || string(res.Structured) != `{"answers":[{"action":"`+want+`"}]}` {
			t.Errorf("%v, %v, want %s", res, err, want)
		}
		if strings.Contains(warned, "run it again: from now on each run has a session of its own") != (want == "decline") {
			t.Errorf("%s: the run is told %q", want, warned)
		}
	}
	cancel()
	other.Wait()
}

// TestMoreRunsThanSessions: when no further session is allowed a question is declined, and the runs that it may have been
// for are warned.
func TestMoreRunsThanSessions(t *testing.T) {
	t.Parallel()
	p := testPool(t, asking(), upstreamtest.HTTPServer(t, upstreamtest.RichLegacy, &upstreamtest.HTTPOptions{Sessions: true, Standalone: true}))
	const page = `{"url":"https://example.com"}`
	asked, release := make(chan string), make(chan struct{})
	var mu sync.Mutex
	var warned, reasons []string
	ask := func(who string) string {
		res, err := p.Call(testContext(t), "fake", upstreamtest.ToolPage, json.RawMessage(page), &CallOptions{
			Owner: who, Elicit: func(context.Context, *Question) (*Reply, error) {
				asked <- who
				<-release
				return &Reply{Action: ActionAccept}, nil
			}, Declined: func(why string) {
				mu.Lock()
				defer mu.Unlock()
				warned, reasons = append(warned, who), append(reasons, why)
			},
		})
		if err != nil {
			t.Error(err)
			return ""
		}
		return string(res.Structured)
	}
	p.members["fake"].asksAside = true // as if it had asked before
	var runs sync.WaitGroup
	for i := range maxSpares + 1 {
		runs.Go(func() {
			if got := ask(fmt.Sprint("run ", i)); got != `{"answers":[{"action":"accept"}]}` {
				t.Errorf("run %d: %s, want an answer", i, got)
			}
		})
		<-asked
	}
	if got := ask("one more"); got != `{"answers":[{"action":"decline"}]}` {
		t.Errorf("one more: %s, want no answer", got)
	}
	mu.Lock()
	if slices.Sort(warned); !slices.Equal(warned, []string{"one more", "run 0"}) {
		t.Errorf("warned %q, want the two runs of one session", warned)
	}
	for _, why := range reasons {
		if !strings.Contains(why, "run it again when fewer runs use this server") {
			t.Errorf(`warned with %q, want "run it again when fewer runs use this server" in it`, why)
		}
	}
	mu.Unlock()
	close(release)
	runs.Wait()
}

func countInFlight(s *Session) int {
	s.inflight.mu.Lock()
	defer s.inflight.mu.Unlock()
	return len(s.inflight.requests)
}

func TestCancelledQuestion(t *testing.T) {
	inEveryWay(t, func(t *testing.T, s *Session) {
		ctx, cancel := context.WithCancel(testContext(t))
		defer cancel()
		withdrawn := make(chan struct{})
		_, err := s.Call(ctx, upstreamtest.ToolPage, json.RawMessage(`{"url":"https://example.com"}`), &CallOptions{
			Elicit: func(ctx context.Context, _ *Question) (*Reply, error) {
				cancel()
				<-ctx.Done()
				close(withdrawn)
				return nil, ctx.Err()
			}})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want %v", err, context.Canceled)
		}
		select {
		case <-withdrawn:
		case <-time.After(testTime):
			t.Fatal("the question was never put, or its context never ended")
		}
		mustCall(t, s, upstreamtest.ToolEcho, `{}`)
		if n := countInFlight(s); n != 0 {
			t.Errorf("%d requests are under way, want 0", n)
		}
	})
}

func TestURLElicitation(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, w.start(t), asking())
			asked, waits := 0, 0
			opt := &CallOptions{
				Elicit: func(_ context.Context, q *Question) (*Reply, error) {
					if asked++; q.URL != "https://example.com/login" {
						t.Errorf(`question %+v, want URL "https://example.com/login"`, q)
					}
					return &Reply{Action: ActionAccept}, nil
				},
				Progress: func(Progress) { waits++ },
			}
			res, err := s.Call(testContext(t), upstreamtest.ToolVisit, json.RawMessage(`{}`), opt)
			if err != nil || string(res.Structured) != `{"tries":2}` || asked != 1 || waits != 1 {
				t.Errorf("%v, %v; asked %d times, %d waits, want string(res.Structured) %q, 1, 1 and no error", res, err, asked, waits, `{"tries":2}`)
			}
		})
	}
	t.Run("declined", func(t *testing.T) {
		t.Parallel()
		s := open(t, upstreamtest.Server(t, upstreamtest.Rich), asking())
		for _, opt := range []*CallOptions{nil, {Elicit: func(context.Context, *Question) (*Reply, error) { return &Reply{Action: ActionDecline}, nil }}} {
			_, err := s.Call(testContext(t), upstreamtest.ToolVisit, json.RawMessage(`{"times":9}`), opt)
			wantProtocolError(t, err, codeURLElicitation, "log in first")
		}
	})
}

func TestResources(t *testing.T) {
	inEveryWay(t, func(t *testing.T, s *Session) {
		ctx := testContext(t)
		if got := s.Offers(); got != (Offers{Tools: true, Resources: true, Prompts: true}) {
			t.Errorf("offers %+v", got)
		}
		list, err := s.ListResources(ctx)
		want := []string{`{"uri":"demo://one","name":"one","size":9007199254740993}`, `{"name":"two","uri":"demo://two"}`}
		if err != nil || !slices.Equal(texts(list), want) {
			t.Errorf("resources %s, %v, want %v and no error", list, err, want)
		}
		list, err = s.ListResourceTemplates(ctx)
		if err != nil || !slices.Equal(texts(list), []string{`{"uriTemplate":"demo://{n}","name":"any"}`}) {
			t.Errorf("templates %s, %v", list, err)
		}
		for range 2 { // the SDK must not answer the second from what it kept of the first
			for _, uri := range []string{"demo://one", `demo://"<é>`} {
				got, err := s.ReadResource(ctx, uri, nil)
				encoded, _ := json.Marshal(uri)
				if part := `"contents":[{"uri":` + string(encoded) + `,"text":"a text","_meta":{"n":9007199254740993}}]`; err != nil || !strings.Contains(string(got), part) {
					t.Errorf("%s: %s, %v, want %v in it and no error", uri, got, err, part)
				}
			}
		}
		_, err = s.ReadResource(ctx, "demo://missing", nil)
		wantProtocolError(t, err, -32602, "no such resource")
		_, err = s.ReadResource(ctx, "demo://odd", nil)
		wantProtocolError(t, err, CodeBadAnswer, `"contents" in its result is not a list`)
	})
}

func TestPrompts(t *testing.T) {
	inEveryWay(t, func(t *testing.T, s *Session) {
		ctx := testContext(t)
		list, err := s.ListPrompts(ctx)
		want := []string{`{"name":"greet","description":"Greets.","arguments":[{"name":"who","required":true}]}`}
		if err != nil || !slices.Equal(texts(list), want) {
			t.Errorf("prompts %s, %v, want %v and no error", list, err, want)
		}
		got, err := s.GetPrompt(ctx, "greet", map[string]string{"who": "Ann <é>"}, nil)
		if err != nil || !strings.Contains(string(got), `"messages":[{"role":"user","content":{"type":"text","text":"Hello Ann \u003cé\u003e"}}]`) {
			t.Errorf("prompt %s, %v, want %q in it and no error", got, err, `"messages":[{"role":"user","content":{"type":"text","text":"Hello Ann \u003cé\u003e"}}]`)
		}
		_, err = s.GetPrompt(ctx, "nobody", nil, nil)
		wantProtocolError(t, err, -32602, "no such prompt")
	})
}

func TestWithoutResources(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Session) {
		if got := s.Offers(); got != (Offers{Tools: true}) {
			t.Errorf("offers %+v", got)
		}
		_, err := s.ListResources(testContext(t))
		wantProtocolError(t, err, -32601, "method not found")
		_, err = s.GetPrompt(testContext(t), "x", nil, nil)
		wantProtocolError(t, err, -32601, "method not found")
	})
}

func texts(raws []json.RawMessage) []string {
	var out []string
	for _, raw := range raws {
		out = append(out, string(raw))
	}
	return out
}
