package pii

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/pii/detect"
	"github.com/mcpgen/mcpgen/runner/pii/internal/rawjson"
)

const (
	// maxHeld bounds what an OutletWriter holds back, in bytes.
	maxHeld = 1 << 20
	// pauseFactor times what it took to mask the last part is the pause before the next one, at most maxPause: a script that prints many lines
	// with new values does not wait for a write of the vault with each.
	pauseFactor = 10
	maxPause    = time.Second / 2
)

// OutletWriter masks a stream of text. A line is passed on when it is complete, also if it ends with a carriage return, as progress does; JSON of
// several lines, or a private key, when all of it is there. Lines that follow each other fast are passed on together, at most half a second later.
// At most 1 MiB is held back. It is safe for concurrent use.
type OutletWriter struct {
	o    *Outlet
	w    io.Writer
	mu   sync.Mutex
	held []byte
	json rawjson.Scanner // of held
	head string          // the line of column names of the table that was last passed on
	err  error

	passed time.Time // when something was last passed on
	pause  time.Duration
	timer  *time.Timer // set if passLater will be called

	half bool // what was last passed on ends with a carriage return, perhaps of a line's end
}

// Writer returns a writer that masks a stream and passes it on to w. Its owner calls Flush or Close at the end.
func (o *Outlet) Writer(w io.Writer) *OutletWriter {
	return &OutletWriter{o: &Outlet{outletState: o.outletState, inside: o.inside, restored: o.restored, added: &addition{}}, w: w}
}

// Write takes p and passes on what is complete. The error is that of the writer below.
func (w *OutletWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	was := w.json.IsOpen()
	for _, c := range p {
		w.json.Step(len(w.held), c)
		w.held = append(w.held, c)
	}
	if !bytes.ContainsAny(p, "\r\n") && was == w.json.IsOpen() && len(w.held) <= maxHeld {
		return len(p), nil
	}
	switch wait := w.pause - time.Since(w.passed); {
	case wait <= 0 || len(w.held) > maxHeld:
		w.err = w.pass(w.complete())
	case w.timer == nil:
		w.timer = time.AfterFunc(wait, w.passLater)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// passLater passes on what is complete after a pause.
func (w *OutletWriter) passLater() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = nil
	if w.err == nil {
		w.err = w.pass(w.complete())
	}
}

// complete returns how much of what is held back is passed on.
func (w *OutletWriter) complete() int {
	end := len(w.held)
	if w.json.IsOpen() {
		end = w.json.Start()
	}
	end = w.lineBefore(end)
	for _, p := range w.json.Done {
		if p.Start < end && end < p.End { // its last line is not complete
			end = w.lineBefore(p.Start)
		}
	}
	if key := bytes.LastIndex(w.held[:end], []byte("-----BEGIN ")); key >= 0 && !bytes.Contains(w.held[key:end], []byte("-----END ")) {
		end = w.lineBefore(key)
	}
	if len(w.held)-end <= maxHeld {
		return end
	}
	w.json = rawjson.Scanner{}
	for _, ends := range []string{"\r\n", ",; "} {
		if end := bytes.LastIndexAny(w.held, ends) + 1; end > 0 {
			return end
		}
	}
	return len(w.held)
}

// lineBefore returns where the line at i begins.
func (w *OutletWriter) lineBefore(i int) int { return bytes.LastIndexAny(w.held[:i], "\r\n") + 1 }

// Flush passes on all that is held back.
func (w *OutletWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.json = rawjson.Scanner{}
	if w.err == nil {
		w.err = w.pass(len(w.held))
	}
	return w.err
}

// Close is Flush; it does not close the writer below.
func (w *OutletWriter) Close() error { return w.Flush() }

// pass passes on the beginning of what is held back.
func (w *OutletWriter) pass(end int) error {
	if end == 0 {
		return nil
	}
	text := string(w.held[:end])
	w.held = append(w.held[:0], w.held[end:]...)
	w.json.Passed(end)
	start := time.Now()
	masked := w.mask(text)
	w.passed = time.Now()
	w.pause = min(pauseFactor*w.passed.Sub(start), maxPause)
	_, err := io.WriteString(w.w, masked)
	return err
}

// mask masks the next part of the stream. If it may be the rest of a table, the names of the columns count.
func (w *OutletWriter) mask(text string) string {
	if rest, ok := strings.CutPrefix(text, "\n"); ok && w.half {
		w.half = false
		return "\n" + w.mask(rest)
	}
	w.half = strings.HasSuffix(text, "\r")
	head := w.head
	w.head = detect.Header(head, text)
	if head != "" {
		if masked, ok := strings.CutPrefix(w.o.Mask(head+"\n"+text), head+"\n"); ok {
			return masked
		}
	}
	return w.o.Mask(text)
}
