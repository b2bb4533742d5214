package bridge

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/call"
)

// These tests use sockets, as sandboxes do.

// startSocket is start with a socket.
func startSocket(t testing.TB, ctx context.Context, opts Options) (*peer, <-chan served) {
	t.Helper()
	host, guest := socketPair(t)
	return startOn(t, ctx, opts, host, guest)
}

// socketPair returns both ends of a connection.
func socketPair(t testing.TB) (host, guest net.Conn) {
	t.Helper()
	folder, err := os.MkdirTemp("", "b") // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	l, err := net.Listen("unix", filepath.Join(folder, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if guest, err = net.Dial("unix", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if host, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return host, guest
}

// TestCutFrames sends calls in two pieces, split at each byte, and several frames in one piece.
func TestCutFrames(t *testing.T) {
	var seq atomic.Int64
	p, result := startSocket(t, t.Context(), Options{Handler: func(_ context.Context, req *call.Request) (*call.Result, error) {
		if int64(req.Seq) != seq.Add(1) {
			t.Errorf("call %d comes as %d", seq.Load(), req.Seq)
		}
		return &call.Result{Value: req.Args}, nil
	}})
	p.greet()
	id := int64(0)
	frame := func() []byte {
		id++
		text := fmt.Sprintf(`{"type":"call","id":%d,"tool":"t","args":{"i":%d}}`, id, id)
		return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
	}
	write := func(b []byte) {
		if _, err := p.conn.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	answered := func(want int64) {
		if r := p.reply(); r.ID != want || string(r.Value) != fmt.Sprintf(`{"i":%d}`, want) {
			t.Fatalf("answer %+v, want that of %d", r, want)
		}
	}
	const size = 60
	for i := range 4 * size {
		one := frame()
		cut := i % len(one)
		write(one[:cut])
		if i%3 == 0 {
			time.Sleep(time.Millisecond)
		}
		write(one[cut:])
		answered(id)
		if i%5 == 0 { // a cancel and a call in one write
			text := fmt.Sprintf(`{"type":"cancel","id":%d}`, id)
			write(append(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), frame()...))
			answered(id)
		}
	}
	p.finish()
	if r := <-result; r.err != nil || int64(r.out.Calls) != id {
		t.Errorf("%+v, %v, want %d calls", r.out, r.err, id)
	}
}

// TestHalfOpen: a guest that closes its writing half, during a call or between two calls, counts as gone.
func TestHalfOpen(t *testing.T) {
	for _, during := range []bool{true, false} {
		asked, ended := make(chan struct{}, 1), make(chan struct{}, 1)
		p, result := startSocket(t, t.Context(), Options{Handler: func(ctx context.Context, req *call.Request) (*call.Result, error) {
			if !during {
				return nil, nil
			}
			asked <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return nil, ctx.Err()
		}})
		p.greet()
		p.send(`{"type":"call","id":1,"tool":"t","args":{}}`)
		if during {
			<-asked
		} else {
			p.reply()
		}
		if err := p.conn.(*net.UnixConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if r := <-result; !errors.Is(r.err, ErrClosed) || r.out.Calls != 1 {
			t.Errorf("%+v, %v, want %v and out.Calls 1", r.out, r.err, ErrClosed)
		}
		if during {
			<-ended
		}
	}
}

// TestRunsLeaveNothing serves many guests that end in all ways, and then counts open descriptors.
func TestRunsLeaveNothing(t *testing.T) {
	runs := func(n int) {
		for i := range n {
			ctx, cancel := context.WithCancelCause(t.Context())
			host, guest := socketPair(t)
			p, result := startOn(t, ctx, Options{}, host, guest)
			if i%5 != 0 {
				p.greet()
				p.send(`{"type":"call","id":1,"tool":"t","args":{}}`)
				p.reply()
			}
			switch i % 5 {
			case 1:
				p.finish()
			case 2:
				cancel(ErrClosed)
			}
			guest.Close()
			<-result
			cancel(nil)
		}
	}
	runs(50)
	files, routines := opened(t), runtime.NumGoroutine()
	runs(400)
	for end := time.Now().Add(30 * time.Second); opened(t) > files || runtime.NumGoroutine() > routines; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d descriptors and %d goroutines, before %d and %d", opened(t), runtime.NumGoroutine(), files, routines)
		}
	}
}

// opened counts this process's descriptors, if the system reports them.
func opened(t *testing.T) int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Logf("descriptors are not counted: %v", err)
	}
	return len(names)
}

// TestEndedRunSaysNothing: if the end of a run cancels a call, the script is not told that the call itself failed.
func TestEndedRunSaysNothing(t *testing.T) {
	for range 50 {
		ctx, cut := context.WithCancelCause(t.Context())
		asked := make(chan struct{})
		p, result := startSocket(t, ctx, Options{Handler: func(ctx context.Context, _ *call.Request) (*call.Result, error) {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		}})
		p.greet()
		p.send(`{"type":"call","id":1,"tool":"t","args":{}}`)
		<-asked
		cut(ErrClosed)
		if frame, err := readFrame(p.in, 1<<20); err == nil {
			t.Fatalf("the guest hears %s: got no error, want an error", frame)
		}
		<-result
		cut(nil)
	}
}
