//go:build linux

package approve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/internal/page/pagetest"
)

// TestInChromium opens the page's address in a browser that runs no JavaScript, and answers by its buttons.
func TestInChromium(t *testing.T) {
	b := pagetest.New(t, false)
	dir := shortDir(t)
	var p *Page
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.Handler().ServeHTTP(w, r) }))
	defer s.Close()
	p = NewPage(PageOptions{Dir: dir, Project: "p", Address: s.Listener.Addr().String(), Title: "demo"})
	b.Do("Page.navigate", map[string]any{"url": p.URL()}, nil)
	// The questions come later: the page looks again by itself.
	for i, want := range []Scope{Run, Refused} {
		answered := make(chan string, 1)
		go func() {
			q := ofRun(fmt.Sprintf("delete%d", i), i)
			q.Code = strings.Repeat("line\n", 200)
			a, err := New(2*time.Minute, NewPageApprover(dir, "p")).Approve(t.Context(), q)
			answered <- fmt.Sprintf("%s by %s, %v", a.Scope, a.By, err)
		}()
		b.Click("table a", func() bool { _, _, err := b.Middle("button.no"); return err == nil })
		button := string(want)
		if want == Refused {
			button = "no"
		}
		b.Click("button[value="+button+"]", func() bool { return len(answered) > 0 })
		if got := <-answered; got != fmt.Sprintf("%s by page, <nil>", want) {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
}
