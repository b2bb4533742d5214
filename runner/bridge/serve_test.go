package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
)

func TestRun(t *testing.T) {
	job := Job{Language: "typescript", Name: "a.ts", Code: "<b>&\u2028", Args: []string{"x"}}
	p, result := start(t, t.Context(), Options{Job: job})
	p.send(helloFrame)
	if got, want := p.read(), `{"type":"job","language":"typescript","name":"a.ts","code":"<b>&\u2028","args":["x"]}`; got != want {
		t.Errorf("job = %s, want %s", got, want)
	}
	// Numbers, order, white space and escapes must come back as they were sent.
	args := `{ "n":9007199254740993.10, "e":1E400, "a":"\u00e9\ud83d\ude00é" }`
	p.send(`{"type":"call","id":7,"tool":"a__b","args":%s}`, args)
	if got, want := p.read(), `{"type":"reply","id":7,"value":`+args+`}`; got != want {
		t.Errorf("reply = %s, want %s", got, want)
	}
	p.send(`{"type":"done","result":[1e2]}`)
	if got := p.read(); got != `{"type":"bye"}` {
		t.Errorf("bye = %s, want %q", got, `{"type":"bye"}`)
	}
	r := <-result
	if r.err != nil || !r.out.Started || !r.out.Done || string(r.out.Result) != "[1e2]" || r.out.Calls != 1 || r.out.Runtime != "test 1" || r.out.Error != nil {
		t.Errorf("outcome = %+v, %v", r.out, r.err)
	}
}

// TestRequests: requests other than tool calls go to their own handler, in the same sequence.
func TestRequests(t *testing.T) {
	var asked []string
	p, result := start(t, t.Context(), Options{
		Handler: func(_ context.Context, req *call.Request) (*call.Result, error) {
			asked = append(asked, fmt.Sprint("call ", req.Tool, req.Seq, req.Timeout, req.Raw, req.At))
			return &call.Result{Value: json.RawMessage(`[{"type":"text"}]`), As: call.AsContent}, nil
		},
		Answers: func(_ context.Context, ask *call.Ask) (json.RawMessage, error) {
			asked = append(asked, fmt.Sprint("ask ", ask.Method, ask.Seq, string(ask.Params), ask.At))
			if ask.Method == "no" {
				return nil, errors.New("password is hunter2")
			}
			return json.RawMessage(`{"id":"x"}`), nil
		}})
	p.greet()
	for _, step := range []struct{ frame, want string }{
		{`{"type":"request","id":1,"method":"import","params":{"n":1.0},"at":"a.ts:3"}`, `{"type":"reply","id":1,"value":{"id":"x"}}`},
		{`{"type":"call","id":4,"tool":"t","args":{},"options":{"timeoutMs":1500,"raw":true}}`, `{"type":"reply","id":4,"as":"content","value":[{"type":"text"}]}`},
		{`{"type":"request","id":5,"method":"no","params":{}}`, `{"type":"reply","id":5,"error":{"kind":"internal","message":"internal error; see the mcprun log"}}`},
		{`{"type":"request","id":6,"method":"list","params":[]}`, `{"type":"reply","id":6,"error":{"kind":"argument","message":"arguments are not an object"}}`},
		{`{"type":"request","id":7,"method":"` + strings.Repeat("m", 2000) + `","params":{}}`, `{"type":"reply","id":7,"error":{"kind":"argument","message":"a method of 2000 bytes is too long"}}`},
		{`{"type":"call","id":8,"tool":"t","args":{},"options":{},"at":"` + strings.Repeat("x", 1000) + `"}`, `{"type":"reply","id":8,"as":"content","value":[{"type":"text"}]}`},
	} {
		p.send("%s", step.frame)
		if got := p.read(); got != step.want {
			t.Errorf("%.100s\n got %s\nwant %s", step.frame, got, step.want)
		}
	}
	p.finish()
	want := `[ask import1{"n":1.0}a.ts:3 call t2 1.5s true ask no3{} call t6 0s false` + strings.Repeat("x", maxAt) + "…]"
	if r := <-result; r.err != nil || r.out.Calls != 2 || fmt.Sprint(asked) != want {
		t.Errorf("%+v %v\n got %s\nwant %s", r.out, r.err, asked, want)
	}
}

// TestNoAnswers: a host that answers no requests says so.
func TestNoAnswers(t *testing.T) {
	p, result := start(t, t.Context(), Options{})
	p.greet()
	p.send(`{"type":"request","id":1,"method":"import","params":{}}`)
	if r := p.reply(); r.Error == nil || r.Error.Kind != call.KindArgument {
		t.Errorf("%+v", r)
	}
	p.finish()
	<-result
}

func TestScriptError(t *testing.T) {
	p, result := start(t, t.Context(), Options{})
	p.greet()
	p.send(`{"type":"done","error":{"name":"ValueError","message":"no","stack":"at x"}}`)
	p.read()
	r := <-result
	if r.err != nil || r.out.Error == nil || *r.out.Error != (ScriptError{"ValueError", "no", "at x"}) {
		t.Errorf("outcome = %+v, %v", r.out, r.err)
	}
}

func TestErrorReplies(t *testing.T) {
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	for name, test := range map[string]struct {
		tool  string
		args  string
		value string
		err   error
		kind  call.Kind
		says  string
	}{
		"typed":        {err: &call.Error{Kind: call.KindTool, Tool: "a__b", Message: "no <such> file", Content: json.RawMessage(`[ 1 ]`)}, kind: "tool", says: "no <such> file"},
		"wrapped":      {err: fmt.Errorf("x: %w", &call.Error{Kind: call.KindDenied, Message: "no"}), kind: "denied", says: "no"},
		"untyped":      {err: errors.New("password is hunter2"), kind: "internal", says: "internal error"},
		"broken":       {value: `{"a":`, kind: "protocol", says: "not JSON"},
		"not utf-8":    {value: "\"\xff\"", kind: "protocol", says: "not UTF-8"},
		"two values":   {value: `1 2`, kind: "protocol", says: "after the value"},
		"deep":         {value: deep, kind: "protocol", says: "deeper than 512"},
		"big":          {value: `"` + strings.Repeat("x", 5000) + `"`, kind: "protocol", says: "5002 bytes; one answer can have at most 4096"},
		"big error":    {err: &call.Error{Kind: call.KindTool, Message: "m", Content: json.RawMessage(`"` + strings.Repeat("x", 5000) + `"`)}, kind: "tool", says: "details were left out"},
		"bad content":  {err: &call.Error{Kind: call.KindTool, Message: "m", Content: json.RawMessage(`{`)}, kind: "tool", says: "details were left out"},
		"long message": {err: &call.Error{Kind: call.KindTool, Message: strings.Repeat("é", 5000)}, kind: "tool", says: "é…"},
		"array":        {args: `[]`, kind: "argument", says: "not an object"},
		"long tool":    {tool: strings.Repeat("x", 2000), kind: "argument", says: "2000 bytes"},
		"panic":        {err: errPanic, kind: "internal", says: "internal error"},
	} {
		t.Run(name, func(t *testing.T) {
			p, result := start(t, t.Context(), Options{maxFrame: 4096, Handler: func(context.Context, *call.Request) (*call.Result, error) {
				if test.err == errPanic {
					panic("hunter2")
				}
				return &call.Result{Value: json.RawMessage(test.value)}, test.err
			}})
			p.greet()
			if test.args == "" {
				test.args = "{}"
			}
			p.send(`{"type":"call","id":1,"tool":"%s","args":%s}`, test.tool, test.args)
			r := p.reply()
			if r.Error == nil || r.Error.Kind != test.kind || !strings.Contains(r.Error.Message, test.says) || strings.Contains(r.Error.Message, "hunter2") {
				t.Errorf("reply = %+v", r.Error)
			}
			p.finish()
			if r := <-result; r.err != nil {
				t.Error(r.err)
			}
		})
	}
}

var errPanic = errors.New("panic")

func TestParallelCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var most, now atomic.Int32
		p, result := start(t, t.Context(), Options{MaxParallel: 10, Handler: func(context.Context, *call.Request) (*call.Result, error) {
			n := now.Add(1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			time.Sleep(100 * time.Millisecond)
			now.Add(-1)
			return nil, nil
		}})
		p.greet()
		begin := time.Now()
		go func() {
			for i := range 20 {
				p.send(`{"type":"call","id":%d,"tool":"t","args":{}}`, i+1)
			}
		}()
		for range 20 {
			if r := p.reply(); string(r.Value) != "null" {
				t.Errorf(`value = %s, want "null"`, r.Value)
			}
		}
		if took := time.Since(begin); took != 200*time.Millisecond || most.Load() != 10 {
			t.Errorf("20 calls, 10 at once: %v, %d at once", took, most.Load())
		}
		p.finish()
		<-result
	})
}

// blocking is a handler that ends with its context, and reports that after a while.
func blocking(ended *atomic.Int32) call.Handler {
	return func(ctx context.Context, _ *call.Request) (*call.Result, error) {
		<-ctx.Done()
		time.Sleep(time.Second)
		ended.Add(1)
		return nil, ctx.Err()
	}
}

func TestEndsWaitForHandlers(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(p *peer, cancel context.CancelFunc)
		want error
	}{
		"done":      {func(p *peer, _ context.CancelFunc) { p.finish() }, nil},
		"closed":    {func(p *peer, _ context.CancelFunc) { p.conn.Close() }, ErrClosed},
		"ctx":       {func(_ *peer, cancel context.CancelFunc) { cancel() }, context.Canceled},
		"violation": {func(p *peer, _ context.CancelFunc) { p.send(`[]`) }, &ViolationError{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var ended atomic.Int32
				p, result := start(t, ctx, Options{MaxParallel: 2, Handler: blocking(&ended)})
				p.greet()
				for i := range 3 { // the third never gets its turn
					p.send(`{"type":"call","id":%d,"tool":"t","args":{}}`, i+1)
				}
				synctest.Wait()
				test.end(p, cancel)
				r := <-result
				if v := new(ViolationError); !errors.Is(r.err, test.want) && !(errors.As(r.err, &v) && errors.As(test.want, &v)) {
					t.Errorf("error = %v, want %v", r.err, test.want)
				}
				if ended.Load() != 2 {
					t.Errorf("Serve returned while handlers ran: %d ended", ended.Load())
				}
				if (r.err == nil) != r.out.Done || r.out.Calls != 3 {
					t.Errorf("outcome = %+v", r.out)
				}
			})
		})
	}
}

func TestCancelOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		p, result := start(t, t.Context(), Options{maxInFlight: 1, Handler: blocking(&ended)})
		p.greet()
		p.send(`{"type":"call","id":1,"tool":"t","args":{}}`)
		synctest.Wait()
		p.send(`{"type":"cancel","id":1}`)
		time.Sleep(2 * time.Second)
		if ended.Load() != 1 {
			t.Error("the handler's context did not end")
		}
		// Its slot is free, and no reply was sent for it.
		p.send(`{"type":"call","id":2,"tool":"t","args":{}}`)
		p.send(`{"type":"done"}`)
		if got := p.read(); got != `{"type":"bye"}` {
			t.Errorf("frame = %s, want %q", got, `{"type":"bye"}`)
		}
		if r := <-result; r.err != nil {
			t.Error(r.err)
		}
	})
}

func TestSlowHandshake(t *testing.T) {
	for _, sent := range []string{"", "\x00\x00\x00\x50{", "\x00"} {
		synctest.Test(t, func(t *testing.T) {
			p, result := start(t, t.Context(), Options{HandshakeTimeout: 3 * time.Second})
			begin := time.Now()
			if _, err := p.conn.Write([]byte(sent)); err != nil {
				t.Fatal(err)
			}
			r := <-result
			if !errors.Is(r.err, ErrHandshake) || time.Since(begin) != 3*time.Second || r.out.Started {
				t.Errorf("error = %v after %v", r.err, time.Since(begin))
			}
		})
	}
}

func TestGuestThatDoesNotRead(t *testing.T) {
	t.Run("replies", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			p, result := start(t, ctx, Options{})
			p.greet()
			for i := range 3 {
				p.send(`{"type":"call","id":%d,"tool":"t","args":{}}`, i+1)
			}
			if r := <-result; !errors.Is(r.err, context.DeadlineExceeded) {
				t.Error(r.err)
			}
		})
	})
	t.Run("bye", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p, result := start(t, t.Context(), Options{})
			p.greet()
			begin := time.Now()
			p.send(`{"type":"done"}`)
			if r := <-result; r.err != nil || !r.out.Done || time.Since(begin) != byeTimeout {
				t.Errorf("%+v, %v after %v", r.out, r.err, time.Since(begin))
			}
		})
	})
	t.Run("half a frame", func(t *testing.T) {
		p, result := start(t, t.Context(), Options{})
		p.greet()
		if _, err := p.conn.Write([]byte("\x00\x00\x10\x00{")); err != nil {
			t.Fatal(err)
		}
		p.conn.Close()
		if r := <-result; !errors.Is(r.err, ErrClosed) || r.out.Done {
			t.Errorf("%+v, %v", r.out, r.err)
		}
	})
}

func TestRefusesBadOptions(t *testing.T) {
	for _, opts := range []Options{{Handler: echo}, {Secret: "x"}} {
		host, guest := net.Pipe()
		if _, err := Serve(t.Context(), host, opts); err == nil {
			t.Error("no error")
		}
		if _, err := guest.Read(make([]byte, 1)); err == nil {
			t.Error("the connection is still open: got no error, want an error")
		}
	}
}
