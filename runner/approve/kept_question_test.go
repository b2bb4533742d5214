package approve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/seal"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
	"github.com/mcpgen/mcpgen/runner/store/storetest/pgtest"
)

// testLease is short, so that a process that was killed is soon known to be dead.
const testLease = 300 * time.Millisecond

func TestMain(m *testing.M) {
	if text := os.Getenv("APPROVE_TEST_CHILD"); text != "" {
		var c child
		err := json.Unmarshal([]byte(text), &c)
		if err == nil {
			err = c.ask()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(pgtest.Main(m))
}

// child is a process that asks on the page. It prints the answer.
type child struct {
	Dir, State, Ring string
	Question         *Question
}

func (c *child) ask() error {
	ctx := context.Background()
	d := NewPageApprover(c.Dir, "p")
	d.lasts = testLease
	d.Kept = NewKept(KeptOptions{
		State:  opener(func() (store.Store, error) { return sqlite.Open(ctx, c.State, sqlite.Options{}) }),
		Secret: func() ([]byte, error) { return []byte("under the key of secret"), nil }, Ring: fileRing(c.Ring),
	})
	a, err := New(time.Minute, d).Approve(ctx, c.Question)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(a)
	}
	return err
}

// opener makes an Opener that opens once.
func opener(open func() (store.Store, error)) store.Opener {
	once := sync.OnceValues(open)
	return func(context.Context) (store.Store, error) { return once() }
}

func (c *child) command(t *testing.T) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "APPROVE_TEST_CHILD="+string(text))
	cmd.Stderr = os.Stderr
	return cmd
}

// answer runs the process to its end.
func (c *child) answer(t *testing.T) (a Answer) {
	t.Helper()
	out, err := c.command(t).Output()
	if err == nil {
		err = json.Unmarshal(out, &a)
	}
	if err != nil {
		t.Fatalf("the process that asks: %v: %s", err, out)
	}
	return a
}

// start starts the process.
func (c *child) start(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := c.command(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// fileRing is a keyring for several processes: a folder.
type fileRing string

func (r fileRing) Get(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(string(r), name))
	return string(text), err
}

func (r fileRing) Set(name, secret string) error {
	return os.WriteFile(filepath.Join(string(r), name), []byte(secret), 0o600)
}

func (r fileRing) Delete(name string) error { return os.Remove(filepath.Join(string(r), name)) }

// approver asks on the page.
func approver(dir string, k *Kept) *PageApprover {
	d := NewPageApprover(dir, "p")
	d.Kept, d.lasts = k, testLease
	return d
}

// deletion is a question about a call.
func deletion(id string) *Question {
	return &Question{
		Run: "run-" + id, Call: 1, Script: "a.ts", Code: "await x();", At: "a.ts:1", Customer: "acme", Server: "crm", Tool: "crm__delete",
		Arguments: json.RawMessage(`{"id":"` + id + `","why":1}`), Risk: risk.High, Rule: "deletes",
	}
}

// desk is a page that a person has opened.
type desk struct {
	t            *testing.T
	base, cookie string
	client       *http.Client
}

func newDesk(t *testing.T, dir string, k *Kept) *desk {
	t.Helper()
	p, c := newPage(t, dir)
	p.opt.Kept = k
	_, _, cookies := send(t, c, "GET", p.URL(), nil)
	return &desk{t: t, base: "http://" + p.opt.Address, cookie: "Cookie: " + cookies[0].Name + "=" + cookies[0].Value, client: c}
}

// orphan waits until the page lists one question, whose process has ended, and returns the page of the question.
func (d *desk) orphan() string {
	d.t.Helper()
	for range 1500 {
		list := links(d.t, d.client, d.base, d.cookie, 1)
		_, text, _ := send(d.t, d.client, "GET", d.base+list[0], nil, d.cookie)
		if strings.Contains(text, "has ended") || strings.Contains(text, "You can still change it") {
			return text
		}
		time.Sleep(20 * time.Millisecond)
	}
	d.t.Fatal("the page never said that the process has ended")
	return ""
}

func (d *desk) answer(text, answer string) {
	d.t.Helper()
	form := url.Values{"form": {hidden(d.t, text, "form")}, "socket": {hidden(d.t, text, "socket")}, "id": {hidden(d.t, text, "id")}, "answer": {answer}}
	if status, text, _ := send(d.t, d.client, "POST", d.base+"/answer", form, d.cookie, "Origin: "+d.base); status != http.StatusSeeOther {
		d.t.Fatalf("%d, want %d: %s", status, http.StatusSeeOther, text)
	}
}

// documents returns the number of questions in the state, and of leases that did not expire.
func documents(t *testing.T, s store.Store) (docs, leases int) {
	t.Helper()
	list, err := s.ListDocuments(t.Context(), "", questionKind)
	if err != nil {
		t.Fatal(err)
	}
	alive, err := live(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return len(list), len(alive)
}

// TestQuestionOutlivesItsProcess: a process is killed while it asks. The page asks on, and the next process that asks the same gets the answer, once.
func TestQuestionOutlivesItsProcess(t *testing.T) {
	for answer, want := range map[string]Scope{"run": Once, "once": Once, "no": Refused, "stop": Refused} {
		t.Run(answer, func(t *testing.T) {
			dir, ringDir, state := shortDir(t), t.TempDir(), filepath.Join(t.TempDir(), "state.db")
			s := openState(t, state)
			k := keptIn(t, s, "secret", fileRing(ringDir))
			d := newDesk(t, dir, k)
			c := child{Dir: dir, State: state, Ring: ringDir, Question: deletion("7")}
			killed := c.start(t)
			links(t, d.client, d.base, d.cookie, 1)
			if err := killed.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			text := d.orphan()
			for _, want := range []string{"The process that asked has ended. Your answer holds for this call when it is made again, once, until ", `id = &#34;7&#34;`, "Customer: acme", "await x();"} {
				if !strings.Contains(text, want) {
					t.Errorf("the page has no %q:\n%s", want, text)
				}
			}
			if strings.Contains(text, "for this run") && strings.Contains(text, `value="run"`) {
				t.Errorf("the page offers an answer for a run that has ended:\n%s", text)
			}
			docs, err := s.ListDocuments(t.Context(), "", questionKind)
			if err != nil || len(docs) != 1 || strings.Contains(string(docs[0].Value), "acme") {
				t.Errorf("the state has %+v, %v, want one sealed document", docs, err)
			}
			d.answer(text, answer)
			if text := d.orphan(); !strings.Contains(text, map[Scope]string{Once: "Allowed at ", Refused: "Refused at "}[want]) {
				t.Errorf("the page does not say what was answered:\n%s", text)
			}

			same := deletion("7")
			same.Run, same.Call, same.At, same.Arguments = "another", 5, "", json.RawMessage(`{ "why": 1, "id": "7" }`)
			c.Question = same
			if got := c.answer(t); got.Scope != want || !strings.HasPrefix(got.By, "page, at 20") {
				t.Errorf("asked again: %+v, want Scope %q, and By to say who and when", got, want)
			}
			if docs, leases := documents(t, s); docs != 0 || leases != 0 {
				t.Errorf("the state has %d questions and %d leases, want none", docs, leases)
			}
			if left, err := os.ReadDir(ringDir); err != nil || len(left) != 0 {
				t.Errorf("the keyring has %v, %v, want nothing", left, err)
			}

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			third := make(chan Answer, 1)
			go func() {
				a, _ := approver(dir, k).Approve(ctx, same)
				third <- a
			}()
			link := links(t, d.client, d.base, d.cookie, 1)[0]
			if strings.Contains(link, "socket=&") || strings.HasSuffix(link, "socket=") {
				t.Errorf("the third time, the page has %s, want a question whose process waits", link)
			}
			cancel()
			if a := <-third; a.Scope != Refused {
				t.Errorf("the third time: %+v, want no answer", a)
			}
		})
	}
}

// leaveBehind makes a question whose process has ended, and returns the name of its document.
func leaveBehind(t *testing.T, k *Kept, q *Question) (name string) {
	t.Helper()
	name, err := k.name("p", q)
	if err == nil {
		_, err = k.attach(t.Context(), name, "gone", &Waiting{Project: "p", Title: q.Title(), Since: time.Now(), Again: q.again()}, time.Hour)
	}
	if err == nil {
		err = k.abandon(t.Context(), "gone")
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// answered returns the kept answer to a question, or nil.
func answered(t *testing.T, k *Kept, q *Question) *Answer {
	t.Helper()
	name, err := k.name("p", q)
	if err != nil {
		t.Fatal(err)
	}
	a, err := k.attach(t.Context(), name, "next", &Waiting{}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if a == nil {
		if err := k.leave(t.Context(), name, "next"); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// TestQuestionEnds: a question that ends as usual leaves nothing. One whose process is ended by a signal is left behind.
func TestQuestionEnds(t *testing.T) {
	stopped := errors.New("the process is stopped")
	for name, c := range map[string]struct {
		end  func(d *desk, cancel context.CancelCauseFunc)
		want int
	}{
		"answered": {end: func(d *desk, _ context.CancelCauseFunc) {
			link := links(d.t, d.client, d.base, d.cookie, 1)[0]
			_, text, _ := send(d.t, d.client, "GET", d.base+link, nil, d.cookie)
			d.answer(text, "once")
		}},
		"cancelled": {end: func(_ *desk, cancel context.CancelCauseFunc) { cancel(nil) }},
		"timeout":   {end: func(_ *desk, cancel context.CancelCauseFunc) { cancel(errNoAnswer) }},
		"stopped":   {end: func(_ *desk, cancel context.CancelCauseFunc) { cancel(stopped) }, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir, s := shortDir(t), newState(t)
			k := keptIn(t, s, "secret", nil)
			d, a := newDesk(t, dir, k), approver(dir, k)
			a.Ends = func(cause error) bool { return cause == stopped }
			waits := make(chan bool, 1)
			a.Waits = func() { waits <- true }
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := a.Approve(ctx, deletion("7"))
				ended <- err
			}()
			<-waits
			if docs, leases := documents(t, s); docs != 1 || leases != 1 {
				t.Errorf("while it waits there are %d questions and %d leases, want 1 and 1", docs, leases)
			}
			c.end(d, cancel)
			<-ended
			if docs, leases := documents(t, s); docs != c.want || leases != 0 {
				t.Errorf("there are %d questions and %d leases, want %d and 0", docs, leases, c.want)
			}
		})
	}
}

// TestSameQuestionTwice: two processes ask the same. The document is there until the last of them ends.
func TestSameQuestionTwice(t *testing.T) {
	s := newState(t)
	k := keptIn(t, s, "secret", nil)
	name, err := k.name("p", deletion("7"))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"first", "second", "first"} {
		if a, err := k.attach(t.Context(), name, id, &Waiting{}, time.Hour); a != nil || err != nil {
			t.Fatalf("attach(%s) = %v, %v", id, a, err)
		}
	}
	if err := k.answer(t.Context(), name, true); !errors.Is(err, errNotKept) {
		t.Errorf("answer() = %v while processes wait, want %v", err, errNotKept)
	}
	for i, id := range []string{"first", "second"} {
		if err := k.leave(t.Context(), name, id); err != nil {
			t.Fatal(err)
		}
		if docs, leases := documents(t, s); docs != 1-i || leases != 1-i {
			t.Errorf("after %s has ended there are %d questions and %d leases, want %d", id, docs, leases, 1-i)
		}
	}
	if list, err := k.questions(t.Context(), "p"); len(list) != 0 || err != nil {
		t.Errorf("questions() = %v, %v, want none", list, err)
	}
	leaveBehind(t, k, deletion("7"))
	for project, want := range map[string]int{"p": 1, "another": 0} {
		if list, err := k.questions(t.Context(), project); len(list) != want || err != nil {
			t.Errorf("questions(%s) = %v, %v, want %d", project, list, err, want)
		}
	}
	if err := errors.Join(k.answer(t.Context(), name, true), k.leave(t.Context(), name, "gone")); err != nil {
		t.Fatal(err)
	}
	if a := answered(t, k, deletion("7")); a == nil {
		t.Error("the answer to a process that was thought dead is lost, want it for the next one")
	}
}

// TestAnswerWhileAsleep: a process slept so long that its lease expired, and its question was answered as one whose process has ended.
func TestAnswerWhileAsleep(t *testing.T) {
	dir, s := shortDir(t), newState(t)
	k := keptIn(t, s, "secret", ring{})
	a := approver(dir, k)
	a.Waits = func() { // the lease cannot be renewed before this returns
		list, err := s.Leases(t.Context(), questionKind)
		if err != nil || len(list) != 1 {
			t.Errorf("Leases() = %v, %v, want one", list, err)
			return
		}
		name, err := k.name("p", deletion("7"))
		if err := errors.Join(err, k.abandon(t.Context(), list[0].Owner), k.answer(t.Context(), name, true)); err != nil {
			t.Error(err)
		}
	}
	if got, err := a.Approve(t.Context(), deletion("7")); err != nil || got.Scope != Once {
		t.Errorf("Approve() = %+v, %v, want the answer", got, err)
	}
	if docs, leases := documents(t, s); docs != 0 || leases != 0 {
		t.Errorf("the state has %d questions and %d leases, want none", docs, leases)
	}
}

// TestAnswerExpires: nobody gets an answer after its end, whether or not the page was looked at.
func TestAnswerExpires(t *testing.T) {
	for _, seen := range []bool{false, true} { // by the page first
		s, ring := newState(t), ring{}
		k := keptIn(t, s, "secret", ring)
		name := leaveBehind(t, k, deletion("7"))
		if err := k.answer(t.Context(), name, true); err != nil {
			t.Fatal(err)
		}
		var q keptQuestion
		_, version, err := k.read(t.Context(), questionKind, name, &q)
		if err != nil {
			t.Fatal(err)
		}
		if left := time.Until(q.Until); left > keepTime || left < keepTime-time.Minute {
			t.Errorf("the answer holds for %v, want %v", left, keepTime)
		}
		q.Until = time.Now()
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		k.vouch(answerEntry(name), string(text))
		if _, err := k.write(t.Context(), questionKind, name, string(text), version); err != nil {
			t.Fatal(err)
		}
		if seen {
			if err := k.answer(t.Context(), name, true); !errors.Is(err, errNotKept) {
				t.Errorf("answer() = %v, want %v", err, errNotKept)
			}
			if list, err := k.questions(t.Context(), "p"); len(list) != 0 || err != nil {
				t.Errorf("questions() = %v, %v, want none", list, err)
			}
		}
		if a := answered(t, k, deletion("7")); a != nil {
			t.Errorf("an answer that has expired was used: %+v", a)
		}
		if docs, _ := documents(t, s); docs != 0 || len(ring) != 0 {
			t.Errorf("there are %d questions, and the keyring has %v, want none", docs, ring)
		}
	}
}

// TestForgedAnswer is what a server does that can write to the state, without the secret and then with it.
func TestForgedAnswer(t *testing.T) {
	for name, forge := range map[string]func(t *testing.T, s store.Store, ring ring, name string) (value []byte){
		"an edited document": func(t *testing.T, s store.Store, _ ring, name string) []byte {
			return flipped(value(t, s, name), 20)
		},
		"the answer to another question": func(t *testing.T, s store.Store, ring ring, _ string) []byte {
			k := keptIn(t, s, "secret", ring)
			other := leaveBehind(t, k, deletion("8"))
			if err := k.answer(t.Context(), other, true); err != nil {
				t.Fatal(err)
			}
			return value(t, s, other)
		},
		"an answer under another secret": func(t *testing.T, s store.Store, ring ring, name string) []byte {
			return forgedAnswer(t, "another secret", name)
		},
		"an answer under the secret, without the keyring": func(t *testing.T, s store.Store, ring ring, name string) []byte {
			return forgedAnswer(t, "secret", name)
		},
		"an answer that was used": func(t *testing.T, s store.Store, ring ring, name string) []byte {
			k := keptIn(t, s, "secret", ring)
			if err := k.answer(t.Context(), name, true); err != nil {
				t.Fatal(err)
			}
			used := value(t, s, name)
			if a := answered(t, k, deletion("7")); a == nil || a.Scope != Once {
				t.Fatalf("the answer: %+v, want it", a)
			}
			return used
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, ring := newState(t), ring{}
			if !strings.Contains(name, "keyring") && !strings.Contains(name, "used") {
				ring = nil // the seal is enough
			}
			k := keptIn(t, s, "secret", ring)
			said := ""
			k.opt.Say = func(line string) { said += line }
			id := leaveBehind(t, k, deletion("7"))
			forged := forge(t, s, ring, id)
			doc, err := s.Document(t.Context(), documentKey(questionKind, id))
			if errors.Is(err, store.ErrNotFound) {
				doc, err = &store.Document{Key: documentKey(questionKind, id)}, nil
			}
			if err == nil {
				doc.Value = forged
				_, err = s.SetDocument(t.Context(), doc)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.questions(t.Context(), "p"); err != nil {
				t.Error(err)
			}
			if a := answered(t, k, deletion("7")); a != nil {
				t.Errorf("%s was used: %+v", name, a)
			}
			if !strings.Contains(said, id[:12]) || !strings.Contains(said, "is ignored") {
				t.Errorf("said %q, want what is ignored", said)
			}
		})
	}
}

// value returns a document of a question as it is stored.
func value(t *testing.T, s store.Store, name string) []byte {
	t.Helper()
	doc, err := s.Document(t.Context(), documentKey(questionKind, name))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Value
}

// forgedAnswer returns a document with an answer.
func forgedAnswer(t *testing.T, secret, name string) []byte {
	t.Helper()
	k := keptIn(t, nil, secret, nil)
	text, err := json.Marshal(keptQuestion{Askers: []string{"x"}, Until: time.Now().Add(time.Hour), Answer: &keptAnswer{Allowed: true, By: "page", At: time.Now()}})
	if err = errors.Join(err, k.keys()); err != nil {
		t.Fatal(err)
	}
	return k.sealer.Seal(text, seal.At(documentKey(questionKind, name)))
}

// TestNameOfQuestion: another question has another name.
func TestNameOfQuestion(t *testing.T) {
	k := keptIn(t, nil, "secret", nil)
	name := func(change func(q *Question)) string {
		t.Helper()
		q := deletion("7")
		change(q)
		got, err := k.name("p", q)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	plan := func(change func(p *Plan)) func(q *Question) {
		return func(q *Question) {
			q.Plan = &Plan{ID: "a", Script: "a.ts", Digest: "d", Lock: "l", Lasts: time.Hour, Calls: []*PlannedCall{{Tool: "put", Most: 1}}}
			change(q.Plan)
		}
	}
	same := name(func(*Question) {})
	if got := name(func(q *Question) { q.Run, q.Call, q.At, q.Reason = "r", 9, "a.ts:5", "3 calls" }); got != same {
		t.Errorf("the same question in another run has the name %s, want %s", got, same)
	}
	if got, err := k.name("another", deletion("7")); err != nil || got == same {
		t.Errorf("name() = %s, %v in another project, want another name", got, err)
	}
	samePlan := name(plan(func(*Plan) {}))
	if got := name(plan(func(p *Plan) { p.ID, p.Until = "b", time.Now() })); got != samePlan {
		t.Errorf("the same plan made again has the name %s, want %s", got, samePlan)
	}
	seen := map[string]string{same: "same", samePlan: "plan"}
	for what, change := range map[string]func(q *Question){
		"code": func(q *Question) { q.Code += " " }, "no code": func(q *Question) { q.Code = "" }, "source": func(q *Question) { q.Source = "x" },
		"customer": func(q *Question) { q.Customer = "" }, "tool": func(q *Question) { q.Tool = "crm__get" }, "rule": func(q *Question) { q.Rule = "" },
		"risk": func(q *Question) { q.Risk = risk.Critical }, "connection": func(q *Question) { q.Connection = "a:443" }, "start": func(q *Question) { q.Start = &Start{} },
		"number": func(q *Question) { q.Arguments = json.RawMessage(`{"id":9007199254740993}`) }, "another number": func(q *Question) { q.Arguments = json.RawMessage(`{"id":9007199254740992}`) },
		"text": func(q *Question) { q.Arguments = json.RawMessage(`{"id":"9007199254740993"}`) }, "no arguments": func(q *Question) { q.Arguments = nil },
		"plan's time": plan(func(p *Plan) { p.Lasts++ }), "plan's lock": plan(func(p *Plan) { p.Lock = "" }), "plan's calls": plan(func(p *Plan) { p.Calls[0].Most = 2 }),
	} {
		got := name(change)
		if other, twice := seen[got]; twice {
			t.Errorf("%s and %s have one name", what, other)
		}
		seen[got] = what
	}
	if got, err := keptIn(t, nil, "another", nil).name("p", deletion("7")); err != nil || got == same {
		t.Errorf("name() = %s, %v under another secret, want another name", got, err)
	}
}

// TestUsedOnce: of several processes with connections of their own, one gets an answer, and one uses a plan.
func TestUsedOnce(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) func() (store.Store, error){
		"SQLite": func(t *testing.T) func() (store.Store, error) {
			path := filepath.Join(t.TempDir(), "state.db")
			return func() (store.Store, error) { return sqlite.Open(t.Context(), path, sqlite.Options{}) }
		},
		"Postgres": func(t *testing.T) func() (store.Store, error) {
			address := pgtest.Database(t)
			return func() (store.Store, error) { return postgres.Open(t.Context(), address) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			const processes = 4
			var all [processes]*Kept
			opens, ring := open(t), fileRing(t.TempDir())
			for i := range all {
				s, err := opens()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = s.Close() })
				all[i] = keptIn(t, s, "secret", ring)
			}
			for round := range 10 {
				q := deletion(fmt.Sprint(round))
				if err := all[0].answer(t.Context(), leaveBehind(t, all[0], q), true); err != nil {
					t.Fatal(err)
				}
				p := save(t, OpenPlans(all[0], ""), Loosen{}, `put {"a":1}`)
				var got, used atomic.Int32
				var group sync.WaitGroup
				for _, k := range all {
					group.Go(func() {
						if answered(t, k, q) != nil {
							got.Add(1)
						}
						plans := OpenPlans(k, "")
						mine, err := plans.Open(t.Context(), p.ID, &Plan{Digest: "d", Lock: "l"})
						if err == nil && decide(plans.Allow(decider(policy.Ask), mine), `put {"a":1}`, policy.Hints{}).Effect == policy.Allow {
							used.Add(1)
						}
					})
				}
				group.Wait()
				if got.Load() != 1 || used.Load() != 1 {
					t.Errorf("round %d: %d processes got the answer, and %d used the plan, want 1 and 1", round, got.Load(), used.Load())
				}
			}
			if left, err := os.ReadDir(string(ring)); err != nil || len(left) != 0 {
				t.Errorf("the keyring has %v, %v, want nothing", left, err)
			}
		})
	}
}
