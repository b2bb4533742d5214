package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Writer writes a recording. It is safe for concurrent use. It writes each line with one call of the underlying writer.
type Writer struct {
	mask Mask

	mu   sync.Mutex
	w    io.Writer
	left int   // bytes
	err  error // the first error; nothing is written after it
}

// maxBytes bounds a recording when it is written or read, because a script can make calls as fast as the disk writes them.
const maxBytes = 512 << 20

var errTooLarge = fmt.Errorf("the recording has more than %d MiB", maxBytes>>20)

// NewWriter writes the header of a recording and returns its Writer.
func NewWriter(w io.Writer, mask Mask) (*Writer, error) {
	out := &Writer{w: w, mask: mask, left: maxBytes}
	return out, out.line(header{kind, version}, "begin the recording")
}

// Write adds a call. It does not change what the entry refers to. After an error it writes nothing more and returns the same error.
func (w *Writer) Write(e Entry) error {
	if err := w.failed(); err != nil {
		return err
	}
	e.Args, e.Value = w.mask.Value(e.Args), w.mask.Value(e.Value)
	if e.Error != nil {
		e.Error = w.mask.error(e.Error)
		e.Tool = w.mask.String(e.Tool) // the name of an unknown tool is the script's text
	}
	return w.line(e, fmt.Sprintf("record call %d", e.Call))
}

func (w *Writer) failed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// line writes a value as a line of JSON. Errors begin with what.
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
