//go:build !386 && !arm

package guest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// maxFrame is the protocol's bound on one frame.
const maxFrame = 16 << 20

// wire reads and writes frames: a 4-byte big-endian length and that much JSON. One goroutine may read while another
// writes.
type wire struct {
	conn io.ReadWriter
	in   *bufio.Reader
}

func newWire(conn io.ReadWriter) *wire {
	return &wire{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
}

func (w *wire) read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(w.in, b)
	return b, err
}

// write sends one frame made of parts, as one write where it is small.
func (w *wire) write(parts ...string) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > maxFrame {
		return fmt.Errorf("a frame of %d bytes; at most %d can be sent", size, maxFrame)
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

// reply is an answer to a call: exactly one of value and err is JSON text.
type reply struct {
	id         int64
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
	if v, ok := bytes.CutPrefix(rest, []byte(`"value":`)); ok {
		return reply{id: id, value: v}, true
	}
	if v, ok := bytes.CutPrefix(rest, []byte(`"error":`)); ok {
		return reply{id: id, err: v}, true
	}
	return reply{}, false
}

// maxDepth is the protocol's bound on nesting; a call's arguments lie one level below their frame.
const maxDepth = 512 - 1

// tidyJSON makes JSON text that the engine wrote fit for a frame: escapes of lone surrogates, which are not UTF-8, become
// U+FFFD. It refuses text that is nested too deep.
func tidyJSON(text string) (string, error) {
	depth, inString, lone := 0, false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			if _, half := surrogate(text, i); half {
				lone = true
			}
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return "", fmt.Errorf("nested more than %d deep", maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	if !lone {
		return text, nil
	}
	var b []byte
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b = append(b, text[i])
			continue
		}
		size, half := surrogate(text, i)
		if half {
			b = append(b, `\ufffd`...)
		} else {
			b = append(b, text[i:i+size]...)
		}
		i += size - 1
	}
	return string(b), nil
}

// surrogate looks at the escape at text[i] and returns its length, both halves together, and whether it is half a pair.
func surrogate(text string, i int) (size int, half bool) {
	high, ok := hexEscape(text, i)
	switch {
	case !ok:
		return 2, false
	case high < 0xd800 || high > 0xdfff:
		return 6, false
	case high >= 0xdc00:
		return 6, true
	}
	if low, ok := hexEscape(text, i+6); ok && low >= 0xdc00 && low <= 0xdfff {
		return 12, false
	}
	return 6, true
}

func hexEscape(text string, i int) (uint64, bool) {
	if i+6 > len(text) || text[i] != '\\' || text[i+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[i+2:i+6], 16, 16)
	return n, err == nil
}
