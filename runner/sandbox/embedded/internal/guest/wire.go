package guest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strconv"
	"unsafe"
)

// maxFrame bounds a frame of the protocol, in bytes.
const maxFrame = 16 << 20

// wire reads and writes frames: a 4-byte big-endian length followed by that many bytes of JSON. One goroutine may write while another
// reads.
type wire struct {
	conn io.Writer
	in   *bufio.Reader
}

func newWire(conn io.ReadWriter) *wire {
	return &wire{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

// read waits for the next frame, which the caller may keep.
func (w *wire) read() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(w.in, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes exceeds the limit of %d", n, maxFrame)
	}
	frame := make([]byte, n)
	if _, err := io.ReadFull(w.in, frame); err != nil {
		return nil, err
	}
	return frame, nil
}

// largeFrame is the size, in bytes, from which a frame is written part by part instead of being joined first.
const largeFrame = 64 << 10

// write sends one frame made of parts. A small frame takes one write.
func (w *wire) write(parts ...string) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > maxFrame {
		return fmt.Errorf("a frame of %d bytes exceeds the limit of %d", size, maxFrame)
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

// reply is the answer to a call: exactly one of value and err holds JSON text. The field as says how the guest presents value.
type reply struct {
	id         int64
	as         string
	value, err []byte
}

// parseReply splits a reply without parsing its value, because the host writes members in a fixed order and without spaces.
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

// mustJSON encodes strings and structs of strings, which cannot fail to encode.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
