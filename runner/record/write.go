package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Writer writes a recording. It is safe for concurrent use; each call of the underlying writer is one whole line.
type Writer struct {
	mask Mask

	mu   sync.Mutex
	w    io.Writer
	left int   // bytes
	err  error // the first that there was; nothing is written after it
}

// maxBytes bounds a recording, also one that is read: a script makes calls, those that are refused too, as fast as a disk
// can take them.
const maxBytes = 512 << 20

var errTooLarge = fmt.Errorf("it has more than %d MiB", maxBytes>>20)

// NewWriter begins a recording.
func NewWriter(w io.Writer, mask Mask) (*Writer, error) {
	out := &Writer{w: w, mask: mask, left: maxBytes}
	return out, out.line(header{kind, version}, "begin the recording")
}

// Write adds a call. The entry is not changed. After an error nothing more is written, and the same error comes back.
func (w *Writer) Write(e Entry) error {
	if err := w.failed(); err != nil {
		return err
	}
	e.Args, e.Value = w.mask.json(e.Args), w.mask.json(e.Value)
	if e.Error != nil {
		e.Error = w.mask.error(e.Error)
		e.Tool = w.mask.text(e.Tool) // of a tool that there is none of, the name is the script's
	}
	return w.line(e, fmt.Sprintf("record call %d", e.Call))
}

func (w *Writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// line writes a line of JSON; what says in words what it is.
func (w *Writer) line(v any, what string) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	err := errTooLarge
	if b.Len() <= w.left {
		w.left -= b.Len()
		_, err = w.w.Write(b.Bytes())
	}
	if err != nil {
		w.err = fmt.Errorf("%s: %w", what, err)
	}
	return w.err
}
