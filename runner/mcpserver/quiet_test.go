package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
	"github.com/mcpgen/mcpgen/runner/skill"
)

// TestQuiet checks that a client with a progress token is told what a quiet call waits for, over stdio and HTTP, with and
// without sessions.
func TestQuiet(t *testing.T) {
	for _, revision := range revisions {
		for _, over := range []string{"stdio", "http"} {
			t.Run(over+" "+revision, func(t *testing.T) {
				w := newFixture(t)
				w.opt.Quiet = 10 * time.Millisecond
				heard := make(chan string, 1000)
				began := time.Now() // the next thing that the client is told
				await := func(want string, least int) {
					t.Helper()
					for late := time.After(time.Minute); ; {
						select {
						case said := <-heard:
							seconds := 0
							_, rest, _ := strings.Cut(said, want+", ")
							if _, err := fmt.Sscanf(rest, "%d s", &seconds); err != nil || seconds < least {
								continue
							}
							if most := time.Since(began).Round(time.Second); time.Duration(seconds)*time.Second > most {
								t.Errorf("the client was told %q after %v", said, most)
							}
							return
						case <-late:
							t.Errorf("the client got no message with %q", want)
							return
						}
					}
				}
				w.run = func(_ context.Context, job *mcpserver.Job) (*runner.Result, error) {
					await("waiting for a sandbox", 0)
					began = time.Now()
					job.Watch(chain.Event{Kind: chain.EventReady})
					await("script running", 0)
					began = time.Now()
					job.Watch(chain.Event{Kind: chain.EventWaiting, Call: 1, Tool: "crm__query", Message: `server "crm" to start`})
					await(`crm__query is waiting for server "crm" to start`, 0)
					began = time.Now()
					job.Watch(chain.Event{Kind: chain.EventWaiting, Call: 2, Tool: "crm__other\x1b[2J\nscript running", Message: chain.WaitAnswer})
					job.Watch(chain.Event{Kind: chain.EventWaiting, Call: 1, Tool: "crm__query", Message: chain.WaitAnswer})
					await("waiting for crm__other[2J script running and 1 more", 0)
					job.Watch(chain.Event{Kind: chain.EventEnded, Call: 2})
					await("waiting for crm__query", 0)
					await("waiting for crm__query", 1)
					began = time.Now()
					job.Watch(chain.Event{Kind: chain.EventEnded, Call: 1})
					await("script running", 0)
					return &runner.Result{Cause: runner.CauseExit}, nil
				}
				var mu sync.Mutex
				var progress []float64
				opt := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
					mu.Lock()
					defer mu.Unlock()
					progress = append(progress, req.Params.Progress)
					heard <- req.Params.Message
				}}
				s := w.server()
				var cs *mcp.ClientSession
				if over == "stdio" {
					cs = w.stdio(s, revision, opt)
				} else {
					cs = connect(t, w.web(s, &mcpserver.HTTPOptions{Tokens: tokensOf(t)}).URL, tokenOfAda, revision, opt)
				}
				params := &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "1"}}
				params.SetProgressToken("p")
				if res, err := cs.CallTool(t.Context(), params); err != nil || res.IsError {
					t.Fatalf("CallTool() = %v, %v", res, err)
				}
				mu.Lock()
				n := len(progress)
				grows := slices.IsSortedFunc(progress, func(a, b float64) int {
					if a < b {
						return -1
					}
					return 1 // equal values are wrong too
				})
				mu.Unlock()
				if !grows {
					t.Errorf("progress does not grow: %v", progress)
				}
				for end := time.Now().Add(20 * time.Second); ; { // some may have been in flight
					time.Sleep(10 * w.opt.Quiet)
					mu.Lock()
					last := n
					n = len(progress)
					mu.Unlock()
					if n == last {
						break
					}
					if time.Now().After(end) {
						t.Fatal("the notifications go on after the result")
					}
				}
			})
		}
	}
}

// TestQuietTools checks the same for tools that run no script.
func TestQuietTools(t *testing.T) {
	w := newFixture(t)
	w.opt.Quiet = 10 * time.Millisecond
	heard := make(chan string, 100)
	slow, err := skill.Open([]skill.Dir{{Path: t.TempDir(), Writable: true}}, &skill.Options{Check: func(context.Context, script.Source) ([]check.Problem, error) {
		<-heard
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.opt.Customer = func(context.Context, string) (*mcpserver.Customer, error) {
		return &mcpserver.Customer{Skills: always(slow)}, nil
	}
	w.opt.Call = func(context.Context, *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
		<-heard
		return &mcpserver.CallAnswer{Raw: json.RawMessage(`{"content":[]}`)}, nil
	}
	cs := w.stdio(w.server(), revisions[0], &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
		if !strings.Contains(req.Params.Message, " running, ") {
			t.Errorf(`message %q, want " running, " in it`, req.Params.Message)
		}
		select {
		case heard <- req.Params.Message:
		default:
		}
	}})
	for tool, args := range map[string]any{
		"save_skill": map[string]any{"name": "x", "code": "1"}, "call_tool": map[string]any{"tool": "a__b"},
	} {
		params := &mcp.CallToolParams{Name: tool, Arguments: args}
		params.SetProgressToken(tool)
		if res, err := cs.CallTool(t.Context(), params); err != nil || res.IsError {
			t.Fatalf("%s: %v, %v", tool, textOf(res), err)
		}
	}
}

// rawCall returns the body and headers of a tools/call request.
func rawCall(revision, session string, tool string, meta string) (body string, headers map[string]string) {
	headers = map[string]string{"Mcp-Protocol-Version": revision, "Authorization": "Bearer " + tokenOfAda, "Mcp-Method": "tools/call", "Mcp-Name": tool}
	if revision == revisions[1] {
		meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`
	} else {
		headers["Mcp-Session-Id"] = session
	}
	body = fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":{"code":"1"},"_meta":{"x/y":1%s}}}`, tool, meta)
	return body, headers
}

// session begins a session and returns its id.
func session(t *testing.T, url string) string {
	t.Helper()
	_, headers, body := post(t, url, initialize, map[string]string{"Authorization": "Bearer " + tokenOfAda})
	id := headers.Get("Mcp-Session-Id")
	if id == "" {
		t.Fatalf("no session: %s", body)
	}
	post(t, url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, map[string]string{"Authorization": "Bearer " + tokenOfAda, "Mcp-Session-Id": id, "Mcp-Protocol-Version": revisions[0]})
	return id
}

// TestEarlyHeaders checks that the answer begins while a silent call is in progress, that comments follow, and that a call of
// an unknown tool is still an HTTP error.
func TestEarlyHeaders(t *testing.T) {
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			w := newFixture(t)
			w.opt.KeepAlive = 10 * time.Millisecond
			goOn := make(chan bool)
			w.run = func(ctx context.Context, _ *mcpserver.Job) (*runner.Result, error) {
				select {
				case <-goOn:
				case <-ctx.Done():
				}
				return &runner.Result{Cause: runner.CauseExit, Stdout: "done\n"}, nil
			}
			srv := w.web(w.server(), &mcpserver.HTTPOptions{Tokens: tokensOf(t)})
			id := ""
			if revision == revisions[0] {
				id = session(t, srv.URL)
			}
			body, headers := rawCall(revision, id, "execute_code", "")
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+mcpserver.Path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			for k, v := range headers {
				req.Header.Set(k, v)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatalf("no headers while the call is in progress: %v", err)
			}
			defer res.Body.Close()
			if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
				t.Fatalf(`status %d, Content-Type %q, want %d and "text/event-stream"`, res.StatusCode, kind, http.StatusOK)
			}
			in := bufio.NewReader(res.Body)
			for range 6 { // three comments, and the blank lines after them
				row, err := in.ReadString('\n')
				if err != nil || row != ": keep-alive\n" && row != "\n" {
					t.Fatalf("line %q, %v", row, err)
				}
			}
			close(goOn)
			rest, err := io.ReadAll(in)
			if err != nil || !strings.Contains(string(rest), `"text":"done"`) || !strings.HasSuffix(string(rest), "\n\n") {
				t.Errorf("the rest is %q, %v, want %q in it, %q at its end and no error", rest, err, `"text":"done"`, "\n\n")
			}
			if revision == revisions[1] {
				body, headers := rawCall(revision, "", "no_such_tool", "")
				if status, _, text := post(t, srv.URL, body, headers); status == http.StatusOK || !json.Valid([]byte(text)) {
					t.Errorf("an unknown tool: status %d, %s", status, text)
				}
			}
		})
	}
}

// TestCommentsBetweenEvents checks that frequent comments do not interrupt the events of a run with much output.
func TestCommentsBetweenEvents(t *testing.T) {
	w := newFixture(t)
	w.opt.KeepAlive = time.Microsecond
	w.run = func(_ context.Context, job *mcpserver.Job) (*runner.Result, error) {
		for range 30 {
			fmt.Fprintln(job.Stdout, strings.Repeat("line ", 300))
			time.Sleep(110 * time.Millisecond) // as often as it says something
		}
		return &runner.Result{Cause: runner.CauseExit, Stdout: strings.Repeat("output ", 4000)}, nil
	}
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Tokens: tokensOf(t)})
	body, headers := rawCall(revisions[1], "", "execute_code", `,"progressToken":"p"`)
	_, _, text := post(t, srv.URL, body, headers)
	events, comments := 0, 0
	for block := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		if block == ": keep-alive" {
			comments++
			continue
		}
		data, ok := strings.CutPrefix(block, "event: message\ndata: ")
		if !ok || !json.Valid([]byte(data)) {
			t.Fatalf("an interrupted event: %.200q", block)
		}
		events++
	}
	if events < 5 || comments < 10 {
		t.Errorf("%d events and %d comments, want at least 5 and at least 10", events, comments)
	}
}

// patience is a connection with a read timeout, like that of a reverse proxy.
type patience struct {
	net.Conn
	most time.Duration
}

func (p patience) Read(b []byte) (int, error) {
	if err := p.SetReadDeadline(time.Now().Add(p.most)); err != nil {
		return 0, err
	}
	return p.Conn.Read(b)
}

// TestBehindProxy checks that a quiet run may last longer than the read timeout of a reverse proxy.
func TestBehindProxy(t *testing.T) {
	const most = 2 * time.Second
	w := newFixture(t)
	w.opt.KeepAlive = most / 20
	w.run = func(context.Context, *mcpserver.Job) (*runner.Result, error) {
		time.Sleep(2 * most)
		return &runner.Result{Cause: runner.CauseExit, Stdout: "done\n"}, nil
	}
	srv := w.web(w.server(), &mcpserver.HTTPOptions{Tokens: tokensOf(t)})
	target, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return patience{c, most}, err
	}}
	t.Cleanup(transport.CloseIdleConnections)
	proxy.Transport = transport
	front := httptest.NewServer(proxy)
	t.Cleanup(func() { front.CloseClientConnections(); front.Close() })
	var all sync.WaitGroup
	for _, revision := range revisions {
		cs := connect(t, front.URL, tokenOfAda, revision, nil)
		all.Go(func() {
			res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"code": "1"}})
			if err != nil || textOf(res) != "done" {
				t.Errorf("%s: %v, %v", revision, res, err)
			}
		})
	}
	all.Wait()
}
