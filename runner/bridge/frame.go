package bridge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

const (
	headerLen = 4
	// maxHello bounds what is read before the guest has authenticated itself.
	maxHello = 4 << 10
	// readStep is how much memory is allocated for a frame before its bytes have arrived, because a guest can claim any length.
	readStep = 256 << 10
	// joinMax is the size up to which the parts of a frame are joined and written at once.
	joinMax = 64 << 10
)

// readFrame reads one frame of at most max bytes. io.EOF means the connection ended between frames.
func readFrame(r io.Reader, max int) ([]byte, error) {
	var header [headerLen]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(header[:]))
	if size > int64(max) {
		return nil, violation("a frame of %d bytes exceeds the limit of %d", size, max)
	}
	frame := make([]byte, 0, min(int(size), readStep))
	for len(frame) < int(size) {
		if len(frame) == cap(frame) {
			grown := make([]byte, len(frame), min(int(size), 4*cap(frame)))
			copy(grown, frame)
			frame = grown
		}
		n, err := io.ReadFull(r, frame[len(frame):cap(frame)])
		frame = frame[:len(frame)+n]
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return frame, nil
}

// writer writes frames whole, from any goroutine. A write that blocks ends when the connection is closed.
type writer struct {
	turn chan struct{} // holds a token during a write; not a mutex, because testing/synctest does not see a mutex block
	conn io.Writer
	max  int
}

func newWriter(conn io.Writer, max int) *writer {
	return &writer{turn: make(chan struct{}, 1), conn: conn, max: max}
}

// write sends one frame made of parts.
func (w *writer) write(parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > w.max {
		return fmt.Errorf("a frame of %d bytes exceeds the limit of %d", size, w.max)
	}
	header := binary.BigEndian.AppendUint32(make([]byte, 0, headerLen), uint32(size))
	if size > joinMax {
		buffers := append(net.Buffers{header}, parts...)
		w.turn <- struct{}{}
		defer func() { <-w.turn }()
		_, err := buffers.WriteTo(w.conn)
		return err
	}
	frame := make([]byte, 0, headerLen+size)
	frame = append(frame, header...)
	for _, p := range parts {
		frame = append(frame, p...)
	}
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	_, err := w.conn.Write(frame)
	return err
}
