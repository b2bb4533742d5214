package approve

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/risk"
)

// shortDir returns a folder whose path is short enough for a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "desk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// newPage serves a page, and returns it with a browser that follows no redirects and has no cookies.
func newPage(t *testing.T, dir string) (*Page, *http.Client) {
	t.Helper()
	var p *Page
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.Handler().ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	p = NewPage(PageOptions{Dir: dir, Project: "p", Address: s.Listener.Addr().String(), Title: "demo", Runs: func(context.Context) ([]PageRun, error) {
		return []PageRun{{Script: "a.ts", Outcome: "exit, code 0", Calls: []PageCall{{"crm__get", "ok"}}}}, nil
	}})
	return p, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// send makes a request, with a form if it is a POST, and headers as NAME: VALUE.
func send(t *testing.T, c *http.Client, method, address string, form url.Values, headers ...string) (int, string, []*http.Cookie) {
	t.Helper()
	req, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if req.Header.Set(name, value); name == "Host" {
			req.Host = value
		}
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Cookies()
}

var linkPattern = regexp.MustCompile(`href="(/question[^"]*)"`)

// links waits until the page lists so many questions, and returns their addresses.
func links(t *testing.T, c *http.Client, base, cookie string, n int) []string {
	t.Helper()
	for range 1500 {
		_, text, _ := send(t, c, "GET", base+"/", nil, cookie)
		var list []string
		for _, m := range linkPattern.FindAllStringSubmatch(text, -1) {
			list = append(list, strings.ReplaceAll(m[1], "&amp;", "&"))
		}
		if len(list) == n {
			return list
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the page never listed %d questions", n)
	return nil
}

func hidden(t *testing.T, text, name string) string {
	t.Helper()
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no field %s:\n%s", name, text)
	}
	return m[1]
}

func TestPage(t *testing.T) {
	dir := shortDir(t)
	p, c := newPage(t, dir)
	base := "http://" + p.opt.Address
	type result struct {
		Answer
		error
	}
	answers := []chan result{make(chan result, 1), make(chan result, 1)}
	for i, word := range []string{"first", "second"} { // two processes
		go func() {
			a, err := New(time.Minute, NewPageApprover(dir, "p")).Approve(t.Context(), &Question{
				Run: "r", Tool: "crm__" + word, Server: "crm", Script: "a.ts", Code: "await x();\n<script>alert(1)</script>\u202e" + strings.Repeat("x", maxCode), Arguments: json.RawMessage(`{"id":"<b>"}`),
			})
			answers[i] <- result{a, err}
		}()
	}
	status, text, _ := send(t, c, "GET", base+"/", nil)
	if status != http.StatusForbidden || strings.Contains(text, "crm") {
		t.Errorf(`without a cookie: %d %s, want %d and no "crm" in it`, status, text, http.StatusForbidden)
	}
	token := p.URL()
	status, _, cookies := send(t, c, "GET", token, nil)
	if status != http.StatusSeeOther || len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("%d %+v", status, cookies)
	}
	if status, _, cookies := send(t, c, "GET", token, nil); status != http.StatusForbidden || len(cookies) > 0 {
		t.Errorf("the token works again: %d, want %d and len(cookies) at most 0", status, http.StatusForbidden)
	}
	cookie := "Cookie: " + cookies[0].Name + "=" + cookies[0].Value
	if status, _, _ := send(t, c, "GET", base+"/", nil, cookie, "Host: evil.example:80"); status != http.StatusForbidden {
		t.Errorf("by another name: %d, want %d", status, http.StatusForbidden)
	}
	for _, link := range links(t, c, base, cookie, 2) {
		status, text, _ := send(t, c, "GET", base+link, nil, cookie)
		if status != http.StatusOK || strings.Contains(text, "http-equiv") || strings.Contains(text, "<script") || strings.Contains(text, "\u202e") || !strings.Contains(text, "id = &#34;&lt;b&gt;&#34;") || !strings.Contains(text, "its last 39 bytes are not shown") {
			t.Errorf("%d\n%s", status, text)
		}
		form := url.Values{"form": {hidden(t, text, "form")}, "socket": {hidden(t, text, "socket")}, "id": {hidden(t, text, "id")}, "answer": {"run"}}
		want := http.StatusSeeOther
		if strings.Contains(text, "crm__second") {
			form.Set("answer", "no")
		}
		for name, change := range map[string]func() (url.Values, []string){
			"no cookie":      func() (url.Values, []string) { return form, nil },
			"another origin": func() (url.Values, []string) { return form, []string{cookie, "Origin: http://evil.example"} },
			"another site":   func() (url.Values, []string) { return form, []string{cookie, "Sec-Fetch-Site: cross-site"} },
			"another port":   func() (url.Values, []string) { return form, []string{cookie, "Sec-Fetch-Site: same-site"} },
			"no word":        func() (url.Values, []string) { return without(form, "form"), []string{cookie} },
			"unknown":        func() (url.Values, []string) { return without(form, "id"), []string{cookie} },
			"not on offer": func() (url.Values, []string) {
				f := without(form, "answer")
				f.Set("answer", "batch")
				return f, []string{cookie}
			},
			"another process": func() (url.Values, []string) {
				f := without(form, "socket")
				f.Set("socket", "../x.sock")
				return f, []string{cookie}
			},
		} {
			f, headers := change()
			if status, _, _ := send(t, c, "POST", base+"/answer", f, headers...); status < 400 {
				t.Errorf("%s: %d, want at least 400", name, status)
			}
		}
		if status, text, _ := send(t, c, "POST", base+"/answer", form, cookie, "Origin: "+base); status != want {
			t.Errorf("%d, want %d: %s", status, want, text)
		}
	}
	if got := <-answers[0]; got.error != nil || got.Scope != Run || got.By != "page" {
		t.Errorf(`first: %+v, want error nil, Scope %v and By "page"`, got, Run)
	}
	if got := <-answers[1]; got.error != nil || got.Scope != Refused || got.By != "page" {
		t.Errorf(`second: %+v, want error nil, Scope %v and By "page"`, got, Refused)
	}
	links(t, c, base, cookie, 0)
	if _, text, _ := send(t, c, "GET", base+"/runs", nil, cookie); !strings.Contains(text, "a.ts") || !strings.Contains(text, "crm__get") {
		t.Errorf(`%s, want "a.ts" in it and "crm__get" in it`, text)
	}
}

func without(form url.Values, name string) url.Values {
	out := url.Values{}
	for k, v := range form {
		if k != name {
			out[k] = v
		}
	}
	return out
}

// TestRefuseABatch refuses all calls that wait by one click on the list, which shows what they are.
func TestRefuseABatch(t *testing.T) {
	dir := shortDir(t)
	p, c := newPage(t, dir)
	base := "http://" + p.opt.Address
	_, _, cookies := send(t, c, "GET", p.URL(), nil)
	cookie := "Cookie: " + cookies[0].Name + "=" + cookies[0].Value
	g := New(time.Minute, NewPageApprover(dir, "p"))
	answers := make(chan Answer, 3)
	for i := range 3 {
		go func() {
			q := ofRun("crm__delete", i)
			q.Script, q.Customer, q.Risk, q.Arguments = "a.ts", "acme", risk.High, json.RawMessage(`{"to":"ann@example.com"}`)
			a, err := g.Approve(t.Context(), q)
			if err != nil {
				t.Error(err)
			}
			answers <- a
		}()
	}
	links(t, c, base, cookie, 3)
	_, text, _ := send(t, c, "GET", base+"/", nil, cookie)
	for _, want := range []string{"to = &#34;ann@example.com&#34;", "<td>a.ts</td>", "<td>acme</td>", `<span class="risk high">high</span>`, "Refuse this and 2 more"} {
		if strings.Count(text, want) != 3 {
			t.Errorf("%q is there %d times, want 3:\n%s", want, strings.Count(text, want), text)
		}
	}
	form := url.Values{"form": {hidden(t, text, "form")}, "socket": {hidden(t, text, "socket")}, "id": {hidden(t, text, "id")}, "answer": {"none"}}
	if status, text, _ := send(t, c, "POST", base+"/answer", form, cookie, "Origin: "+base); status != http.StatusSeeOther {
		t.Fatalf("%d %s, want %d", status, text, http.StatusSeeOther)
	}
	for range 3 {
		if a := <-answers; a.Scope != Refused || a.Reason != "refused together with those that waited by page" {
			t.Errorf(`%+v, want Scope %v and Reason "refused together with those that waited by page"`, a, Refused)
		}
	}
	links(t, c, base, cookie, 0)
}

// TestOtherProgramsAnswerNothing: a copy of this program is another program.
func TestOtherProgramsAnswerNothing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the program at the other end of a socket is known on Linux only")
	}
	dir := shortDir(t)
	answered := make(chan Answer, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		a, _ := New(time.Minute, NewPageApprover(dir, "p")).Approve(ctx, ofRun("delete", 1))
		answered <- a
	}()
	var list []Waiting
	for range 3000 {
		if list, _ = waitingAt(t.Context(), dir, "p"); len(list) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if len(list) != 1 {
		t.Fatalf("the question is not there: got %v, want 1", len(list))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, text, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(other, "-test.run=^TestAsOtherProgram$", "-test.v")
	cmd.Env = append(os.Environ(), "APPROVE_TEST_SOCKET="+filepath.Join(dir, list[0].Socket), "APPROVE_TEST_ID="+list[0].ID)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "itself may answer its questions") != 2 {
		t.Errorf("%v, want 2 and no error\n%s", err, out)
	}
	if _, err := callProcess(t.Context(), filepath.Join(dir, list[0].Socket), http.MethodPost, "/answer", url.Values{"id": {list[0].ID}, "answer": {"once"}}); err != nil {
		t.Error(err)
	}
	if a := <-answered; a.Scope != Once {
		t.Errorf("%+v, want Scope %v", a, Once)
	}
}

// TestAsOtherProgram is what the copy does.
func TestAsOtherProgram(t *testing.T) {
	socket := os.Getenv("APPROVE_TEST_SOCKET")
	if socket == "" {
		t.Skip("it is a part of TestOtherProgramsAnswerNothing")
	}
	_, err := callProcess(t.Context(), socket, http.MethodGet, "/waiting", nil)
	t.Log(err)
	_, err = callProcess(t.Context(), socket, http.MethodPost, "/answer", url.Values{"id": {os.Getenv("APPROVE_TEST_ID")}, "answer": {"once"}})
	t.Log(err)
}

// TestManyLongQuestions: the page shows the oldest ones if there is no room for all.
func TestManyLongQuestions(t *testing.T) {
	d := NewPageApprover("", "p")
	for i := range 9 {
		d.waiting[string(rune('a'+i))] = &pending{view: Waiting{ID: string(rune('a' + i)), Lines: []string{strings.Repeat("<", maxPage)}}}
	}
	w := httptest.NewRecorder()
	d.list(w, nil)
	var list []Waiting
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list) != 5 || list[0].ID != "a" || w.Body.Len() > maxWaiting {
		t.Errorf(`%d questions in %d bytes, %v, want 5, ID "a", at most %d and no error`, len(list), w.Body.Len(), err, maxWaiting)
	}
}

// TestFilesAnswerNothing tries what a server's tools for files can do in the folder of sockets.
func TestFilesAnswerNothing(t *testing.T) {
	dir := shortDir(t)
	answered := make(chan Answer, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		a, _ := New(time.Minute, NewPageApprover(dir, "p")).Approve(ctx, ofRun("delete", 1))
		answered <- a
	}()
	var list []Waiting
	for range 3000 {
		if list, _ = waitingAt(t.Context(), dir, "p"); len(list) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if len(list) != 1 {
		t.Fatalf("the question is not there: got %v, want 1", len(list))
	}
	socket := filepath.Join(dir, list[0].Socket)
	request := "POST /answer HTTP/1.1\r\nHost: desk\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\nid=" + list[0].ID + "&answer=once"
	if err := os.WriteFile(socket, []byte(request), 0o600); err == nil {
		t.Error("the socket can be written to as a file: got no error, want an error")
	}
	if err := os.WriteFile(socket+".answer", []byte(`{"answer":"once"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(socket, socket+".gone"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(socket, []byte(request), 0o600); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(time.Second, cancel) // until then it may look at the files
	if a := <-answered; a.Scope != Refused || a.By != "" {
		t.Errorf(`%+v, want Scope %v and By ""`, a, Refused)
	}
}

func TestFolderOfOthers(t *testing.T) {
	dir := filepath.Join(shortDir(t), "open")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if a, err := NewPageApprover(dir, "p").Approve(t.Context(), ofRun("delete", 1)); err == nil || a.Scope != Refused {
		t.Errorf("%+v, %v, want an error and Scope %v", a, err, Refused)
	}
}

// TestSocketThatStarts: a socket whose process does not listen yet is kept; one that a killed process left long ago is removed.
func TestSocketThatStarts(t *testing.T) {
	dir := shortDir(t)
	for name, age := range map[string]time.Duration{"p-new.sock": 0, "p-old.sock": time.Hour} {
		socket := filepath.Join(dir, name)
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		l.Close()
		made := time.Now().Add(-age)
		if err := os.Chtimes(socket, made, made); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := waitingAt(t.Context(), dir, "p"); err != nil || len(list) > 0 {
		t.Errorf("waitingAt() = %v, %v; want none", list, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "p-new.sock" {
		t.Errorf("sockets left: %v, %v; want p-new.sock only", entries, err)
	}
}
