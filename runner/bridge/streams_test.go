package bridge

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// echoStreams answers each stream with what it gets, in capital letters.
func echoStreams(c net.Conn) {
	go func() {
		defer c.Close()
		buf := make([]byte, 100<<10)
		for {
			n, err := c.Read(buf)
			if _, werr := c.Write(bytes.ToUpper(buf[:n])); err != nil || werr != nil {
				return
			}
		}
	}()
}

type streamFrame struct {
	Type   string
	Stream int64
	Data   []byte
	Bytes  int64
}

func (p *peer) stream() streamFrame {
	p.t.Helper()
	var f streamFrame
	if err := json.Unmarshal([]byte(p.read()), &f); err != nil {
		p.t.Fatal(err)
	}
	return f
}

func (p *peer) data(id int64, text string) {
	p.t.Helper()
	p.send(`{"type":"data","stream":%d,"data":"%s"}`, id, base64.StdEncoding.EncodeToString([]byte(text)))
}

func TestStreams(t *testing.T) {
	p, result := start(t, t.Context(), Options{Connect: echoStreams})
	p.greet()
	for id := int64(1); id <= 3; id++ {
		p.send(`{"type":"open","stream":%d}`, id)
		p.data(id, "hello")
		got := map[string]streamFrame{}
		for range 2 {
			f := p.stream()
			got[f.Type] = f
		}
		if string(got["data"].Data) != "HELLO" || got["data"].Stream != id || got["more"].Bytes != 5 {
			t.Errorf("stream %d: got %+v, want HELLO and more of 5 bytes", id, got)
		}
	}
	p.send(`{"type":"shut","stream":2}`)
	if f := p.stream(); f.Type != "close" || f.Stream != 2 {
		t.Errorf("after shut: %+v, want close", f)
	}
	p.send(`{"type":"more","stream":2,"bytes":5}`) // it was on its way
	p.send(`{"type":"close","stream":3}`)
	p.send(`{"type":"call","id":1,"tool":"a__b","args":{}}`)
	if r := p.reply(); r.ID != 1 || r.Error != nil {
		t.Errorf("a call beside streams: %+v, want its value", r)
	}
	p.finish()
	if got := <-result; got.err != nil {
		t.Errorf("Serve() = %v", got.err)
	}
}

// TestStreamWindow: without more, the host sends no more than a window.
func TestStreamWindow(t *testing.T) {
	p, result := start(t, t.Context(), Options{Connect: func(c net.Conn) {
		go func() {
			defer c.Close()
			_, _ = c.Write(make([]byte, 2*window))
		}()
	}})
	p.greet()
	p.send(`{"type":"open","stream":1}`)
	got := 0
	for got < window {
		f := p.stream()
		if f.Type != "data" || len(f.Data) > maxData {
			t.Fatalf("frame %s of %d bytes", f.Type, len(f.Data))
		}
		got += len(f.Data)
	}
	p.send(`{"type":"call","id":1,"tool":"a__b","args":{}}`)
	if r := p.reply(); r.Type != "reply" {
		t.Errorf("after a window: %+v, want the reply and no more data", r)
	}
	for got < 2*window {
		p.send(`{"type":"more","stream":1,"bytes":%d}`, maxData)
		for sent := 0; sent < maxData; {
			f := p.stream()
			sent += len(f.Data)
			got += len(f.Data)
		}
	}
	p.send(`{"type":"more","stream":1,"bytes":%d}`, maxData)
	if f := p.stream(); f.Type != "close" {
		t.Errorf("at the end: %+v, want close", f)
	}
	p.finish()
	if r := <-result; r.err != nil {
		t.Errorf("Serve() = %v", r.err)
	}
}

func TestTooManyStreams(t *testing.T) {
	p, _ := start(t, t.Context(), Options{Connect: func(c net.Conn) { go io.Copy(io.Discard, c) }})
	p.greet()
	for id := 1; id <= maxStreams; id++ {
		p.send(`{"type":"open","stream":%d}`, id)
	}
	p.send(`{"type":"open","stream":%d}`, maxStreams+1)
	if f := p.stream(); f.Type != "close" || f.Stream != maxStreams+1 {
		t.Errorf("one too many: %+v, want close", f)
	}
}

func TestStreamViolations(t *testing.T) {
	some := base64.StdEncoding.EncodeToString(make([]byte, maxData))
	hang := func(c net.Conn) {}
	for name, tt := range map[string]struct {
		connect func(net.Conn)
		frames  []string
	}{
		"no network":      {nil, []string{`{"type":"open","stream":1}`}},
		"not opened":      {hang, []string{`{"type":"data","stream":1,"data":"YQ=="}`}},
		"twice":           {hang, []string{`{"type":"open","stream":1}`, `{"type":"open","stream":1}`}},
		"zero":            {hang, []string{`{"type":"open","stream":0}`}},
		"no base64":       {hang, []string{`{"type":"open","stream":1}`, `{"type":"data","stream":1,"data":"?"}`}},
		"empty":           {hang, []string{`{"type":"open","stream":1}`, `{"type":"data","stream":1,"data":""}`}},
		"too large":       {hang, []string{`{"type":"open","stream":1}`, `{"type":"data","stream":1,"data":"` + some + `YQ=="}`}},
		"beyond":          {hang, append([]string{`{"type":"open","stream":1}`}, strings.Split(strings.Repeat(`{"type":"data","stream":1,"data":"`+some+"\"}\n", 5), "\n")[:5]...)},
		"after its end":   {hang, []string{`{"type":"open","stream":1}`, `{"type":"shut","stream":1}`, `{"type":"data","stream":1,"data":"YQ=="}`}},
		"too much credit": {hang, []string{`{"type":"open","stream":1}`, `{"type":"more","stream":1,"bytes":1}`}},
		"other members":   {hang, []string{`{"type":"open","stream":1,"host":"x"}`}},
	} {
		p, result := start(t, t.Context(), Options{Connect: tt.connect})
		p.greet()
		for _, f := range tt.frames {
			if p.trySend(f) != nil {
				break
			}
		}
		select {
		case got := <-result:
			if _, ok := errors.AsType[*ViolationError](got.err); !ok {
				t.Errorf("%s: Serve() = %v, want a violation", name, got.err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: the connection goes on, want a violation", name)
		}
	}
}
