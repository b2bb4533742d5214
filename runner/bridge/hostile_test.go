package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
)

// TestHostileFrames sends invalid frames, after a proper handshake unless noted, and expects the connection to end with the right reason.
func TestHostileFrames(t *testing.T) {
	const callFrame = `{"type":"call","id":%s,"tool":"t","args":{}}`
	id := func(s string) string { return fmt.Sprintf(callFrame, s) }
	for name, test := range map[string]struct {
		before bool // instead of the handshake
		frames []string
		want   string
	}{
		"call before hello":     {true, []string{id("1")}, "first frame is not hello"},
		"done before hello":     {true, []string{`{"type":"done"}`}, "first frame is not hello"},
		"wrong secret":          {true, []string{strings.Replace(helloFrame, "horse", "house", 1)}, "wrong secret"},
		"empty secret":          {true, []string{strings.Replace(helloFrame, secret, "", 1)}, "wrong secret"},
		"longer secret":         {true, []string{strings.Replace(helloFrame, secret, secret+"x", 1)}, "wrong secret"},
		"other version":         {true, []string{strings.Replace(helloFrame, ":1,", ":2,", 1)}, "speaks version 2, this program 1"},
		"huge hello":            {true, []string{strings.Replace(helloFrame, "test", strings.Repeat("x", 5000), 1)}, "the limit of 4096"},
		"second hello":          {false, []string{helloFrame}, "second hello"},
		"id zero":               {false, []string{id("0")}, "out of range"},
		"negative id":           {false, []string{id("-1")}, "out of range"},
		"id of 2^53":            {false, []string{id("9007199254740992")}, "out of range"},
		"id over int64":         {false, []string{id("99999999999999999999")}, "not an integer"},
		"fractional id":         {false, []string{id("1.0")}, "not an integer"},
		"text id":               {false, []string{id(`"1"`)}, "not an integer"},
		"id again":              {false, []string{id("1"), id("1")}, "call id 1 after 1"},
		"falling id":            {false, []string{id("2"), id("1")}, "call id 1 after 2"},
		"cancel of nothing":     {false, []string{`{"type":"cancel","id":1}`}, "cancel for a call that was not made"},
		"cancel twice":          {false, []string{id("1"), `{"type":"cancel","id":1}`, `{"type":"cancel","id":1}`}, "cancel for a call"},
		"unknown type":          {false, []string{`{"type":"eval"}`}, `unknown type "eval"`},
		"type of a number":      {false, []string{`{"type":1}`}, `"type" is not a string`},
		"no type":               {false, []string{`{}`}, `member "type" is missing`},
		"host's type":           {false, []string{`{"type":"bye"}`}, "unknown type"},
		"unknown member":        {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"approved":true}`}, `unknown member "approved"`},
		"other case":            {false, []string{`{"Type":"done"}`}, `member "type" is missing`},
		"missing member":        {false, []string{`{"type":"call","id":1,"tool":"t"}`}, `member "args" is missing`},
		"member twice":          {false, []string{`{"type":"call","id":1,"tool":"t","tool":"u","args":{}}`}, `duplicate object member name "tool"`},
		"member twice, escaped": {false, []string{`{"type":"call","id":1,"tool":"t","\u0074ool":"u","args":{}}`}, `duplicate object member name "tool"`},
		"argument twice":        {false, []string{`{"type":"call","id":1,"tool":"t","args":{"a":{"b":1,"b":2}}}`}, `duplicate object member name "b"`},
		"half a surrogate":      {false, []string{`{"type":"call","id":1,"tool":"t","args":{"a":"\ud83d"}}`}, "surrogate"},
		"not UTF-8":             {false, []string{"{\"type\":\"call\",\"id\":1,\"tool\":\"\xff\",\"args\":{}}"}, "not UTF-8"},
		"byte order mark":       {false, []string{"\ufeff{}"}, "not a JSON object"},
		"two objects":           {false, []string{`{"type":"done"}{"type":"done"}`}, "after the value"},
		"array":                 {false, []string{`[]`}, "not a JSON object"},
		"empty frame":           {false, []string{``}, "not a JSON object"},
		"request before hello":  {true, []string{`{"type":"request","id":1,"method":"m","params":{}}`}, "first frame is not hello"},
		"request id again":      {false, []string{id("1"), `{"type":"request","id":1,"method":"m","params":{}}`}, "call id 1 after 1"},
		"request of a tool":     {false, []string{`{"type":"request","id":1,"tool":"t","params":{}}`}, `member "method" is missing`},
		"request with options":  {false, []string{`{"type":"request","id":1,"method":"m","params":{},"options":{}}`}, `unknown member "options"`},
		"request without":       {false, []string{`{"type":"request","id":1,"method":"m"}`}, `member "params" is missing`},
		"request sets as":       {false, []string{`{"type":"request","id":1,"method":"m","params":{},"as":"handle"}`}, `unknown member "as"`},
		"call sets as":          {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"as":"handle"}`}, `unknown member "as"`},
		"call sets its place":   {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"seq":9}`}, `unknown member "seq"`},
		"call of a method":      {false, []string{`{"type":"call","id":1,"tool":"t","method":"m","args":{}}`}, `unknown member "method"`},
		"reply":                 {false, []string{`{"type":"reply","id":1,"value":1}`}, "unknown type"},
		"options of a list":     {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"options":[]}`}, `"options" is not an object`},
		"options of null":       {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"options":null}`}, `"options" is not an object`},
		"unknown option":        {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"options":{"allowDrift":true}}`}, `unknown member "allowDrift"`},
		"option twice":          {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"options":{"raw":true,"raw":false}}`}, `duplicate object member name "raw"`},
		"time-out of zero":      {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"options":{"timeoutMs":0}}`}, "not a number of milliseconds"},
		"time-out below zero":   {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"options":{"timeoutMs":-5}}`}, "not a number of milliseconds"},
		"time-out of 2^31":      {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"options":{"timeoutMs":2147483648}}`}, "not a number of milliseconds"},
		"line as a number":      {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"at":5}`}, "not a string"},
		"time-out as text":      {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"options":{"timeoutMs":"5"}}`}, "not a number of milliseconds"},
		"raw of a number":       {false, []string{`{"type":"call","id":1,"tool":"t","args":{},"options":{"raw":1}}`}, "neither true nor false"},
		"comment":               {false, []string{`{"type":"done"/**/}`}, "not JSON"},
		"deep":                  {false, []string{`{"type":"done","result":` + strings.Repeat("[", 1<<20)}, "deeper than 512"},
		"deep objects":          {false, []string{`{"type":"done","result":` + strings.Repeat(`{"a":`, 1<<18)}, "deeper than 512"},
		"result and error":      {false, []string{`{"type":"done","result":1,"error":{"name":"","message":"","stack":""}}`}, "result and an error"},
		"error of null":         {false, []string{`{"type":"done","error":null}`}, "not an object"},
		"odd error":             {false, []string{`{"type":"done","error":{"name":"","message":"","stack":"","x":1}}`}, `unknown member "x"`},
		"error without message": {false, []string{`{"type":"done","error":{"name":""}}`}, `member "message" is missing`},
	} {
		hostile := func(t *testing.T, start func(testing.TB, context.Context, Options) (*peer, <-chan served)) {
			p, result := start(t, t.Context(), Options{})
			if !test.before {
				p.greet()
				go func() {
					for {
						if _, err := readFrame(p.in, 1<<20); err != nil {
							return
						}
					}
				}()
			}
			for _, f := range test.frames {
				if p.trySend(f) != nil {
					break // the host has seen enough
				}
			}
			r := <-result
			v := new(ViolationError)
			if !errors.As(r.err, &v) && !errors.Is(r.err, ErrHandshake) || !strings.Contains(r.err.Error(), test.want) {
				t.Errorf("error = %v, want one with %q", r.err, test.want)
			}
			if r.out.Done || test.before && r.out.Started {
				t.Errorf("outcome = %+v", r.out)
			}
		}
		t.Run(name, func(t *testing.T) { hostile(t, start) })
		t.Run(name+", over a socket", func(t *testing.T) { hostile(t, startSocket) })
	}
}

func TestOversizedLength(t *testing.T) {
	for _, before := range []bool{true, false} {
		p, result := start(t, t.Context(), Options{})
		if !before {
			p.greet()
		}
		if _, err := p.conn.Write([]byte("\xff\xff\xff\xff")); err != nil {
			t.Fatal(err)
		}
		if r := <-result; r.err == nil || !strings.Contains(r.err.Error(), "a frame of 4294967295 bytes") {
			t.Errorf(`error = %v, want an error and "a frame of 4294967295 bytes" in it`, r.err)
		}
	}
}

// TestLengthIsNotMemory checks that a length costs nothing until its bytes arrive.
func TestLengthIsNotMemory(t *testing.T) {
	var before, after runtime.MemStats
	p, result := start(t, t.Context(), Options{})
	p.greet()
	runtime.ReadMemStats(&before)
	if _, err := p.conn.Write([]byte("\x01\x00\x00\x00{")); err != nil {
		t.Fatal(err)
	}
	p.conn.Close()
	<-result
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("%d bytes allocated for one byte, want at most %d", got, 4<<20)
	}
}

func TestFlood(t *testing.T) {
	t.Run("calls", func(t *testing.T) {
		p, result := start(t, t.Context(), Options{Handler: echo, MaxParallel: 1, maxInFlight: 8})
		p.greet()
		for i := range 20 { // nobody reads the replies
			if p.trySend(fmt.Sprintf(`{"type":"call","id":%d,"tool":"t","args":{}}`, i+1)) != nil {
				break
			}
		}
		if r := <-result; r.err == nil || !strings.Contains(r.err.Error(), "more than 8 calls at once") || r.out.Calls != 8 {
			t.Errorf(`%+v, %v, want an error, "more than 8 calls at once" in it and out.Calls 8`, r.out, r.err)
		}
	})
	t.Run("bytes", func(t *testing.T) {
		p, result := start(t, t.Context(), Options{maxPending: 1000})
		p.greet()
		arg := strings.Repeat("x", 400)
		for i := range 3 {
			if p.trySend(fmt.Sprintf(`{"type":"call","id":%d,"tool":"t","args":{"a":"%s"}}`, i+1, arg)) != nil {
				break
			}
		}
		if r := <-result; r.err == nil || !strings.Contains(r.err.Error(), "more than 1000 bytes of calls") {
			t.Errorf(`%+v, %v, want an error and "more than 1000 bytes of calls" in it`, r.out, r.err)
		}
	})
	t.Run("padding", func(t *testing.T) { // blanks between members stay in memory too
		for _, frame := range []string{`{"type":"call","id":%d,"tool":"t","args":{}%s}`, `{"type":"call","id":%d,"tool":"t","args":{},"options":{%s}}`} {
			p, result := start(t, t.Context(), Options{maxPending: 1000})
			p.greet()
			for i := range 3 {
				if p.trySend(fmt.Sprintf(frame, i+1, strings.Repeat(" ", 400))) != nil {
					break
				}
			}
			if r := <-result; r.err == nil || !strings.Contains(r.err.Error(), "more than 1000 bytes of calls") {
				t.Errorf(`%+v, %v, want an error and "more than 1000 bytes of calls" in it`, r.out, r.err)
			}
		}
	})
	t.Run("unread answers", testUnread)
	t.Run("requests", func(t *testing.T) {
		p, result := start(t, t.Context(), Options{MaxParallel: 1, maxInFlight: 8})
		p.greet()
		for i := range 20 { // calls and requests share one bound
			frame := `{"type":"call","id":%d,"tool":"t","args":{}}`
			if i%2 == 0 {
				frame = `{"type":"request","id":%d,"method":"m","params":{}}`
			}
			if p.trySend(fmt.Sprintf(frame, i+1)) != nil {
				break
			}
		}
		if r := <-result; r.err == nil || !strings.Contains(r.err.Error(), "more than 8 calls at once") || r.out.Calls != 4 {
			t.Errorf(`%+v, %v, want an error, "more than 8 calls at once" in it and out.Calls 4`, r.out, r.err)
		}
	})
	t.Run("total", func(t *testing.T) {
		p, result := start(t, t.Context(), Options{maxTotal: 10_000})
		p.greet()
		arg := strings.Repeat("x", 400)
		for i := range 100 {
			if p.trySend(fmt.Sprintf(`{"type":"call","id":%d,"tool":"t","args":{"a":"%s"}}`, i+1, arg)) != nil {
				break
			}
		}
		if r := <-result; r.err == nil || !strings.Contains(r.err.Error(), "exceed 10000 bytes in total") || r.out.Calls > 25 {
			t.Errorf(`%+v, %v, want an error, "exceed 10000 bytes in total" in it and out.Calls at most 25`, r.out, r.err)
		}
	})
	t.Run("total of answers", func(t *testing.T) {
		large := func(context.Context, *call.Request) (*call.Result, error) {
			return &call.Result{Value: json.RawMessage(`"` + strings.Repeat("x", 3000) + `"`)}, nil
		}
		p, result := start(t, t.Context(), Options{maxTotal: 10_000, Handler: large})
		p.greet()
		for i := range 3 {
			p.send(`{"type":"call","id":%d,"tool":"t","args":{}}`, i+1)
			p.read()
		}
		p.send(`{"type":"call","id":4,"tool":"t","args":{}}`)
		if r := <-result; r.err == nil || !strings.Contains(r.err.Error(), "exceed 10000 bytes in total") {
			t.Errorf(`%+v, %v, want an error and "exceed 10000 bytes in total" in it`, r.out, r.err)
		}
	})
	t.Run("rate", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p, result := start(t, t.Context(), Options{maxRate: 10})
			p.greet()
			begin := time.Now()
			for i := range 40 { // ten at once, the others at ten a second
				p.send(`{"type":"call","id":%d,"tool":"t","args":{}}`, i+1)
				p.read()
			}
			if took := time.Since(begin).Round(100 * time.Millisecond); took != 3*time.Second {
				t.Errorf("40 calls in %v, want %v", took, 3*time.Second)
			}
			p.finish()
			<-result
		})
	})
	t.Run("members", func(t *testing.T) {
		var b strings.Builder
		b.WriteString(`{"type":"done","result":{"":0`)
		for i := range 400_000 {
			fmt.Fprintf(&b, `,"%d":0`, i)
		}
		b.WriteString(`}}`)
		begin := time.Now()
		if _, err := decode([]byte(b.String())); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > time.Minute { // many minutes if the time grew with the square
			t.Errorf("%v for many members, want at most %v", took, time.Minute)
		}
	})
}

// testUnread makes a guest request much and read nothing until all of it is there.
func testUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls, size, room = 20, 100, 3 // of the answers, the number that fits
		value := json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
		p, result := start(t, t.Context(), Options{maxUnread: room * size, Handler: func(context.Context, *call.Request) (*call.Result, error) {
			return &call.Result{Value: value}, nil
		}})
		p.greet()
		for i := range calls {
			p.send(`{"type":"call","id":%d,"tool":"t","args":{}}`, i+1)
		}
		synctest.Wait()
		whole := 0
		for range calls {
			switch reply := p.read(); {
			case strings.Contains(reply, string(value)):
				whole++
			case !strings.Contains(reply, `the answer of 100 bytes was dropped`):
				t.Errorf("reply %s", reply)
			}
		}
		if whole != room {
			t.Errorf("%d answers were kept, want %d", whole, room)
		}
		p.send(`{"type":"call","id":%d,"tool":"t","args":{}}`, calls+1)
		if reply := p.read(); !strings.Contains(reply, string(value)) {
			t.Errorf("after all were read: %s, want %q in it", reply, string(value))
		}
		p.finish()
		<-result
	})
}

// FuzzDecode checks that whatever the decoder accepts has only one meaning.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		helloFrame, `{"type":"call","id":1,"tool":"a__b","args":{"a":[1,-0.5e+3,"\ud83d\ude00\n",null,true]}}`,
		`{"type":"cancel","id":3}`, `{"type":"done","result":{"a":1}}`, `{"type":"request","id":2,"method":"resources/read","params":{"uri":"x"}}`,
		`{"type":"call","id":1,"tool":"a__b","args":{},"options":{"timeoutMs":5000,"raw":true}}`, `{"type":"done"}`,
		`{"type":"done","error":{"name":"E","message":"m","stack":"s"}}`, `{"type":"call","type":"done"}`, "\x00", `{"a":"\u12`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		msg, err := decode(frame)
		if err != nil {
			return
		}
		var std map[string]json.RawMessage
		if err := json.Unmarshal(frame, &std); err != nil {
			t.Fatalf("accepted %q, which encoding/json refuses: %v", frame, err)
		}
		switch msg := msg.(type) {
		case *callMsg:
			args, members := std["args"], 4
			if msg.request {
				args = std["params"]
			}
			if std["options"] != nil {
				members++
			}
			if msg.id < 1 || msg.id > maxID || len(std) != members || string(args) != string(msg.args) || msg.request && (msg.raw || msg.timeout != 0) || msg.timeout < 0 {
				t.Fatalf("%q read as %+v", frame, msg)
			}
		case *hello, *cancel, *done:
		default:
			t.Fatalf("message %T", msg)
		}
	})
}

// FuzzCheckValue checks that what may be put into a frame is valid according to encoding/json.
func FuzzCheckValue(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,{"b":"\ud83d"}]}`))
	f.Add([]byte(`01`))
	f.Fuzz(func(t *testing.T, value []byte) {
		if checkValue(value) == nil && !json.Valid(value) {
			t.Fatalf("accepted %q", value)
		}
	})
}
