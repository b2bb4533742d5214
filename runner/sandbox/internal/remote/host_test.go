package remote

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// recorded receives what the host sends.
type recorded struct {
	mu  sync.Mutex
	buf []byte
}

func (r *recorded) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, p...)
	return len(p), nil
}

// frames splits it into frames.
func (r *recorded) frames() (kinds []byte, payloads map[byte][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	payloads = map[byte][]byte{}
	for b := r.buf; len(b) >= headBytes; {
		n := headBytes + int(binary.BigEndian.Uint32(b[1:]))
		kinds = append(kinds, b[0])
		payloads[b[0]] = append(payloads[b[0]], b[headBytes:n]...)
		b = b[n:]
	}
	return kinds, payloads
}

func exit(code uint32) []byte {
	b := binary.BigEndian.AppendUint32(nil, code)
	b = binary.BigEndian.AppendUint32(b, 2)
	b = binary.BigEndian.AppendUint32(b, 3)
	b = binary.BigEndian.AppendUint64(b, uint64(4*time.Second))
	return binary.BigEndian.AppendUint64(b, 5)
}

func grantFrame(kind byte, n uint32) []byte {
	return frame(kindGrant, binary.BigEndian.AppendUint32([]byte{kind}, n))
}

func feedHost(t *testing.T, h *Host, frames ...[]byte) {
	t.Helper()
	for _, f := range frames {
		if _, err := h.Write(f); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEverythingArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := &recorded{}
		h := NewHost(sent)
		defer h.Bridge().Close()
		if err := h.Start("secret", []string{"python3", "-I", "main.py"}); err != nil {
			t.Fatal(err)
		}
		if err := h.Run(Run{Bytes: 1, Files: 2, CPU: time.Second}); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		h.Connect(strings.NewReader("typed"), &stdout, &stderr)
		// A frame may arrive in any pieces.
		all := slices.Concat(frame(kindBridge, []byte("hello")), frame(kindStdout, []byte("out")), frame(kindStderr, []byte("err")),
			frame(kindLimit, []byte("disk")), frame(kindExited, exit(7)), frame(kindStdout|closed, nil), frame(kindStderr|closed, nil), frame(kindDone, nil))
		for _, b := range all {
			feedHost(t, h, []byte{b})
		}
		<-h.spoke
		hello := make([]byte, 5)
		if _, err := io.ReadFull(h.Bridge(), hello); err != nil || string(hello) != "hello" {
			t.Errorf(`the bridge says %q, %v, want "hello" and no error`, hello, err)
		}
		if _, err := h.Bridge().Write([]byte("job")); err != nil {
			t.Fatal(err)
		}
		<-h.Exited()
		<-h.complete
		if got := <-h.limits; got != "disk" {
			t.Errorf(`limit %q, want "disk"`, got)
		}
		if want := (Exit{Code: 7, OOMs: 2, Forks: 3, CPU: 4 * time.Second, Memory: 5}); h.Exit() != want {
			t.Errorf("%+v, want %+v", h.Exit(), want)
		}
		synctest.Wait() // everything in flight is sent
		h.Finish()
		h.End()
		h.Streams()
		if _, err := h.Bridge().Read(hello); err != io.EOF {
			t.Errorf("the bridge goes on: %v, want %v", err, io.EOF)
		}
		synctest.Wait()
		if got := stdout.String() + "|" + stderr.String(); got != "out|err" {
			t.Errorf(`got %q, want "out|err"`, got)
		}
		kinds, payloads := sent.frames()
		for kind, want := range map[byte]string{
			kindStart: "secret\x00python3\x00-I\x00main.py", kindRun: "1\x002\x001000000000",
			kindStdin: "typed", kindBridge: "job",
		} {
			if got := string(payloads[kind]); got != want {
				t.Errorf("%c was sent as %q, want %q", kind, got, want)
			}
		}
		if !slices.Contains(kinds, kindStdin|closed) || !slices.Contains(kinds, byte(kindQuit)) || !slices.Contains(kinds, kindBridge|closed) {
			t.Errorf("sent %q", kinds)
		}
	})
}

// A guest that reads no input must still get its replies, and a slow reader must not let memory fill up.
func TestChannelsDoNotHoldEachOtherUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := &recorded{}
		h := NewHost(sent)
		defer h.Bridge().Close()
		slow, slowEnd := io.Pipe()
		h.Connect(strings.NewReader(strings.Repeat("x", 3*Window)), slowEnd, nil)
		synctest.Wait()
		if _, payloads := sent.frames(); len(payloads[kindStdin]) != Window {
			t.Fatalf("%d bytes of input were sent without a grant, want %d", len(payloads[kindStdin]), Window)
		}
		if _, err := h.Bridge().Write([]byte("reply")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, payloads := sent.frames(); string(payloads[kindBridge]) != "reply" {
			t.Error(`the bridge waits for the input to be read, want string(payloads[kindBridge]) "reply"`)
		}
		feedHost(t, h, grantFrame(kindStdin, 100))
		synctest.Wait()
		if _, payloads := sent.frames(); len(payloads[kindStdin]) != Window+100 {
			t.Errorf("a grant of 100 bytes led to %d, want len(payloads[kindStdin]) %v", len(payloads[kindStdin])-Window, Window+100)
		}
		// Output that nobody reads fills its window, and no more is accepted.
		for range Window / maxFrame {
			feedHost(t, h, frame(kindStdout, make([]byte, maxFrame)))
		}
		var odd *ProtocolError
		if _, err := h.Write(frame(kindStdout, []byte("x"))); !errors.As(err, &odd) {
			t.Errorf("more than the window was taken: %v", err)
		}
		feedHost(t, h, frame(kindStderr, []byte("still taken")))
		// Once it is read, more is granted.
		go io.Copy(io.Discard, slow)
		synctest.Wait()
		_, payloads := sent.frames()
		if granted := payloads[kindGrant]; len(granted) < headBytes || granted[0] != kindStdout {
			t.Errorf("granted %v, want len(granted) at least %v and granted[0] %v", granted, headBytes, kindStdout)
		}
		h.End()
		h.Streams()
		slowEnd.Close()
	})
}

func TestRulesAreKept(t *testing.T) {
	for name, frames := range map[string][][]byte{
		"unknown kind":        {frame('?', nil)},
		"a kind for us only":  {frame(kindStart, nil)},
		"a giant":             {{kindStdout, 0xff, 0xff, 0xff, 0xff}},
		"two ends":            {frame(kindExited, exit(0)), frame(kindExited, exit(1))},
		"complete twice":      {frame(kindDone, nil), frame(kindDone, nil)},
		"more after the end":  {frame(kindStdout|closed, nil), frame(kindStdout, []byte("x"))},
		"a short status":      {frame(kindExited, []byte{1})},
		"a grant too large":   {grantFrame(kindBridge, 1)},
		"a grant for nothing": {grantFrame('?', 1)},
		"a short grant":       {frame(kindGrant, []byte{kindBridge})},
		"many limits":         slices.Repeat([][]byte{frame(kindLimit, []byte("cpu"))}, maxLimits+1),
	} {
		t.Run(name, func(t *testing.T) {
			h := NewHost(io.Discard)
			defer h.Bridge().Close()
			defer h.End()
			var err error
			for _, f := range frames {
				if err == nil {
					_, err = h.Write(f)
				}
			}
			var odd *ProtocolError
			if !errors.As(err, &odd) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestNothingIsSmuggledIntoAStart(t *testing.T) {
	h := NewHost(io.Discard)
	defer h.Bridge().Close()
	defer h.End()
	if err := h.Start("a\x00b", []string{"python3"}); err == nil {
		t.Error("a NUL in the secret is taken: got no error, want an error")
	}
	if err := h.Start("secret", []string{strings.Repeat("x", maxFrame)}); err == nil {
		t.Error("a command that fits into no frame is taken: got no error, want an error")
	}
}

func FuzzHost(f *testing.F) {
	f.Add(slices.Concat(frame(kindBridge, []byte("x")), frame(kindExited, exit(1)), frame(kindDone, nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := NewHost(io.Discard)
		h.Connect(nil, nil, nil)
		_, err := h.Write(b)
		var odd *ProtocolError
		if err != nil && !errors.As(err, &odd) {
			t.Errorf("error %v", err)
		}
		h.Bridge().Close()
		h.End()
		h.Streams()
	})
}
