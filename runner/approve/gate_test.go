package approve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner/pii"
)

// person answers questions by a function.
type person func(ctx context.Context, q *Question) (Answer, error)

func (p person) Approve(ctx context.Context, q *Question) (Answer, error) { return p(ctx, q) }

// silent never answers.
var silent = person(func(ctx context.Context, _ *Question) (Answer, error) {
	<-ctx.Done()
	return Answer{}, ctx.Err()
})

func ofRun(tool string, n int) *Question {
	return &Question{Run: "r1", Call: n, Server: "crm", Tool: tool, Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n)), Rule: "rule"}
}

func TestScopes(t *testing.T) {
	for _, c := range []struct {
		scope Scope
		run   string
		want  string // the answers to: three calls at once, a later one, one of another tool
		asked int
	}{
		{Once, "r1", "once once once once once", 5},
		{Run, "r1", "run run run run run", 2},
		{Batch, "r1", "batch batch batch batch batch", 3},
		{Refused, "r1", "    ", 5},
		{RefusedBatch, "r1", "    ", 3},
		{RefusedRun, "r1", "    ", 1},
		{RefusedRun, "", "    ", 5},
		{"always", "r1", "    ", 5},
		{Run, "", "once once once once once", 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			turn := make(chan struct{}, 1)
			g := New(0, person(func(ctx context.Context, q *Question) (Answer, error) {
				turn <- struct{}{}
				defer time.AfterFunc(time.Millisecond, func() { <-turn }) // when the answer has its effect
				if ctx.Err() != nil {
					return Answer{}, ctx.Err()
				}
				asked++
				if n := len(q.Others()); q.Run == "" && n > 0 || q.Run != "" && asked == 1 && n != 2 {
					t.Errorf("%s: %d others are shown", c.scope, n)
				}
				return Answer{Scope: c.scope, By: "ann"}, nil
			}))
			got := make([]string, 5)
			ask := func(i int, tool string) {
				q := ofRun(tool, i)
				q.Run = c.run
				a, err := g.Approve(t.Context(), q)
				if err != nil || !strings.HasPrefix(a.By, "ann") {
					t.Errorf(`%s: call %d: %+v, %v, want "ann" at its start and no error`, c.scope, i, a, err)
				}
				got[i] = string(a.Scope)
			}
			var all sync.WaitGroup
			for i := range 3 {
				all.Go(func() { ask(i, "delete") })
			}
			all.Wait()
			ask(3, "delete")
			ask(4, "send")
			if text := strings.Join(got, " "); text != c.want || asked != c.asked {
				t.Errorf("%q in run %q: answers %q after %d questions, want %q after %d", c.scope, c.run, text, asked, c.want, c.asked)
			}
		})
	}
}

// TestRunIsForTheShape: a yes for the run holds for the names of arguments that a person saw.
func TestRunIsForTheShape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		g := New(0, person(func(_ context.Context, q *Question) (Answer, error) {
			if asked++; asked > 1 {
				return Answer{By: "ann"}, nil
			}
			v, err := q.View(MaxTerminal)
			if want := "This run: calls of crm__send with any values of body, cc[], cc[].name, to"; err != nil || v.Lines[len(v.Lines)-1] != want {
				t.Errorf("the last line is %q, %v; want %q", v.Lines[len(v.Lines)-1], err, want)
			}
			return Answer{Scope: Run, By: "ann"}, nil
		}))
		for _, c := range []struct {
			args  string
			scope Scope
		}{
			{`{"to":"a","body":"x","cc":[{"name":"b"}]}`, Run},
			{`{"cc":[{"name":"c"},{"name":"d"}],"body":"y","to":"e"}`, Run},
			{`{"to":"a","body":"x","cc":[{"name":"b"}],"bcc":"f"}`, Refused},
			{`{"to":"a","body":"x","cc":[{"name":"b","all":true}]}`, Refused},
			{`{"to":["a","b"],"body":"x","cc":[{"name":"b"}]}`, Refused},
		} {
			q := ofRun("crm__send", 1)
			q.Arguments = json.RawMessage(c.args)
			if a, err := g.Approve(t.Context(), q); err != nil || a.Scope != c.scope {
				t.Errorf("%s: %+v, %v; want %q", c.args, a, err, c.scope)
			}
		}
		if asked != 4 {
			t.Errorf("%d questions, want 4", asked)
		}
	})
}

// TestConnections: an approval of a connection is for one host and port, and is asked for in these words.
func TestConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		g := New(0, person(func(_ context.Context, q *Question) (Answer, error) {
			view, err := q.View(MaxTerminal)
			if err != nil || !slices.Equal(view.Scopes, []Scope{Run, RefusedRun}) || !slices.Contains(view.Lines, "This run: connections to "+q.Connection) {
				t.Errorf("the question is shown as %+v, %v", view, err)
			}
			asked = append(asked, q.Title())
			return Answer{Scope: Run, By: "ann"}, nil
		}))
		for _, to := range []string{"api.example.com:443", "api.example.com:443", "api.example.com:80", "www.example.com:443"} {
			q := &Question{Run: "run-1", Script: "a.ts", Tool: Network, Connection: to, Rule: "network.default: ask"}
			if a, err := g.Approve(t.Context(), q); err != nil || a.Scope != Run {
				t.Errorf("%s: %+v, %v; want run", to, a, err)
			}
		}
		if want := "a.ts wants to connect to api.example.com:443,a.ts wants to connect to api.example.com:80,a.ts wants to connect to www.example.com:443"; strings.Join(asked, ",") != want {
			t.Errorf("asked %q, want %q", asked, want)
		}
	})
}

// TestNoForTheRun refuses a script that tries again and again after one question, and other rules still ask.
func TestNoForTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		g := New(0, person(func(context.Context, *Question) (Answer, error) {
			asked++
			return Answer{Scope: RefusedRun, By: "ann", Reason: "not this week"}, nil
		}))
		for i := range 300 {
			a, err := g.Approve(t.Context(), ofRun("delete", i))
			if want := "refused for the rest of this run by ann; do not make such calls again: not this week"; err != nil || a.Scope != Refused || a.Reason != want {
				t.Fatalf("call %d: %+v, %v; want the reason %q", i, a, err, want)
			}
		}
		other := ofRun("delete", 1)
		other.Rule = "another"
		if _, err := g.Approve(t.Context(), other); err != nil || asked != 2 {
			t.Errorf("%d questions, %v; want 2", asked, err)
		}
	})
}

// TestThreeRecipients: who sees the question itself sees the real values; a client's form has a token for each, in lines of code too.
func TestThreeRecipients(t *testing.T) {
	tokens := pii.New()
	var forms []string
	form := Elicit(func(_ context.Context, q *upstream.Question) (*upstream.Reply, error) {
		forms = append(forms, q.Message)
		return &upstream.Reply{Action: upstream.ActionDecline}, nil
	}, "user")
	for i, to := range []string{"ann@example.com", "bob@example.com", "ann@example.com", "eve@example.org"} {
		q := &Question{
			Run: "r", Tool: "mail__send", Server: "mail", Script: "a.ts", Code: "const to = '" + to + "';\nsend(to)", At: "a.ts:2", Tokens: tokens,
			Arguments: json.RawMessage(`{"to":"` + to + `"}`), others: func() []*Question {
				return []*Question{{Tool: "mail__send", Arguments: json.RawMessage(`{"to":"zoe@example.com"}`)}}
			},
		}
		if v, err := q.View(MaxTerminal); err != nil || strings.Count(strings.Join(v.Lines, "\n"), to) != 2 || !strings.Contains(strings.Join(v.Others, "\n"), "zoe@example.com") {
			t.Errorf(`shown: %+v, %v, want 2, "zoe@example.com" in it and no error`, v, err)
		}
		if _, err := form.Approve(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		token := []string{"[EMAIL_1]", "[EMAIL_3]", "[EMAIL_1]", "[EMAIL_4]"}[i]
		if text := forms[i]; strings.Contains(text, "@example") || strings.Count(text, token) != 2 || strings.Count(text, "[EMAIL_2]") != 1 {
			t.Errorf("%s: want %s twice and [EMAIL_2] once, got:\n%s", to, token, text)
		}
	}
}

// TestCodeOfOtherFiles shows the lines of a helper file or skill, and none that the sandbox made up.
func TestCodeOfOtherFiles(t *testing.T) {
	q := ofRun("delete", 1)
	q.Script, q.Code, q.At, q.Source = "a.ts", "import './lib/all.ts';", "lib/all.ts:2", "one\ntwo\nthree"
	if all := strings.Join(q.lines(), "\n"); !strings.Contains(all, "Line 2 of lib/all.ts makes the call:\n     1  one\n>    2  two\n     3  three") {
		t.Errorf("%s, want %q in it", all, "Line 2 of lib/all.ts makes the call:\n     1  one\n>    2  two\n     3  three")
	}
	for _, at := range []string{"lib/all.ts:4", "lib/all.ts:0", "lib/all.ts", "a.ts:9", ":"} {
		if q.At = at; len(q.caller()) > 0 {
			t.Errorf("%s: %q", at, q.caller())
		}
	}
}

// TestBatchIsWhatWasShown lets a call arrive after a person saw the batch: it is asked about.
func TestBatchIsWhatWasShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Approver
		var late sync.WaitGroup
		asked := 0
		g = New(0, person(func(ctx context.Context, q *Question) (Answer, error) {
			if asked++; asked > 1 {
				return Answer{}, nil
			}
			q.Others()
			late.Go(func() {
				if a, err := g.Approve(t.Context(), ofRun("delete", 2)); err != nil || a.Scope != Refused {
					t.Errorf("the late call got %+v, %v, want Scope %v and no error", a, err, Refused)
				}
			})
			time.Sleep(time.Second)
			return Answer{Scope: Batch}, nil
		}))
		if a, err := g.Approve(t.Context(), ofRun("delete", 1)); err != nil || a.Scope != Batch {
			t.Errorf("%+v, %v, want Scope %v and no error", a, err, Batch)
		}
		late.Wait()
		if asked != 2 {
			t.Errorf("%d questions, want 2", asked)
		}
	})
}

func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		a, err := New(time.Minute, silent).Approve(t.Context(), ofRun("delete", 1))
		if err != nil || a.Scope != Refused || a.Reason != "nobody answered within 1m0s" || time.Since(start) != time.Minute {
			t.Errorf(`%+v, %v after %v, want Scope %v, Reason "nobody answered within 1m0s", %v and no error`, a, err, time.Since(start), Refused, time.Minute)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if a, err := New(time.Minute, silent).Approve(ctx, ofRun("delete", 1)); !errors.Is(err, context.DeadlineExceeded) || a.Scope != Refused {
			t.Errorf("a run that ended: %+v, %v, want %v and Scope %v", a, err, context.DeadlineExceeded, Refused)
		}
	})
}

// TestTimeWhileAnswering gives each of ten questions, which are asked one after the other, its own time.
func TestTimeWhileAnswering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := make(chan struct{}, 1)
		g := New(time.Minute, person(func(ctx context.Context, q *Question) (Answer, error) {
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
			case <-ctx.Done():
				return Answer{}, ctx.Err()
			}
			time.Sleep(40 * time.Second)
			return Answer{Scope: Once}, nil
		}))
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				if a, err := g.Approve(t.Context(), ofRun("delete", i)); err != nil || a.Scope != Once {
					t.Errorf("call %d: %+v, %v, want Scope %v and no error", i, a, err, Once)
				}
			})
		}
		all.Wait()
	})
}

func TestNextWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := person(func(context.Context, *Question) (Answer, error) { return Answer{Scope: Once}, ErrNobody })
		yes := person(func(context.Context, *Question) (Answer, error) { return Answer{Scope: Once}, nil })
		no := person(func(context.Context, *Question) (Answer, error) { return Answer{}, nil })
		if a, err := New(0, broken, yes).Approve(t.Context(), ofRun("x", 1)); err != nil || a.Scope != Once {
			t.Errorf("after one that cannot ask: %+v, %v, want Scope %v and no error", a, err, Once)
		}
		if a, err := New(0, no, yes).Approve(t.Context(), ofRun("x", 1)); err != nil || a.Scope != Refused {
			t.Errorf("after a no: %+v, %v, want Scope %v and no error", a, err, Refused)
		}
		if a, err := New(0, broken).Approve(t.Context(), ofRun("x", 1)); !errors.Is(err, ErrNobody) || a.Scope != Refused {
			t.Errorf("with nobody: %+v, %v, want %v and Scope %v", a, err, ErrNobody, Refused)
		}
		if New(0) != nil {
			t.Error("without a way to ask there is an approver")
		}
	})
}

func TestElicit(t *testing.T) {
	for content, want := range map[string]Scope{`{"answer":"once"}`: Once, `{"answer":"run"}`: Run, `{"answer":"no"}`: Refused, `{"answer":"batch"}`: Refused, `{}`: Refused, `[`: Refused} {
		e := Elicit(func(_ context.Context, q *upstream.Question) (*upstream.Reply, error) {
			if q.Server != "mcprun" || !strings.HasPrefix(q.Message, "delete needs your approval\nCall: delete on server crm\n  n = 1\n") || !strings.Contains(string(q.Schema), `"enum":["no","once","run","stop"]`) {
				t.Errorf("question %+v, schema %s", q, q.Schema)
			}
			return &upstream.Reply{Action: upstream.ActionAccept, Content: json.RawMessage(content)}, nil
		}, "user")
		if a, err := e.Approve(t.Context(), ofRun("delete", 1)); err != nil || a.Scope != want || a.By != "user" {
			t.Errorf(`%s: %+v, %v, want Scope %v, By "user" and no error`, content, a, err, want)
		}
	}
	for _, action := range []string{upstream.ActionDecline, upstream.ActionCancel, "approve"} {
		e := Elicit(func(context.Context, *upstream.Question) (*upstream.Reply, error) {
			return &upstream.Reply{Action: action, Content: json.RawMessage(`{"answer":"once"}`)}, nil
		}, "user")
		if a, err := e.Approve(t.Context(), ofRun("delete", 1)); err != nil || a.Scope != Refused {
			t.Errorf("%s: %+v, %v, want Scope %v and no error", action, a, err, Refused)
		}
	}
}

// TestLines forges lines and hides text in all that is foreign.
func TestLines(t *testing.T) {
	evil := "a\nRisk: low\r\x1b[2J\u202eb\u200b\U000e0041\u2028c"
	text, err := json.Marshal(evil)
	if err != nil {
		t.Fatal(err)
	}
	q := &Question{
		Run: evil, Script: evil, Code: "one\n" + evil, At: evil + ":2", Customer: evil, Server: evil, Tool: evil, Rule: evil, Reason: evil,
		Arguments: json.RawMessage(`{` + string(text) + `:` + string(text) + `,"raw\u202e":"` + "\u202e" + `","long":"` + strings.Repeat("x", 5000) + `","to":"last"}`),
	}
	lines := append(q.lines(), q.Title())
	for _, line := range lines {
		if visible(line) != line {
			t.Errorf("%q", line)
		}
	}
	all := strings.Join(lines, "\n")
	for want, n := range map[string]int{"\nRisk: ": 1, "\nCall: ": 0, `"to" = `: 0, "\n  to = \"last\"": 1, strings.Repeat("x", 5000): 1, "\nLine 2 makes the call:\n     1  one\n>    2  a\n": 1} {
		if got := strings.Count(all, want); got != n {
			t.Errorf("%q is there %d times, want %d:\n%s", want, got, n, all)
		}
	}
}

// TestArgumentsAreShownWhole hides a part of an argument among what does not matter, where a cut would be.
func TestArgumentsAreShownWhole(t *testing.T) {
	filler := "/* " + strings.Repeat("x", 3000) + " */"
	with := func(args string) *Question {
		q := ofRun("query", 1)
		q.Arguments = json.RawMessage(args)
		return q
	}
	many := `{"a":1`
	for i := range 60 {
		many += fmt.Sprintf(`,"n%d":0`, i)
	}
	for name, args := range map[string]string{"a long one": `{"sql":"` + filler + `OR 1=1` + filler + `"}`, "many": many + `,"where":"OR 1=1"}`, "a long name": `{"` + filler + `OR 1=1` + filler + `":0}`, "no object": `["` + filler + `OR 1=1` + filler + `"]`} {
		q := with(args)
		other := ofRun("query", 2)
		q.others = func() []*Question { return []*Question{with(args)} }
		for _, most := range []int{MaxTerminal, maxPage} {
			v, err := q.View(most)
			if err != nil || !strings.Contains(strings.Join(v.Lines, "\n"), "OR 1=1") || !strings.Contains(strings.Join(v.Others, "\n"), "OR 1=1") || len(v.Scopes) != 5 {
				t.Errorf(`%s, at most %d characters: %+v, %v, want "OR 1=1" in it, "OR 1=1" in it, len(v.Scopes) 5 and no error`, name, most, v, err)
			}
		}
		p := &Plan{Calls: []*PlannedCall{{Tool: "query", Most: 1, Shown: []json.RawMessage{other.Arguments, q.Arguments}}}}
		if v, err := (&Question{Plan: p}).View(MaxTerminal); err != nil || !strings.Contains(strings.Join(v.Lines, "\n"), "OR 1=1") {
			t.Errorf(`a plan with %s: %+v, %v, want "OR 1=1" in it and no error`, name, v, err)
		}
	}
}

// TestTooLongToShow: what has no room is not asked there, and the next way is.
func TestTooLongToShow(t *testing.T) {
	long := ofRun("query", 1)
	long.Arguments = json.RawMessage(`{"sql":"` + strings.Repeat("é", maxForm) + `"}`)
	form := Elicit(func(context.Context, *upstream.Question) (*upstream.Reply, error) {
		return &upstream.Reply{Action: upstream.ActionAccept, Content: json.RawMessage(`{"answer":"once"}`)}, nil
	}, "user")
	a, err := New(0, form).Approve(t.Context(), long)
	if a.Scope != Refused || err == nil || !strings.Contains(err.Error(), "too long to show here") || !strings.Contains(err.Error(), "--approve page") {
		t.Errorf(`%+v, %v, want Scope %v, an error, "too long to show here" in it and "--approve page" in it`, a, err, Refused)
	}
	last := WhenTooLong(person(func(context.Context, *Question) (Answer, error) { return Answer{Scope: Once, By: "last"}, nil }))
	if a, err := New(0, form, last).Approve(t.Context(), long); err != nil || a.By != "last" {
		t.Errorf(`where only that way has room: %+v, %v, want By "last" and no error`, a, err)
	}
	broken := person(func(context.Context, *Question) (Answer, error) { return Answer{}, ErrNobody })
	if a, err := New(0, broken, last).Approve(t.Context(), long); !errors.Is(err, ErrNobody) {
		t.Errorf("where nobody can be asked: %+v, %v, want %v", a, err, ErrNobody)
	}
	next := person(func(context.Context, *Question) (Answer, error) { return Answer{Scope: Once, By: "next"}, nil })
	if a, err := New(0, form, next).Approve(t.Context(), long); err != nil || a.By != "next" {
		t.Errorf(`%+v, %v, want By "next" and no error`, a, err)
	}
	if _, err := long.View(MaxTerminal); err != nil {
		t.Error(err)
	}
	// The call has room, and those that wait too have not: they are not on offer.
	short := ofRun("query", 1)
	short.others = func() []*Question { return []*Question{long} }
	if v, err := short.View(maxForm); err != nil || len(v.Others) != 1 || strings.Contains(fmt.Sprint(v.Scopes), string(Batch)) {
		t.Errorf("%+v, %v, want len(v.Others) 1, no %q in it and no error", v, err, string(Batch))
	}
}
