package term

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

func ptr[T any](v T) *T { return &v }

func order() *upstream.Question {
	return &upstream.Question{Server: "shop", Message: "Where to?\nAnd\x1b[2J how many", Schema: json.RawMessage(`{}`), Fields: []upstream.Field{
		{Name: "city", Title: "City", Kind: upstream.FieldText, Required: true, MinLength: ptr(2), Description: "of the delivery"},
		{Name: "count", Kind: upstream.FieldInteger, Default: json.RawMessage("1"), Minimum: ptr(1.0), Maximum: ptr(9.0)},
		{Name: "gift", Kind: upstream.FieldBoolean},
		{Name: "speed", Kind: upstream.FieldChoice, Required: true, Choices: []upstream.Choice{{Value: "s", Title: "Slow"}, {Value: "f", Title: "Fast"}}},
		{Name: "extras", Kind: upstream.FieldChoices, Choices: []upstream.Choice{{Value: "wrap"}, {Value: "card"}, {Value: "2"}}, MaxItems: ptr(2)},
	}}
}

// converse types lines at a dialogue, and returns the reply and what was on the screen.
func converse(t *testing.T, q *upstream.Question, browser bool, lines ...string) (reply *upstream.Reply, shown string, opened []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		keys := make(terminal)
		var out bytes.Buffer
		app := &cli.App{Stdout: &out, Stderr: &out}
		app.Terminal.Shared = true
		e := &Elicitor{turn: make(chan struct{}, 1), app: app, con: NewConsole(app), in: cli.NewInput(keys), open: func(_ context.Context, address string) bool {
			opened = append(opened, address)
			return browser
		}}
		go func() {
			defer close(keys)
			for _, line := range lines {
				keys <- line
			}
		}()
		var err error
		if reply, err = e.Answer(t.Context(), q); err != nil {
			reply = nil
		}
		shown = out.String()
		synctest.Wait()
		left := 0
		for line := range keys {
			left += len(line)
		}
		if left > 0 {
			t.Errorf("it did not ask for %d bytes of what was typed, want at most 0", left)
		}
	})
	return reply, shown, opened
}

func TestForm(t *testing.T) {
	for _, c := range []struct {
		name   string
		typed  []string
		action string // empty: an error
		want   string
	}{
		{"all", []string{"a\n", "Oslo\n", "3\n", "yes\n", "2\n", "wrap, 2\n", "\n"}, "accept", `{"city": "Oslo", "count": 3, "gift": true, "speed": "f", "extras": ["wrap","2"]}`},
		{"as little as can be", []string{"\n", " Oslo \n", "\n", "\n", "slow\n", "\n", "send\n"}, "accept", `{"city": " Oslo ", "count": 1, "speed": "s"}`},
		{"again what does not fit", []string{"a\n", "\n", "O\n", "Oslo\n", "10\n", "1.5\n", "two\n", "2\n", "perhaps\n", "no\n", "3\n", "f\n", "wrap,none\n", "wrap,card,2\n", "card\n", "s\n"},
			"accept", `{"city": "Oslo", "count": 2, "gift": false, "speed": "f", "extras": ["card"]}`},
		{"changed", []string{"a\n", "Rome\n", "\n", "\n", "1\n", "\n", "change\n", "Oslo\n", "\n", "\n", "1\n", "\n", "s\n"}, "accept", `{"city": "Oslo", "count": 1, "speed": "s"}`},
		{"declined at once", []string{"d\n"}, "decline", ""},
		{"declined in the end", []string{"a\n", "Oslo\n", "\n", "\n", "1\n", "\n", "decline\n"}, "decline", ""},
		{"cancelled", []string{"a\n", "Oslo\n", ""}, "cancel", ""},
		{"the terminal goes away", []string{"a\n"}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, shown, opened := converse(t, order(), true, c.typed...)
			if c.action == "" {
				if reply != nil {
					t.Errorf("reply %+v, want nil", reply)
				}
				return
			}
			if reply == nil || reply.Action != c.action || string(reply.Content) != c.want {
				t.Errorf("reply %+v (%s)\n%s", reply, reply.Content, shown)
			}
			if strings.Contains(shown, "\x1b") || !strings.Contains(shown, "The server shop asks:\n  Where to?\n") || len(opened) != 0 {
				t.Errorf("shown, want no %q in it, %q in it and len(opened) 0:\n%s", "\x1b", "The server shop asks:\n  Where to?\n", shown)
			}
		})
	}
	_, shown, _ := converse(t, order(), true, "a\n", "Oslo\n", "\n", "\n", "1\n", "\n", "s\n")
	for _, want := range []string{
		"City (city)  text, required\n  of the delivery\n", "count  whole number, default 1\n", "  2  Fast (f)\n",
		`To be sent to shop: {"city": "Oslo", "count": 1, "speed": "s"}`, "no passwords",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
	own := order()
	own.Server = ""
	_, shown, _ = converse(t, own, true, "d\n")
	if !strings.Contains(shown, "What you answer goes to the script.") || strings.Contains(shown, "server") {
		t.Errorf("a question of the script itself:\n%s", shown)
	}
}

// TestPage checks that nothing is opened without consent, and that the whole address is shown.
func TestPage(t *testing.T) {
	address := "https://pay.example.com/" + strings.Repeat("long/", 100) + "?state=1"
	q := func(url string) *upstream.Question {
		return &upstream.Question{Server: "shop", Message: "Pay", URL: url}
	}
	for _, c := range []struct {
		name    string
		url     string
		browser bool
		typed   []string
		action  string
		opened  int
		says    string
	}{
		{"no word is a no", address, true, []string{"\n"}, "decline", 0, address},
		{"opened", address, true, []string{"o\n"}, "accept", 1, address},
		{"visited elsewhere", address, true, []string{"visited\n"}, "accept", 0, "of pay.example.com"},
		{"no browser", address, false, []string{"open\n", "\n"}, "accept", 1, "no browser here"},
		{"no browser, given up", address, false, []string{"open\n", ""}, "cancel", 1, "no browser here"},
		{"not encrypted", "http://pay.example.com/", true, []string{"d\n"}, "decline", 0, "not encrypted"},
		{"looks like another", "https://xn--pple-43d.com/", true, []string{"d\n"}, "decline", 0, "may look like another's"},
		{"looks like another, undisguised", "https://аpple.com/", true, []string{"d\n"}, "decline", 0, "may look like another's"},
		{"no page", "file:///etc/passwd", true, nil, "decline", 0, "not http or https"},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, shown, opened := converse(t, q(c.url), c.browser, c.typed...)
			if reply == nil || reply.Action != c.action || reply.Content != nil || len(opened) != c.opened || !strings.Contains(shown, c.says) {
				t.Errorf("reply %+v, opened %q\n%s", reply, opened, shown)
			}
		})
	}
}

// TestQuestionThatNobodyWaitsFor checks that such a question is removed, and that the script's output continues.
func TestQuestionThatNobodyWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys := make(terminal)
		defer close(keys)
		con, _, stderr := newTestConsole(true)
		e := &Elicitor{turn: make(chan struct{}, 1), app: &cli.App{}, con: con, in: cli.NewInput(keys)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if reply, err := e.Answer(ctx, order()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v, want %v", reply, err, context.DeadlineExceeded)
		}
		out, _ := con.Streams()
		put(t, out, "on\n")
		if !strings.HasSuffix(stderr.String(), "\non\n") {
			t.Errorf("%q, want %q at its end", stderr, "\non\n")
		}
	})
}

func TestAnswersFromAFile(t *testing.T) {
	dir := t.TempDir()
	open := func(text, mode string) (*Elicitor, *bytes.Buffer, error) {
		if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		con, _, stderr := newTestConsole(false)
		e, err := NewElicitor(&cli.App{Dir: dir}, con, "", mode)
		if err == nil {
			_ = e.Close()
		}
		return e, stderr, err
	}
	ask := func(e *Elicitor, server, message, url string) string {
		r, err := e.Answer(t.Context(), &upstream.Question{Server: server, Message: message, URL: url})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(r.Action + " " + string(r.Content))
	}
	e, stderr, err := open(`[
		{"server": "shop", "message": "city", "content": {"city": "Oslo"}},
		{"server": "shop", "action": "cancel"},
		{"message": "sure", "repeat": true}
	]`, "a.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ server, message, url, want string }{
		{"crm", "city?", "", "decline"},
		{"shop", "which city?", "", `accept {"city": "Oslo"}`},
		{"shop", "which city?", "", "cancel"},
		{"shop", "which city?", "", "decline"},
		{"crm", "sure?", "", "accept {}"},
		{"crm", "sure?", "https://example.com/", "accept"},
	} {
		if got := ask(e, c.server, c.message, c.url); got != c.want {
			t.Errorf("%s asks %q: %q, want %q", c.server, c.message, got, c.want)
		}
	}
	if want := "mcprun: server crm asks: city?: declined, because the file of --elicit has no answer for it\n"; !strings.HasPrefix(stderr.String(), want) {
		t.Errorf("%q, want %q at its start", stderr, want)
	}
	e, _, err = open(`{"content": {"x": 1}}`, "a.json")
	if err != nil || ask(e, "a", "b", "") != `accept {"x": 1}` || ask(e, "a", "b", "") != `accept {"x": 1}` {
		t.Errorf("a single answer: %v", err)
	}
	e, stderr, err = open("", "")
	if err != nil || ask(e, "a\x1b", "b\nc: ", "") != "decline" || !strings.Contains(stderr.String(), `server a\x1b asks: b\nc: declined, because there is no terminal to ask in; give answers with --elicit FILE`) {
		t.Errorf("%v, %q", err, stderr)
	}
	for text, want := range map[string]string{
		`[{"server": 5}]`: "cannot unmarshal", `[{"sever": "x"}]`: "unknown field", `[{"action": "yes"}]`: "answer 1",
		`[{"action": "decline", "content": {}}]`: "accepted form", `[{"content": [1]}]`: "JSON object", ``: "EOF",
	} {
		if _, _, err := open(text, "a.json"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
