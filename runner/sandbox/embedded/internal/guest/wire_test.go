//go:build !386 && !arm

package guest

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// connected returns a wire over a socket, and its other end.
func connected(t *testing.T) (*wire, net.Conn) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return newWire(ours), theirs
}

func frameOf(text string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...)
}

// TestLinger: what comes while the guest waits for it is handed on there, what comes at another time by the reader, and
// all of it in order, whatever its size and however it is cut.
func TestLinger(t *testing.T) {
	w, host := connected(t)
	texts := []string{"", "a", strings.Repeat("b", receive-4), strings.Repeat("c", receive-3), strings.Repeat("d", 3*receive), "e", "f"}
	var stream []byte
	for _, text := range texts {
		stream = append(stream, frameOf(text)...)
	}
	cuts := []int{97, 1000, receive, len(stream)}
	go func() {
		for _, cut := range cuts {
			for rest := stream; len(rest) > 0; {
				n := min(len(rest), cut)
				if _, err := host.Write(rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
			time.Sleep(time.Millisecond) // so that the other end waits
		}
		host.Close()
	}()
	count := 0
	got := func(frame []byte) bool {
		if want := texts[count%len(texts)]; string(frame) != want {
			t.Errorf("frame %d has %d bytes, want %d", count, len(frame), len(want))
		}
		count++
		return true
	}
	ended := make(chan error)
	go func() { ended <- w.each(got) }()
	for {
		select {
		case err := <-ended:
			if err != io.EOF || count != len(cuts)*len(texts) {
				t.Errorf("%d of %d frames, then %v", count, len(cuts)*len(texts), err)
			}
			return
		default:
			w.linger(time.Millisecond, got)
		}
	}
}

func TestLingerEnds(t *testing.T) {
	w, host := connected(t)
	go host.Write(frameOf("answer"))
	answered := false
	for range 1000 { // each is over soon
		if w.linger(time.Hour, func(frame []byte) bool { answered = string(frame) == "answer"; return true }) {
			break
		}
	}
	if !answered && runtime.GOOS == "linux" {
		t.Error("what came was not handed on")
	}
	start := time.Now()
	if w.linger(time.Hour, nil) || time.Since(start) > 10*time.Second {
		t.Error("waited for nothing")
	}
	host.Close()
	if w.linger(time.Hour, nil) {
		t.Error("handed on the end")
	}
	if err := w.each(nil); err != io.EOF {
		t.Errorf("the reader finds %v", err)
	}
	w, host = connected(t)
	if _, err := host.Write(binary.BigEndian.AppendUint32(nil, maxFrame+1)); err != nil {
		t.Fatal(err)
	}
	if err := w.each(nil); err == nil || !strings.Contains(err.Error(), "a frame of 16777217 bytes") {
		t.Errorf("the reader finds %v", err)
	}
}
