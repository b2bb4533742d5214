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

	mu  sync.Mutex
	w   io.Writer
	err error // the first that there was; nothing is written after it
}

// NewWriter begins a recording.
func NewWriter(w io.Writer, mask Mask) (*Writer, error) {
	out := &Writer{w: w, mask: mask}
	if err := out.line(header{kind, version}); err != nil {
		return nil, fmt.Errorf("begin the recording: %w", err)
	}
	return out, nil
}

// Write adds a call. The entry is not changed. After an error nothing more is written, and the same error comes back.
func (w *Writer) Write(e Entry) error {
	e.Args, e.Value = w.mask.json(e.Args), w.mask.json(e.Value)
	if e.Error != nil {
		e.Error = w.mask.error(e.Error)
		e.Tool = w.mask.text(e.Tool) // of a tool that there is none of, the name is the script's
	}
	if err := w.line(e); err != nil {
		return fmt.Errorf("record call %d: %w", e.Call, err)
	}
	return nil
}

func (w *Writer) line(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		_, w.err = w.w.Write(b.Bytes())
	}
	return w.err
}
