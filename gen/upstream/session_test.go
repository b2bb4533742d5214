package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// everywhere runs a test over every transport and in both eras.
func everywhere(t *testing.T, test func(t *testing.T, s *Session)) {
	for _, v := range variants() {
		for _, mode := range []upstreamtest.Mode{upstreamtest.Normal, upstreamtest.LegacyOnly} {
			t.Run(v.name+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				test(t, open(t, v.start(t, mode), testOptions()))
			})
		}
	}
}

func TestBytesAreKept(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Session) {
		tools, err := s.ListTools(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if got := names(t, tools); !slices.Equal(got, upstreamtest.ToolNames()) {
			t.Errorf("tools %q", got)
		}
		const definition = `{"name":"echo","description":"The tool echo.","inputSchema":{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{"type":"string"}},"additionalProperties":true},"outputSchema":{"type":"object","additionalProperties":true}}`
		if string(tools[0]) != definition {
			t.Errorf("definition\n%s, want\n%s", tools[0], definition)
		}
		const args = `{"z":9007199254740993,"a":"<&>é","big":123456789012345678901234567890,"f":1.10}`
		if res := mustCall(t, s, upstreamtest.ToolEcho, args); string(res.Structured) != args {
			t.Errorf("echo %s, want %s", res.Structured, args)
		}
		if res := mustCall(t, s, upstreamtest.ToolBigInt, ""); string(res.Structured) != `{"n":9007199254740993,"x":1e400}` {
			t.Errorf("structured %s, want %q", res.Structured, `{"n":9007199254740993,"x":1e400}`)
		}
	})
}

func TestResults(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Session) {
		res := mustCall(t, s, upstreamtest.ToolWeird, "{}")
		if len(res.Content) != 2 || string(res.Content[1]) != `{"type":"hologram","voxels":[1,2,3]}` || res.Structured != nil {
			t.Errorf("content %s, structured %s, want len(res.Content) 2, string(res.Content[1]) %q and nil", res.Content, res.Structured, `{"type":"hologram","voxels":[1,2,3]}`)
		}
		res = mustCall(t, s, upstreamtest.ToolFail, "{}")
		if !res.IsError || len(res.Content) != 1 || !strings.Contains(string(res.Raw), "out of paper") {
			t.Errorf("result %s", res.Raw)
		}
		_, err := s.Call(testContext(t), upstreamtest.ToolRPCError, nil, nil)
		p := wantProtocolError(t, err, -32050, "the printer is on fire")
		if string(p.Data) != `{"retry":9007199254740993}` {
			t.Errorf("data %s, want %q", p.Data, `{"retry":9007199254740993}`)
		}
		_, err = s.Call(testContext(t), "no_such_tool", nil, nil)
		wantProtocolError(t, err, -32602, "unknown tool")
		if res := mustCall(t, s, upstreamtest.ToolEcho, `{}`); string(res.Structured) != `{}` {
			t.Errorf("after the errors: %s, want %q", res.Structured, `{}`)
		}
	})
}

func TestNoCapabilitiesAndElicitationIsDeclined(t *testing.T) {
	for _, mode := range []upstreamtest.Mode{upstreamtest.Normal, upstreamtest.LegacyOnly} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			s := open(t, upstreamtest.Server(t, mode), testOptions())
			if got := field[map[string]any](t, mustCall(t, s, upstreamtest.ToolSession, ""), "capabilities"); len(got) != 1 || got["extensions"] == nil {
				t.Errorf("the client offers %v, want extensions only", got)
			}
			if got := string(mustCall(t, s, upstreamtest.ToolForm, `{"schema":{"$ref":"#"}}`).Structured); got != `{"answers":[{"action":"decline"}]}` {
				t.Errorf("elicitation: %q, want %q", got, `{"answers":[{"action":"decline"}]}`)
			}
		})
	}
}

func TestCallsRunInParallel(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Session) {
		start := time.Now()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := s.Call(testContext(t), upstreamtest.ToolSlow, json.RawMessage(`{"ms":1000}`), nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("20 calls of 1 s took %s, want at most %s", took, 10*time.Second)
		}
	})
}

// cancelled makes calls that end by their deadline until the server has heard of such an end: by a notification, or over HTTP in
// the newer era by the end of the request. On a busy machine the deadline can come before the request is sent, and over HTTP the
// notification can overtake the request.
func cancelled(t *testing.T, s *Session) {
	t.Helper()
	for wait := 100 * time.Millisecond; field[int](t, mustCall(t, s, upstreamtest.ToolCancelled, ""), "count") == 0; wait *= 2 {
		if wait > testTime {
			t.Fatalf("the server has heard of no cancelled call: got %v, want at most %v", wait, testTime)
		}
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := s.Call(ctx, upstreamtest.ToolHang, nil, nil)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v, want the deadline", err)
		}
		if errors.Is(err, ErrConnection) {
			t.Errorf("the connection counts as lost after a time-out: %v", err)
		}
	}
}

func TestCancelledCall(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Session) {
		cancelled(t, s)
		if res := mustCall(t, s, upstreamtest.ToolEcho, `{"still":"here"}`); s.Lost() || res.IsError {
			t.Errorf("the session was lost")
		}
		if n := len(s.conn.pending); n != 0 {
			t.Errorf("%d requests are still remembered, want 0", n)
		}
	})
}

func TestCancelledCallOverSSE(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.SSEServer(t), testOptions())
	cancelled(t, s)
}

// TestCancellationGoesBeforeTheEnd cancels a call and closes the session at once, as a program does that was
// interrupted: the server hears of the cancellation all the same.
func TestCancellationGoesBeforeTheEnd(t *testing.T) {
	t.Parallel()
	inTime := 0
	for range 10 {
		fake := upstreamtest.NewHTTP(t, upstreamtest.LegacyOnly, nil)
		s := open(t, fake.Config(), testOptions())
		ctx, cancel := context.WithCancel(testContext(t))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { _, _ = s.Call(ctx, upstreamtest.ToolHang, nil, nil) })
		}
		for fake.Hanging() < 3 {
			time.Sleep(time.Millisecond) // bounded by the test's time
		}
		cancel()
		wg.Wait()
		start := time.Now()
		s.Close()
		if time.Since(start) >= cancelTime { // on a busy machine
			continue
		}
		if n := fake.Cancelled(); n != 3 {
			t.Fatalf("%d of 3 cancellations arrived, want 3", n)
		}
		inTime++
	}
	if inTime == 0 {
		t.Errorf("closing took %s and more, every time", cancelTime)
	}
}

func TestLargeResults(t *testing.T) {
	// 64 MiB once; elsewhere what is more than the SDK takes by default, since decoding is slow under the race detector.
	sizes := map[string]int{"stdio": 64 << 20, "http json": 20 << 20, "http events": 20 << 20}
	for _, v := range variants() {
		size, ok := sizes[v.name]
		if !ok {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := open(t, v.start(t, upstreamtest.Normal), testOptions())
			res, err := s.Call(t.Context(), upstreamtest.ToolLarge, json.RawMessage(fmt.Sprintf(`{"bytes":%d}`, size)), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Raw) < size {
				t.Errorf("%d bytes, want at least %d", len(res.Raw), size)
			}
			_, err = s.Call(t.Context(), upstreamtest.ToolLarge, json.RawMessage(fmt.Sprintf(`{"bytes":%d}`, MaxMessage)), nil)
			wantConnectionError(t, err, "")
			if v.name != "http events" && !strings.Contains(err.Error(), "more than 96 MiB") {
				t.Errorf("error %v", err)
			}
			if !s.Lost() {
				t.Error("Lost() = false, want true")
			}
		})
	}
}

func TestServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.Server(t, upstreamtest.Deaf), testOptions())
	// On a busy machine the context may end before anything is written; then nothing is lost, and it is tried again with more time.
	for wait := 200 * time.Millisecond; !s.Lost() && wait < 10*time.Second; wait *= 2 {
		ctx, cancel := context.WithTimeout(testContext(t), wait)
		start := time.Now()
		_, err := s.Call(ctx, upstreamtest.ToolEcho, json.RawMessage(`{"a":"`+strings.Repeat("x", 1<<20)+`"}`), nil)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrConnection) {
			t.Errorf("error %v, want the deadline", err)
		}
		if took := time.Since(start); took > wait+20*time.Second {
			t.Errorf("the call took %s, want %s", took, wait)
		}
	}
	if !s.Lost() {
		t.Error("half a message was written, and the session goes on")
	}
}

// TestOthersOfAServerThatDoesNotRead: one call that cannot be written keeps no other from ending when its own time is up.
func TestOthersOfAServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.Server(t, upstreamtest.Deaf), testOptions())
	stuck, end := context.WithCancel(testContext(t))
	over := make(chan error, 1)
	go func() {
		_, err := s.Call(stuck, upstreamtest.ToolEcho, json.RawMessage(`{"a":"`+strings.Repeat("x", 4<<20)+`"}`), nil)
		over <- err
	}()
	for !s.process.HasUnreadInput() {
		if !pause(stuck, time.Millisecond) {
			t.Fatal("nobody writes")
		}
	}
	ctx, cancel := context.WithTimeout(testContext(t), 50*time.Millisecond)
	defer cancel()
	_, err := s.Call(ctx, upstreamtest.ToolEcho, nil, nil)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the deadline", err)
	}
	select {
	case err := <-over:
		t.Errorf("the other waited until the first had ended: %v", err)
	default:
	}
	end()
	<-over
}

func TestServerThatFloodsWithRequests(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.Server(t, pingFlood), testOptions())
	_, err := s.Call(testContext(t), upstreamtest.ToolEcho, nil, nil)
	wantConnectionError(t, err, "floods the client with requests")
}

func TestCrashInACall(t *testing.T) {
	t.Parallel()
	s := open(t, upstreamtest.Server(t, upstreamtest.Normal), testOptions())
	other := make(chan error, 1)
	go func() {
		_, err := s.Call(testContext(t), upstreamtest.ToolHang, nil, nil)
		other <- err
	}()
	_, err := s.Call(testContext(t), upstreamtest.ToolCrash, nil, nil)
	wantConnectionError(t, err, "exit status 3")
	if err := <-other; !errors.Is(err, ErrConnection) {
		t.Errorf("the other call: %v, want %v", err, ErrConnection)
	}
	if !s.Lost() {
		t.Error("the session is not lost")
	}
	_, err = s.Call(testContext(t), upstreamtest.ToolEcho, nil, nil)
	wantConnectionError(t, err, "")

	web := open(t, upstreamtest.HTTPServer(t, upstreamtest.Normal, nil), testOptions())
	_, err = web.Call(testContext(t), upstreamtest.ToolCrash, nil, nil)
	wantConnectionError(t, err, "")
	mustCall(t, web, upstreamtest.ToolEcho, `{}`) // a broken request is not a broken server
}

func TestCloseEndsCallsInFlight(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Session) {
		failed := make(chan error, 1)
		started := make(chan struct{})
		go func() {
			close(started)
			_, err := s.Call(testContext(t), upstreamtest.ToolHang, nil, nil)
			failed <- err
		}()
		<-started
		s.Close()
		wantConnectionError(t, <-failed, "closed")
		s.Close()
	})
}

func TestStdoutNoise(t *testing.T) {
	t.Parallel()
	log := &record{}
	opts := testOptions()
	opts.Logger = log.logger()
	s := open(t, upstreamtest.Server(t, upstreamtest.Banner), opts)
	for range 30 {
		mustCall(t, s, upstreamtest.ToolEcho, `{}`)
	}
	text := log.String()
	if !strings.Contains(text, "Server 1.0 starting …") || !strings.Contains(text, "[info] reading") {
		t.Errorf("the banner is not in the log, want \"Server 1.0 starting …\" in it and \"[info] reading\" in it:\n%s", text)
	}
	if n := strings.Count(text, "handled one more"); n < 10 || n > 20 {
		t.Errorf("%d lines of noise are in the log, want at least 10 and at most 20", n)
	}

	flooded := open(t, upstreamtest.Server(t, flood), testOptions())
	_, err := flooded.Call(testContext(t), upstreamtest.ToolEcho, nil, nil)
	wantConnectionError(t, err, "more than 10000 lines")
}

func TestStderr(t *testing.T) {
	t.Parallel()
	out := &record{}
	opts := testOptions()
	vars := map[string]string{"SECRET": "hunter2-hunter2"}
	opts.Lookup = func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	opts.Stderr = func(server string) io.Writer {
		if server != "fake" {
			t.Errorf(`server %q, want "fake"`, server)
		}
		return out
	}
	srv := upstreamtest.Server(t, upstreamtest.Normal)
	srv.Env["TOKEN"] = "${SECRET}"
	s := open(t, srv, opts)
	mustCall(t, s, upstreamtest.ToolStderr, `{"text":"one\n\u001b[31mred\u001b[0m\u0007\r\nkey hunter2-hunter2\n"}`)
	mustCall(t, s, upstreamtest.ToolStderr, `{"text":"`+strings.Repeat("y", 24<<10)+`\nlast"}`)
	s.Close()
	want := "one\n[31mred[0m\nkey [TOKEN]\n" + strings.Repeat("y", 8<<10) + "\nlast\n"
	if got := out.String(); got != want && got != strings.Replace(want, "[TOKEN]", "[SECRET]", 1) {
		t.Errorf("stderr %.200q, want %.200q", got, want)
	}
}

// TestLargeAnswersWaitForRoom and are not read before there is some, where that can be.
func TestLargeAnswersWaitForRoom(t *testing.T) {
	everywhere(t, func(t *testing.T, s *Session) {
		var asked []int
		opt := &CallOptions{Reserve: func(_ context.Context, bytes int) error {
			asked = append(asked, bytes)
			return nil
		}}
		if _, err := s.Call(testContext(t), upstreamtest.ToolEcho, json.RawMessage(`{}`), opt); err != nil || len(asked) != 0 {
			t.Errorf("a small answer waited: %v, %v, want len(asked) 0 and no error", asked, err)
		}
		if _, err := s.Call(testContext(t), upstreamtest.ToolLarge, json.RawMessage(`{"bytes":1500000}`), opt); err != nil || len(asked) != 1 || asked[0] < LargeAnswer {
			t.Errorf("room for %v, %v, want len(asked) 1, asked[0] at least %v and no error", asked, err, LargeAnswer)
		}
		full := errors.New("there is no room")
		opt.Reserve = func(context.Context, int) error { return full }
		if _, err := s.Call(testContext(t), upstreamtest.ToolLarge, json.RawMessage(`{"bytes":1500000}`), opt); err == nil {
			t.Error("an answer came although there was no room: got no error, want an error")
		}
		ctx, cancel := context.WithCancel(testContext(t))
		opt.Reserve = func(ctx context.Context, _ int) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}
		if _, err := s.Call(ctx, upstreamtest.ToolLarge, json.RawMessage(`{"bytes":1500000}`), opt); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the context's", err)
		}
		if _, err := s.Call(testContext(t), upstreamtest.ToolEcho, json.RawMessage(`{}`), nil); err != nil || s.Lost() {
			t.Errorf("afterwards: %v", err)
		}
	})
}
