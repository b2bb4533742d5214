package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

func open(t testing.TB, s store.Record, opt audit.Options) *audit.Log {
	t.Helper()
	l, err := audit.Open(s, opt)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// call returns the intent and the end of a call.
func call(n int) (intent, end audit.Entry) {
	arguments := json.RawMessage(fmt.Sprintf(`{"title": "Ticket %d <b>", "labels": ["urgent", "später"], "count": %d.50}`, n, n))
	return audit.Entry{Kind: audit.KindCall, Run: "run1", Body: audit.CallStart{Call: n, Tool: "tickets__create", Arguments: arguments, Effect: "allow", Rule: "default"}},
		audit.Entry{Kind: audit.KindCallEnd, Run: "run1", Body: audit.CallEnd{Call: n, Tool: "tickets__create", Outcome: "ok", DurationMS: 1.25, ResultBytes: 120}}
}

func TestLogWritesTree(t *testing.T) {
	m := &memory{}
	synctest.Test(t, func(t *testing.T) { // no end waits so long that it is written alone
		l := open(t, m, audit.Options{Who: audit.Who{User: "ann", Client: "x\u2028<&>\xff"}})
		for n := range 100 {
			intent, end := call(n)
			if n%7 == 0 {
				intent.Who.User = "bob"
			}
			if err := l.Append(t.Context(), intent); err != nil {
				t.Fatal(err)
			}
			l.Later(end)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
	if len(m.rows) != 200 || m.extended != 101 {
		t.Fatalf("%d rows in %d transactions, want 200 in 101: each intent with the end before it", len(m.rows), m.extended)
	}
	checkTree(t, m, 200)
	for i, r := range m.rows {
		v := jsontext.Value(r.Content).Clone()
		if err := v.Canonicalize(); err != nil || string(v) != string(r.Content) {
			t.Fatalf("row %d is %s, %v, want the canonical %s", i, r.Content, err, v)
		}
		row, err := audit.Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		if row.Index != int64(i) || !row.Time.Equal(r.Time) || string(row.Kind) != r.Kind || row.Run != "run1" || row.Who.Client != "x\u2028<&>\uFFFD" || row.Who.Model != "" {
			t.Errorf("row %d = %+v", i, row)
		}
		if want := audit.Text("ann"); i%14 != 0 && row.Who.User != want || i%14 == 0 && row.Who.User != "bob" {
			t.Errorf("row %d is of %s", i, row.Who.User)
		}
		var body struct{ Call int }
		if err := json.Unmarshal(row.Body, &body); err != nil || body.Call != i/2 {
			t.Errorf("row %d has the call %d, want %d", i, body.Call, i/2)
		}
	}
}

// checkTree compares the hashes with those of package tlog.
func checkTree(t *testing.T, m *memory, rows int) {
	t.Helper()
	var hashes []tlog.Hash
	for i, r := range m.rows {
		added, err := tlog.StoredHashes(int64(i), r.Content, tlog.HashReaderFunc(m.read))
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, added...)
	}
	if len(m.rows) != rows || fmt.Sprint(hashes) != fmt.Sprint(m.hashes) {
		t.Errorf("%d rows, want %d; their hashes are not those of package tlog", len(m.rows), rows)
	}
}

func TestLogOfSeveralProcesses(t *testing.T) {
	m := &memory{}
	logs := []*audit.Log{open(t, m, audit.Options{}), open(t, m, audit.Options{}), open(t, m, audit.Options{})}
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			for n := range 20 {
				intent, end := call(i*100 + n)
				if err := logs[i%3].Append(t.Context(), intent); err != nil {
					t.Error(err)
				}
				logs[i%3].Later(end)
			}
		})
	}
	wg.Wait()
	for _, l := range logs {
		if err := l.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	checkTree(t, m, 960)
	place := map[string]int{}
	for i, r := range m.rows {
		var row struct{ Body struct{ Call int } }
		if err := json.Unmarshal(r.Content, &row); err != nil {
			t.Fatal(err)
		}
		place[fmt.Sprint(r.Kind, row.Body.Call)] = i
	}
	for i := range 24 {
		for n := range 20 {
			if intent, end := place[fmt.Sprint("call", i*100+n)], place[fmt.Sprint("call.end", i*100+n)]; end <= intent {
				t.Errorf("call %d ends in row %d, and begins in row %d", i*100+n, end, intent)
			}
		}
	}
}

func TestLaterIsWrittenByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		l := open(t, m, audit.Options{})
		for n := range 3 {
			_, end := call(n)
			l.Later(end)
		}
		if size, _ := m.Size(t.Context()); size != 0 {
			t.Errorf("%d rows at once", size)
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if size, _ := m.Size(t.Context()); size != 3 || m.extended != 1 {
			t.Errorf("%d rows in %d transactions, want 3 in 1", size, m.extended)
		}
		_, end := call(4)
		l.Later(end)
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if len(m.rows) != 4 {
			t.Errorf("%d rows, want 4", len(m.rows))
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l.Later(end)
		if err := l.Append(t.Context(), end); !errors.Is(err, audit.ErrClosed) {
			t.Errorf("Append() after Close() = %v", err)
		}
	})
}

func TestLogFails(t *testing.T) {
	var warned []error
	m := &memory{fail: func() error { return fmt.Errorf("disk: %w", store.ErrFull) }}
	l := open(t, m, audit.Options{Warn: func(err error) { warned = append(warned, err) }})
	intent, end := call(1)
	if err := l.Append(t.Context(), intent); !errors.Is(err, store.ErrFull) {
		t.Errorf("Append() = %v, want ErrFull", err)
	}
	if err := l.Flush(t.Context()); err != nil || warned != nil {
		t.Errorf("Flush() = %v, warned %v: the caller of Append has the error", err, warned)
	}
	l.Later(end)
	if err := l.Flush(t.Context()); !errors.Is(err, store.ErrFull) || len(warned) != 1 || !errors.Is(warned[0], store.ErrFull) {
		t.Errorf("Flush() = %v, warned %v, want ErrFull", err, warned)
	}
	m.fail = nil
	l.Later(audit.Entry{Kind: audit.KindCall, Body: func() {}})
	if err := l.Flush(t.Context()); err == nil || len(warned) != 2 {
		t.Errorf("Flush() = %v after a body that is no JSON", err)
	}
	if err := l.Append(t.Context(), intent); err != nil {
		t.Errorf("Append() = %v, want none when there is room again", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Append(cancelled, intent); !errors.Is(err, context.Canceled) {
		t.Errorf("Append() = %v, want that it was cancelled", err)
	}
	checkTree(t, m, 1)
	m.rows, m.hashes = nil, nil
	if err := l.Append(t.Context(), intent); !errors.Is(err, audit.ErrShorter) {
		t.Errorf("Append() = %v, want ErrShorter", err)
	}
}

// TestErrorsSayOnceWhatFailed checks that the log does not repeat what the store says.
func TestErrorsSayOnceWhatFailed(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, _ := createKey(t, "test")
	l := open(t, s, audit.Options{Key: key})
	intent, _ := call(1)
	if err := errors.Join(l.Append(t.Context(), intent), s.Close()); err != nil {
		t.Fatal(err)
	}
	_, noCode := l.Code(t.Context(), "x")
	for want, err := range map[string]error{"write the record: ": l.Append(t.Context(), intent), "keep the code of a script: ": noCode, "keep the head of the record: ": l.Close()} {
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "record") > 1 {
			t.Errorf("the error is %v, want it to begin with %q once", err, want)
		}
	}
}

func TestNilLog(t *testing.T) {
	var l *audit.Log
	l.Later(audit.Entry{})
	digest, err := l.Code(t.Context(), "x")
	removed, err2 := l.Forget(t.Context(), time.Now())
	if err := errors.Join(err, err2, l.Append(t.Context(), audit.Entry{}), l.Flush(t.Context()), l.Close()); err != nil || digest != "" || removed != 0 {
		t.Errorf("a nil Log: %v", err)
	}
}

func TestBodies(t *testing.T) {
	long := strings.Repeat("\x01ä", 200<<10)
	for name, c := range map[string]struct {
		body any
		want []string // parts of the content
	}{
		"digits":    {json.RawMessage(`{"id": 12345678901234567890, "price": 1.50}`), []string{`"id":12345678901234567890,"price":1.5}`}},
		"twice":     {json.RawMessage(`{"b": 1, "a": 2, "b": 3}`), []string{`{"a":2,"b":1,"b":3}`}},
		"surrogate": {json.RawMessage(`{"a": "\ud800"}`), []string{`{"a":"` + "\uFFFD" + `"}`}},
		"null":      {nil, []string{`{"body":null,`}},
		"text":      {audit.RunEnd{Output: audit.Text(long), Error: "it failed"}, []string{`"error":"it failed"`, `ä\u0001[cut: 1638402 bytes of JSON with the SHA-256 `}},
		"elements":  {audit.RunEnd{Violations: strings.Split(strings.Repeat("violation ", 50000), " ")}, []string{`"violation","[cut: `}},
		"object":    {audit.CallStart{Tool: "put", Arguments: json.RawMessage(`{"text":"` + strings.Repeat("x", MB) + `"}`)}, []string{`"arguments":{"cut":"[cut: 1048587 bytes`, `"tool":"put"`}},
		"many":      {manyMembers(), []string{`{"body":{"cut":"[cut: `}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			if err := open(t, m, audit.Options{}).Append(t.Context(), audit.Entry{Kind: audit.KindCall, Body: c.body}); err != nil {
				t.Fatal(err)
			}
			got := string(m.rows[0].Content)
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("content = %.300s, want a part %s", got, want)
				}
			}
			if len(got) > audit.MaxBody+4096 {
				t.Errorf("the row has %d bytes", len(got))
			}
			row, err := audit.Decode(m.rows[0])
			if err == nil && c.body != nil {
				err = json.Unmarshal(row.Body, &c.body)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// MB is a mebibyte.
const MB = 1 << 20

func manyMembers() map[string]string {
	members := map[string]string{}
	for i := range 40 {
		members[fmt.Sprint(i)] = strings.Repeat("x", 20<<10)
	}
	return members
}

func TestUnknown(t *testing.T) {
	m := &memory{}
	l := open(t, m, audit.Options{})
	run := audit.Entry{Kind: audit.KindRun, Run: "run1", Body: audit.RunStart{}}
	first, firstEnd := call(1)
	second, _ := call(2)
	_, refused := call(3)
	if err := l.Append(t.Context(), run, first, second, firstEnd, refused); err != nil {
		t.Fatal(err)
	}
	unknown := func() (indexes []int64) {
		var rows []audit.Row
		for _, r := range m.rows {
			row, err := audit.Decode(r)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
		found, err := audit.Unknown(rows)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range found {
			indexes = append(indexes, row.Index)
		}
		return indexes
	}
	if got := fmt.Sprint(unknown()); got != "[0 2]" {
		t.Errorf("unknown rows = %s, want [0 2]: the run and its second call", got)
	}
	if err := l.Append(t.Context(), audit.Entry{Kind: audit.KindRunEnd, Run: "run1", Body: audit.RunEnd{}}); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(unknown()); got != "[2]" {
		t.Errorf("unknown rows = %s, want [2]", got)
	}
}

// TestFlushRun: a run is told of its own rows that were lost, however many other runs look.
func TestFlushRun(t *testing.T) {
	m := &memory{fail: func() error { return store.ErrFull }}
	l := open(t, m, audit.Options{})
	end := func(run string) audit.Entry {
		return audit.Entry{Kind: audit.KindRunEnd, Run: run, Body: audit.RunEnd{}}
	}
	l.Later(end("a"))
	l.Later(end("b"))
	if err := l.Append(t.Context(), end("c")); !errors.Is(err, store.ErrFull) {
		t.Errorf("Append() = %v, want ErrFull", err)
	}
	m.fail = nil
	l.Later(end("d"))
	for _, c := range []struct {
		run  string
		lost bool
	}{{"c", false}, {"d", false}, {"a", true}, {"a", false}, {"b", true}} {
		if err := l.FlushRun(t.Context(), c.run); errors.Is(err, store.ErrFull) != c.lost || !c.lost && err != nil {
			t.Errorf("FlushRun(%s) = %v, want lost %v", c.run, err, c.lost)
		}
	}
}

// TestWritten checks that a listener gets each entry once it is durable, in the order of the rows, and none that was not written.
func TestWritten(t *testing.T) {
	m := &memory{}
	var got []string
	log := open(t, m, audit.Options{Who: audit.Who{User: "ann"}, Written: func(e audit.Entry) {
		got = append(got, fmt.Sprint(e.Kind, " ", e.Run, " ", e.Who.User, " ", !e.Time.IsZero(), " ", len(m.rows)))
	}})
	if err := log.Append(t.Context(), audit.Entry{Kind: audit.KindRun, Run: "a", Body: audit.RunStart{}}, audit.Entry{Kind: audit.KindRun, Run: "b", Body: audit.RunStart{}}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"run a ann true 2", "run b ann true 2"}; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("Written got %q, want %q", got, want)
	}
	m.fail = func() error { return store.ErrFull }
	if err := log.Append(t.Context(), audit.Entry{Kind: audit.KindRun, Run: "c", Body: audit.RunStart{}}); err == nil || len(got) != 2 {
		t.Errorf("after an error (%v), Written got %q, want what it got before", err, got)
	}
}

// TestLogOfTwoStores writes from two processes' stores into one file, and signs heads in both.
func TestLogOfTwoStores(t *testing.T) {
	key, verifier := createKey(t, "shop")
	path := filepath.Join(t.TempDir(), "state.db")
	var wg sync.WaitGroup
	stores := make([]*sqlite.Store, 2)
	for i := range stores {
		var err error
		if stores[i], err = sqlite.Open(t.Context(), path, sqlite.Options{}); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for range 5 {
				l := open(t, stores[i], audit.Options{Key: key})
				for n := range 20 {
					intent, end := call(n)
					if err := l.Append(t.Context(), intent); err != nil {
						t.Error(err)
					}
					l.Later(end)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	v, err := audit.Verify(t.Context(), stores[0], audit.VerifyOptions{Keys: []note.Verifier{verifier}})
	if err != nil || v.Finding != nil || v.Rows != 400 || v.Signed != 400 || v.Heads != 10 {
		t.Errorf("Verify() = %+v, %v, want 400 intact rows and 10 heads", v, err)
	}
	if err := errors.Join(stores[0].Close(), stores[1].Close()); err != nil {
		t.Error(err)
	}
}
