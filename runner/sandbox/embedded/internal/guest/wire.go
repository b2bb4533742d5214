//go:build !386 && !arm

package guest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"
	"unsafe"
)

// maxFrame is the protocol's bound on one frame.
const maxFrame = 16 << 20

// wire reads and writes frames: a 4-byte big-endian length and that much JSON. One goroutine may write while others read.
type wire struct {
	conn io.ReadWriter
	raw  syscall.RawConn // of a connection with a descriptor; else nil
	fd   int             // the descriptor; -1: there is none

	mu sync.Mutex // guards in, and keeps frames in their order; not for connections without a descriptor
	in inbox
}

func newWire(conn io.ReadWriter) *wire {
	w := &wire{conn: conn, in: inbox{buf: make([]byte, receive)}}
	w.raw, w.fd = descriptor(conn)
	return w
}

// read waits for the next frame. Nobody else may read yet.
func (w *wire) read() ([]byte, error) {
	for {
		if frame, err := w.in.next(); frame != nil || err != nil {
			return frame, err
		}
		n, err := w.conn.Read(w.in.space())
		if w.in.took(n); n == 0 && err != nil {
			return nil, err
		}
	}
}

// each hands on frames, until got returns false or there are no more. Where the connection has a descriptor, linger may
// take some of them; then got is called there.
func (w *wire) each(got func(frame []byte) bool) error {
	if w.raw == nil {
		for {
			frame, err := w.read()
			if err != nil {
				return err
			}
			if !got(frame) {
				return nil
			}
		}
	}
	for {
		var more bool
		var failed error
		if err := w.raw.Read(func(fd uintptr) bool {
			w.mu.Lock()
			defer w.mu.Unlock()
			more, failed = w.hand(got)
			if !more || failed != nil {
				return true
			}
			var n int
			n, failed = readNow(fd, w.in.space())
			w.in.took(max(n, 0))
			if n > 0 { // now: linger takes it that no whole frame is left, and that there is space
				more, failed = w.hand(got)
			}
			return n >= 0 // else there is nothing yet
		}); err != nil {
			return err
		}
		if failed != nil || !more {
			return failed
		}
	}
}

// hand hands on the frames that are whole, and tells whether there may be more to come. The mutex is held.
func (w *wire) hand(got func(frame []byte) bool) (more bool, err error) {
	for {
		frame, err := w.in.next()
		if frame == nil || err != nil {
			return true, err
		}
		if !got(frame) {
			return false, nil
		}
	}
}

// largeFrame is the size from which a frame is sent piece by piece instead of being put together first.
const largeFrame = 64 << 10

// write sends one frame made of parts, as one write where it is small.
func (w *wire) write(parts ...string) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > maxFrame {
		return fmt.Errorf("a frame of %d bytes; at most %d can be sent", size, maxFrame)
	}
	if size >= largeFrame {
		pieces := net.Buffers{binary.BigEndian.AppendUint32(nil, uint32(size))}
		for _, p := range parts {
			pieces = append(pieces, unsafe.Slice(unsafe.StringData(p), len(p))) // only read
		}
		_, err := pieces.WriteTo(w.conn)
		return err
	}
	b := make([]byte, 4, 4+size)
	binary.BigEndian.PutUint32(b, uint32(size))
	for _, p := range parts {
		b = append(b, p...)
	}
	_, err := w.conn.Write(b)
	return err
}

func (w *wire) send(frame any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(frame); err != nil {
		return err
	}
	return w.write(string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

// reply is an answer to a call: exactly one of value and err is JSON text. As says what the value is to become.
type reply struct {
	id         int64
	as         string
	value, err []byte
}

// parseReply takes a reply apart without parsing its value: the host writes members in a fixed order without spaces.
func parseReply(frame []byte) (reply, bool) {
	rest, ok := bytes.CutPrefix(frame, []byte(`{"type":"reply","id":`))
	if !ok || len(rest) == 0 || rest[len(rest)-1] != '}' {
		return reply{}, false
	}
	digits, rest, ok := bytes.Cut(rest[:len(rest)-1], []byte(","))
	if !ok {
		return reply{}, false
	}
	id, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		return reply{}, false
	}
	as := ""
	if quoted, ok := bytes.CutPrefix(rest, []byte(`"as":"`)); ok {
		word, after, ok := bytes.Cut(quoted, []byte(`",`))
		if !ok {
			return reply{}, false
		}
		as, rest = string(word), after
	}
	if v, ok := bytes.CutPrefix(rest, []byte(`"value":`)); ok {
		return reply{id: id, as: as, value: v}, true
	}
	if v, ok := bytes.CutPrefix(rest, []byte(`"error":`)); ok {
		return reply{id: id, err: v}, true
	}
	return reply{}, false
}
