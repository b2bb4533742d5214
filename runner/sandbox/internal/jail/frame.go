package jail

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// maxFrame bounds the size of a frame in bytes; none needs nearly as much.
const maxFrame = 64 << 20

// WriteFrame sends a value as JSON, preceded by its length in 4 bytes.
func WriteFrame(w io.Writer, what any) error {
	body, err := json.Marshal(what)
	if err != nil {
		return err
	}
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	if _, err := w.Write(append(frame, body...)); err != nil {
		return fmt.Errorf("send a frame: %w", err)
	}
	return nil
}

// ReadFrame reads a value sent by WriteFrame.
func ReadFrame(r io.Reader, what any) error {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return fmt.Errorf("read a frame: %w", err)
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > maxFrame {
		return fmt.Errorf("read a frame: it has %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return fmt.Errorf("read a frame: %w", err)
	}
	if err := json.Unmarshal(body, what); err != nil {
		return fmt.Errorf("read a frame: %w", err)
	}
	return nil
}
