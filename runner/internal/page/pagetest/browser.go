//go:build linux

package pagetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Browser is a headless Chromium, driven through the pipes of its DevTools protocol.
type Browser struct {
	t       testing.TB
	in      *os.File
	out     *bufio.Reader
	n       int
	session string
}

// New starts a browser, which ends with the test. scripts says whether it runs JavaScript.
func New(t testing.TB, scripts bool) *Browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("there is no chromium on PATH")
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
	b := &Browser{t: t, in: in, out: bufio.NewReader(out)}
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
	b.Do("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	b.Do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	b.session = session.SessionID
	b.Do("Emulation.setScriptExecutionDisabled", map[string]any{"value": !scripts}, nil)
	return b
}

// Do calls a method and stores its result.
func (b *Browser) Do(method string, params, result any) {
	b.t.Helper()
	if err := b.Try(method, params, result); err != nil {
		b.t.Fatal(err)
	}
}

// Try is Do for methods that fail while the page is loaded again.
func (b *Browser) Try(method string, params, result any) error {
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

// Middle returns the middle of an element on the page.
func (b *Browser) Middle(selector string) (x, y float64, err error) {
	var doc struct{ Root struct{ NodeID int } }
	if err := b.Try("DOM.getDocument", map[string]any{}, &doc); err != nil {
		return 0, 0, err
	}
	var node struct{ NodeID int }
	if err := b.Try("DOM.querySelector", map[string]any{"nodeId": doc.Root.NodeID, "selector": selector}, &node); err != nil {
		return 0, 0, err
	}
	var box struct{ Model struct{ Content []float64 } }
	if err := b.Try("DOM.getBoxModel", map[string]any{"nodeId": node.NodeID}, &box); err != nil {
		return 0, 0, err
	}
	c := box.Model.Content
	return (c[0] + c[4]) / 2, (c[1] + c[5]) / 2, nil
}

// Click clicks on an element, again and again until over: the list may be loaded again meanwhile.
func (b *Browser) Click(selector string, over func() bool) {
	b.t.Helper()
	for range 200 {
		if x, y, err := b.Middle(selector); err == nil {
			for _, kind := range []string{"mousePressed", "mouseReleased"} {
				_ = b.Try("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}, nil)
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

// Eval returns the value of an expression on the page, which must run scripts.
func (b *Browser) Eval(expression string) any {
	b.t.Helper()
	var out struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	b.Do("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &out)
	if out.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, out.ExceptionDetails)
	}
	return out.Result.Value
}

// Await waits until an expression is true.
func (b *Browser) Await(expression string) {
	b.t.Helper()
	for range 600 {
		if b.Eval(expression) == true {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatalf("%s never became true", expression)
}
