package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/call"
)

// socket returns both ends of a unix socket.
func socket(b testing.TB) (host, guest net.Conn) {
	l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	if guest, err = net.Dial("unix", l.Addr().String()); err != nil {
		b.Fatal(err)
	}
	if host, err = l.Accept(); err != nil {
		b.Fatal(err)
	}
	return host, guest
}

// BenchmarkCall measures a call over a unix socket whose handler does nothing, one at a time and many in flight.
func BenchmarkCall(b *testing.B) {
	for _, inFlight := range []int{1, 64} {
		b.Run(fmt.Sprintf("inflight=%d", inFlight), func(b *testing.B) {
			host, guest := socket(b)
			p, result := startOn(b, b.Context(), Options{maxRate: 1e9}, host, guest)
			p.greet()
			sent := 0
			for i := 0; i < b.N+inFlight; i++ {
				if i >= inFlight {
					p.read()
				}
				if i < b.N {
					sent++
					p.send(`{"type":"call","id":%d,"tool":"drive__get_document","args":{"document_id":"abc","page":3}}`, sent)
				}
			}
			b.StopTimer()
			p.finish()
			<-result
		})
	}
}

// BenchmarkLargeReply measures passing on a reply of 5 MB.
func BenchmarkLargeReply(b *testing.B) {
	value := json.RawMessage(`{"rows":[` + strings.Repeat(`{"name":"somebody","n":12345},`, 170_000) + `0]}`)
	host, guest := socket(b)
	p, result := startOn(b, b.Context(), Options{Handler: func(context.Context, *call.Request) (*call.Result, error) {
		return &call.Result{Value: value}, nil
	}}, host, guest)
	p.greet()
	b.SetBytes(int64(len(value)))
	for i := range b.N {
		p.send(`{"type":"call","id":%d,"tool":"t","args":{}}`, i+1)
		p.read()
	}
	b.StopTimer()
	p.finish()
	<-result
}

// BenchmarkDecode measures the strict decoder alone on a call of 1 MB.
func BenchmarkDecode(b *testing.B) {
	frame := []byte(`{"type":"call","id":1,"tool":"t","args":{"rows":[` + strings.Repeat(`{"name":"somebody","n":12345},`, 34_000) + `0]}}`)
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		if _, err := decode(frame); err != nil {
			b.Fatal(err)
		}
	}
}
