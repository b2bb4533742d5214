package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/mcpserver/bearer"
)

const (
	tokenOfAda = "0123456789abcdef-ada"
	tokenOfBob = "0123456789abcdef-bob"
)

// twoTokens is a file with the tokens of two customers.
const twoTokens = "# who may come\n" + tokenOfAda + " ada\n\n" + tokenOfBob + "  bob\n"

func tokensOf(t *testing.T) *bearer.Tokens {
	t.Helper()
	tokens, err := bearer.Read([]byte(twoTokens), "")
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// withToken adds a token to each request.
type withToken string

func (b withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, url, token, revision string, opt *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opt)
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + mcpserver.Path, HTTPClient: &http.Client{Transport: withToken(token)}, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cs.Close() })
	return cs
}

// TestCustomersByToken checks that concurrent clients reach only the files of their token's customer.
func TestCustomersByToken(t *testing.T) {
	w := newFixture(t)
	w.run = func(_ context.Context, job *mcpserver.Job) (*runner.Result, error) {
		return &runner.Result{Cause: runner.CauseExit, Stdout: job.Customer.ID + " " + job.Code}, nil
	}
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Tokens: tokensOf(t)})
	var all sync.WaitGroup
	for _, revision := range revisions {
		for customer, token := range map[string]string{"ada": tokenOfAda, "bob": tokenOfBob} {
			cs := connect(t, srv.URL, token, revision, nil)
			name := customer + revision
			all.Go(func() {
				for i := range 10 {
					code := fmt.Sprint(name, i)
					res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": code}})
					if err != nil || textOf(res) != customer+" "+code {
						t.Errorf("%v: %v", err, res)
					}
				}
				if _, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "write_workspace_file", Arguments: map[string]any{"filename": name, "content": "x"}}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	for customer, token := range map[string]string{"ada": tokenOfAda, "bob": tokenOfBob} {
		text := textOf(call(t, connect(t, srv.URL, token, revisions[1], nil), "list_workspace_files", nil))
		for _, other := range []string{"ada", "bob"} {
			if strings.Contains(text, other) != (other == customer) {
				t.Errorf("%s sees %s", customer, text)
			}
		}
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// post sends a request, and returns status, headers and body of the response.
func post(t *testing.T, url, body string, headers map[string]string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+mcpserver.Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range headers {
		if k == "Host" {
			req.Host = v
		}
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(text)
}

// TestRefused checks that requests without a valid token, or from a web page, are refused.
func TestRefused(t *testing.T) {
	w := newFixture(t)
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Tokens: tokensOf(t), Origins: []string{"https://app.example.com"}, Hosts: []string{"tools.example.com"}})
	open := w.web(w.server(), &mcpserver.HTTPOptions{Customer: "acme"})
	good := "Bearer " + tokenOfAda
	for _, c := range []struct {
		url     string
		headers map[string]string
		want    int
	}{
		{srv.URL, nil, 401},
		{srv.URL, map[string]string{"Authorization": "Bearer "}, 401},
		{srv.URL, map[string]string{"Authorization": "Bearer wrong-but-long-enough"}, 401},
		{srv.URL, map[string]string{"Authorization": "Bearer " + tokenOfAda + "x"}, 401},
		{srv.URL, map[string]string{"Authorization": "Basic " + tokenOfAda}, 401},
		{srv.URL, map[string]string{"Authorization": good}, 200},
		{srv.URL, map[string]string{"Authorization": good, "Origin": "https://evil.example"}, 403},
		{srv.URL, map[string]string{"Authorization": good, "Origin": "null"}, 403},
		{srv.URL, map[string]string{"Authorization": good, "Origin": "https://app.example.com"}, 200},
		{srv.URL, map[string]string{"Authorization": good, "Sec-Fetch-Site": "cross-site"}, 403},
		{srv.URL, map[string]string{"Authorization": good, "Host": "evil.example"}, 403},
		{srv.URL, map[string]string{"Authorization": good, "Host": "tools.example.com"}, 200},
		{srv.URL, map[string]string{"Authorization": good, "Host": "tools.example.com:8700", "Origin": "https://tools.example.com:8700"}, 200},
		{srv.URL, map[string]string{"Authorization": good, "Mcp-Session-Id": "made-up"}, 404},
		{open.URL, nil, 200},
		{open.URL, map[string]string{"Host": "evil.example:80"}, 403},
		{open.URL, map[string]string{"Host": "evil.example", "Origin": "http://evil.example"}, 403},
		{open.URL, map[string]string{"Origin": "http://localhost:9"}, 403},
	} {
		status, header, body := post(t, c.url, initialize, c.headers)
		if status != c.want {
			t.Errorf("%v: %d, want %d: %s", c.headers, status, c.want, body)
		}
		if status == 401 && !strings.HasPrefix(header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%v: the refusal names no scheme", c.headers)
		}
		if strings.Contains(body, tokenOfAda) {
			t.Errorf("%v: the token is in the answer: got %q, want no %q in it", c.headers, body, tokenOfAda)
		}
	}
}

// TestForeignSession checks that a customer cannot use the session of another, even with its id.
func TestForeignSession(t *testing.T) {
	w := newFixture(t)
	w.opt.MaxSessions = 2
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Tokens: tokensOf(t)})
	ada, bob := map[string]string{"Authorization": "Bearer " + tokenOfAda}, map[string]string{"Authorization": "Bearer " + tokenOfBob}
	status, header, _ := post(t, srv.URL, initialize, ada)
	session := header.Get("Mcp-Session-Id")
	if status != 200 || session == "" {
		t.Fatalf("%d, session %q", status, session)
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`
	for _, c := range []struct {
		headers map[string]string
		want    int
	}{{ada, 200}, {bob, 404}} {
		c.headers["Mcp-Session-Id"] = session
		if status, _, body := post(t, srv.URL, list, c.headers); status != c.want {
			t.Errorf("%d, want %d: %s", status, c.want, body)
		}
		delete(c.headers, "Mcp-Session-Id")
	}
	for range 3 { // a request that begins no session does not use up a session either
		if status, _, body := post(t, srv.URL, list, ada); status != 400 || !strings.Contains(body, "initialize") {
			t.Errorf(`without a session: %d %s, want 400 and "initialize" in it`, status, body)
		}
	}
	if status, _, _ := post(t, srv.URL, initialize, ada); status != 200 {
		t.Errorf("second session: %d, want 200", status)
	}
	if status, _, body := post(t, srv.URL, initialize, ada); status != 503 {
		t.Errorf("third session: %d %s, want 503", status, body)
	}
	if status, _, _ := post(t, srv.URL, initialize, bob); status != 200 {
		t.Errorf("another customer's session: %d, want 200", status)
	}
}

// TestEndedSession checks that the end of a session ends its runs, and no others.
func TestEndedSession(t *testing.T) {
	w := newFixture(t)
	began, ended, stay := make(chan string, 2), make(chan error, 2), make(chan struct{})
	w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
		began <- job.Code
		if job.Code == "other" {
			select {
			case <-ctx.Done():
				t.Errorf("the other session's run: %v", context.Cause(ctx))
			case <-stay:
			}
			return &runner.Result{Cause: runner.CauseExit}, nil
		}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, ctx.Err()
	}
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Tokens: tokensOf(t)})
	var all sync.WaitGroup
	run := func(cs *mcp.ClientSession, code string) {
		all.Go(func() {
			_, _ = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": code}})
		})
		<-began
	}
	run(connect(t, srv.URL, tokenOfAda, revisions[0], nil), "other")
	status, header, _ := post(t, srv.URL, initialize, map[string]string{"Authorization": "Bearer " + tokenOfAda})
	session := map[string]string{"Authorization": "Bearer " + tokenOfAda, "Mcp-Session-Id": header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": revisions[0]}
	if status != 200 {
		t.Fatal(status)
	}
	all.Go(func() {
		post(t, srv.URL, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"execute_code","arguments":{"code":"mine"}}}`, session)
	})
	<-began
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, srv.URL+mcpserver.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range session {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "ended its session") {
			t.Errorf(`%v, want an error and "ended its session" in it`, err)
		}
	default:
		t.Error("the session has ended and its run has not")
	}
	close(stay)
	all.Wait()
}

// TestLargeBody checks the limit of a request body.
func TestLargeBody(t *testing.T) {
	w := newFixture(t)
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Customer: "acme"})
	body := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"x":"` + strings.Repeat("x", 9<<20) + `"}}`
	if status, _, _ := post(t, srv.URL, body, nil); status != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d, want %d", status, http.StatusRequestEntityTooLarge)
	}
}

// TestClosedStream checks that a closed stateless request ends its run; in a session the client sends a cancellation.
func TestClosedStream(t *testing.T) {
	for _, revision := range revisions {
		w := newFixture(t)
		begun, ended := make(chan bool, 1), make(chan bool, 1)
		w.run = func(ctx context.Context, _ *mcpserver.Job) (*runner.Result, error) {
			begun <- true
			<-ctx.Done()
			ended <- true
			return nil, ctx.Err()
		}
		srv := w.web(w.server(), &mcpserver.HTTPOptions{Customer: "acme"})
		cs := connect(t, srv.URL, "", revision, nil)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; cancel() }()
		if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "1"}}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", revision, err, context.Canceled)
		}
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the run is still in progress, want it ended", revision)
		}
	}
}

// TestElicitByHTTP checks that questions reach a client over HTTP, and that the run goes on over several requests.
func TestElicitByHTTP(t *testing.T) {
	for _, revision := range revisions {
		w := newFixture(t)
		w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
			fmt.Fprintln(job.Stdout, "before")
			a, err := job.Ask(ctx, &upstream.Question{Server: "crm", Message: "Sure?", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)})
			if err != nil {
				return nil, err
			}
			return &runner.Result{Cause: runner.CauseExit, Stdout: a.Action + string(a.Content)}, nil
		}
		srv := w.web(w.server(), &mcpserver.HTTPOptions{Customer: "acme"})
		cs := connect(t, srv.URL, "", revision, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"n": 7}}, nil
		}})
		if got := textOf(call(t, cs, "execute_code", map[string]any{"code": "1"})); got != `accept{"n":7}` {
			t.Errorf("%s: %q, want %q", revision, got, `accept{"n":7}`)
		}
	}
}

// TestForeignAnswer checks that a customer cannot answer the question of another's run.
func TestForeignAnswer(t *testing.T) {
	w := newFixture(t)
	answered := make(chan string, 1)
	w.run = func(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
		a, err := job.Ask(ctx, &upstream.Question{Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
		if err != nil {
			return nil, err
		}
		answered <- a.Action
		return &runner.Result{Cause: runner.CauseExit}, nil
	}
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Tokens: tokensOf(t)})
	opt := &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	}
	ada, bob := connect(t, srv.URL, tokenOfAda, revisions[1], opt), connect(t, srv.URL, tokenOfBob, revisions[1], opt)
	res := call(t, ada, "execute_code", map[string]any{"code": "1"})
	answer := &mcp.CallToolParams{
		Name: "execute_code", Arguments: map[string]any{"code": "1"}, RequestState: res.RequestState,
		InputResponses: mcp.InputResponseMap{"answer": &mcp.ElicitResult{Action: "accept"}},
	}
	stolen, err := bob.CallTool(t.Context(), answer)
	if err == nil || !strings.Contains(err.Error(), "no run waits") {
		t.Errorf(`%v %+v, want an error and "no run waits" in it`, err, stolen)
	}
	if res, err := ada.CallTool(t.Context(), answer); err != nil || res.IsError || <-answered != "accept" {
		t.Errorf("%v %+v", err, res)
	}
}

// TestTokens checks that malformed token files are refused, and that no error shows a token.
func TestTokens(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "short ada\n", tokenOfAda + " ada bob\n", tokenOfAda + " ada\n" + tokenOfAda + " bob\n", "töken-that-is-long-enough ada", "\xff"} {
		_, err := bearer.Read([]byte(text), "")
		if err == nil || strings.Contains(err.Error(), tokenOfAda) {
			t.Errorf("%q: %v, want an error and no %q in it", text, err, tokenOfAda)
		}
	}
	tokens, err := bearer.Read([]byte(tokenOfAda), "one")
	if err != nil {
		t.Fatal(err)
	}
	if who, ok := tokens.Customer(tokenOfAda); !ok || who != "one" {
		t.Errorf("%q %v", who, ok)
	}
}
