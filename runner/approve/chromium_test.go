//go:build linux

package approve

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// browser is a headless Chromium without JavaScript, driven through the pipes of its DevTools protocol.
type browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	n       int
	session string
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("there is no chromium on PATH")
		}
		t.Skip("there is no chromium on PATH")
	}
	toBrowser, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir())
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &browser{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		// Killed, it would leave processes that still write to its folder, which is removed now.
		_, _ = in.Write(append([]byte(`{"id": 0, "method": "Browser.close"}`), 0))
		late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		late.Stop()
		in.Close()
		out.Close()
	})
	var target struct{ TargetID string }
	b.do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	b.do("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	return b
}

// do calls a method and stores its result.
func (b *browser) do(method string, params, result any) {
	b.t.Helper()
	if err := b.try(method, params, result); err != nil {
		b.t.Fatal(err)
	}
}

// try is do for methods that fail while the page is loaded again.
func (b *browser) try(method string, params, result any) error {
	b.t.Helper()
	b.n++
	msg := map[string]any{"id": b.n, "method": method, "params": params}
	if b.session != "" {
		msg["sessionId"] = b.session
	}
	text, err := json.Marshal(msg)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		text, err := b.out.ReadBytes(0)
		if err != nil {
			b.t.Fatal(err)
		}
		var answer struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(text[:len(text)-1], &answer); err != nil {
			b.t.Fatal(err)
		}
		if answer.ID != b.n {
			continue
		}
		if answer.Error != nil {
			return fmt.Errorf("%s: %s", method, answer.Error)
		}
		if result != nil {
			return json.Unmarshal(answer.Result, result)
		}
		return nil
	}
}

// middle returns the middle of an element on the page.
func (b *browser) middle(selector string) (x, y float64, err error) {
	var doc struct{ Root struct{ NodeID int } }
	if err := b.try("DOM.getDocument", map[string]any{}, &doc); err != nil {
		return 0, 0, err
	}
	var node struct{ NodeID int }
	if err := b.try("DOM.querySelector", map[string]any{"nodeId": doc.Root.NodeID, "selector": selector}, &node); err != nil {
		return 0, 0, err
	}
	var box struct{ Model struct{ Content []float64 } }
	if err := b.try("DOM.getBoxModel", map[string]any{"nodeId": node.NodeID}, &box); err != nil {
		return 0, 0, err
	}
	c := box.Model.Content
	return (c[0] + c[4]) / 2, (c[1] + c[5]) / 2, nil
}

// click clicks on an element, again and again until over: the list may be loaded again meanwhile.
func (b *browser) click(selector string, over func() bool) {
	b.t.Helper()
	for range 200 {
		if x, y, err := b.middle(selector); err == nil {
			for _, kind := range []string{"mousePressed", "mouseReleased"} {
				_ = b.try("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil)
			}
		}
		for range 5 {
			if time.Sleep(50 * time.Millisecond); over() {
				return
			}
		}
	}
	b.t.Fatalf("a click on %s did nothing", selector)
}

// TestInChromium opens the page's address in a browser that runs no JavaScript, and answers by its buttons.
func TestInChromium(t *testing.T) {
	b := newBrowser(t)
	dir := shortDir(t)
	var p *Page
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.Handler().ServeHTTP(w, r) }))
	defer s.Close()
	p = NewPage(PageOptions{Dir: dir, Project: "p", Address: s.Listener.Addr().String(), Title: "demo"})
	b.do("Page.navigate", map[string]any{"url": p.URL()}, nil)
	// The questions come later: the page looks again by itself.
	for i, want := range []Scope{Run, Refused} {
		answered := make(chan string, 1)
		go func() {
			q := ofRun(fmt.Sprintf("delete%d", i), i)
			q.Code = strings.Repeat("line\n", 200)
			a, err := New(2*time.Minute, NewPageApprover(dir, "p")).Approve(t.Context(), q)
			answered <- fmt.Sprintf("%s by %s, %v", a.Scope, a.By, err)
		}()
		b.click("table a", func() bool { _, _, err := b.middle("button.no"); return err == nil })
		button := string(want)
		if want == Refused {
			button = "no"
		}
		b.click("button[value="+button+"]", func() bool { return len(answered) > 0 })
		if got := <-answered; got != fmt.Sprintf("%s by page, <nil>", want) {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
}
