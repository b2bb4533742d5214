// Package output passes on what a script prints, up to a limit, and keeps all of it in the workspace.
//
// An [Output] counts the characters of standard output and standard error together. If there are more than the limit allows, each stream
// that was cut is written to a file in the workspace as a whole, and a last line says how much was cut and where the file is. The last
// 2,000 characters of standard error follow, because that is where errors are.
package output

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// errorTail is the number of characters at the end of standard error that are shown when its middle is cut.
const errorTail = 2000

// folder is the folder of the files, below the store of the workspace.
const folder = "output"

// Output is the output of one run.
type Output struct {
	Stdout, Stderr *Stream

	store   *workspace.Store // nil if files cannot be kept
	noStore error            // the reason if store is nil
	printed atomic.Bool      // the script has written to either stream

	mu    sync.Mutex
	left  int    // number of characters; negative: no limit
	first []byte // the beginning of both streams together
}

// maxFirst bounds what First returns, in bytes.
const maxFirst = 256 << 10

// Stream is one of the two streams.
type Stream struct {
	all  *Output
	name string // a description
	file string // the name of the file
	to   io.Writer
	tail int // how many characters at the end are always shown

	begins   counter
	begun    []byte // the text passed on so far, until there is a file
	cut      int64  // characters
	cutBytes int64
	kept     *workspace.File // the file with the whole stream; nil if there is none yet
	lost     error           // why it could not be written
	end      []byte          // at least the last tail characters of the part that was cut
}

// New returns an Output that passes at most limit characters on; 0 means all. The store may be nil. The names of files begin with id.
func New(limit int, store *workspace.Store, id string, stdout, stderr io.Writer) *Output {
	o := &Output{store: store, noStore: errNoWorkspace, left: limit}
	if limit == 0 {
		o.left = -1
	}
	o.Stdout = &Stream{all: o, name: "standard output", file: id + ".stdout.txt", to: stdout}
	o.Stderr = &Stream{all: o, name: "standard error", file: id + ".stderr.txt", to: stderr, tail: errorTail}
	return o
}

// Write passes on what the limit allows. Its errors are those of the underlying writer.
func (s *Stream) Write(p []byte) (int, error) {
	o := s.all
	if len(p) > 0 && !o.printed.Load() {
		o.printed.Store(true)
	}
	o.mu.Lock()
	o.first = append(o.first, p[:min(len(p), maxFirst-len(o.first))]...)
	if o.left < 0 {
		o.mu.Unlock()
		return s.to.Write(p)
	}
	defer o.mu.Unlock()
	shown := s.take(p)
	if shown > 0 {
		if s.kept == nil && s.lost == nil {
			s.begun = append(s.begun, p[:shown]...)
		}
		if _, err := s.to.Write(p[:shown]); err != nil {
			return 0, err
		}
	}
	if shown < len(p) {
		s.hide(p[shown:])
	}
	return len(p), nil
}

// First returns the beginning of both streams together, up to 256 KiB, and whether it is all of them.
func (o *Output) First() (first []byte, complete bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first, len(o.first) < maxFirst
}

// take returns how many bytes of p may be shown, in whole characters, and counts them.
func (s *Stream) take(p []byte) int {
	if s.cut > 0 { // once something was left out, nothing after it is shown
		return 0
	}
	for i, b := range p {
		if !s.begins.one(b) {
			continue
		}
		if s.all.left == 0 {
			return i
		}
		s.all.left--
	}
	return len(p)
}

// hide counts the bytes that are not shown and writes them to the file.
func (s *Stream) hide(p []byte) {
	if s.cut == 0 {
		s.open()
	}
	s.cut += s.begins.count(p)
	s.cutBytes += int64(len(p))
	if s.kept != nil {
		if _, err := s.kept.Write(p); err != nil {
			s.lost = err
			_ = s.kept.Close() // what it has is kept
			s.kept = nil
		}
	}
	if s.tail > 0 {
		const bytesOfOne = 4
		s.end = append(s.end, p[max(0, len(p)-2*bytesOfOne*s.tail):]...)
		s.end = s.end[max(0, len(s.end)-bytesOfOne*s.tail):]
	}
}

// open creates the file with what was shown so far.
func (s *Stream) open() {
	begun := s.begun
	s.begun = nil
	if s.all.store == nil {
		s.lost = s.all.noStore
		return
	}
	if s.kept, s.lost = s.all.store.Create(folder, s.file); s.lost != nil {
		return
	}
	if _, err := s.kept.Write(begun); err != nil {
		s.lost = err
		_ = s.kept.Close()
		s.kept = nil
	}
}

// KeepNothing stops keeping the rest, because the sandbox works on a copy of the workspace.
func (o *Output) KeepNothing() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.store, o.noStore = nil, errCopy
}

var (
	errNoWorkspace = errors.New("the run has no workspace")
	errCopy        = errors.New("the sandbox works on a copy of the workspace")
)

// Finish writes the last lines, which say what was cut. Nothing may be written after it.
func (o *Output) Finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range []*Stream{o.Stdout, o.Stderr} {
		s.finish()
	}
}

func (s *Stream) finish() {
	s.begun = nil
	if s.cut == 0 {
		return
	}
	end := lastCharacters(s.end, s.tail)
	where := fmt.Sprintf("they were not kept (%v)", s.lost)
	if s.kept != nil {
		where = fmt.Sprintf("all of it is in %s in the workspace", path.Join(workspace.StoreDir, folder, s.file))
		if err := s.kept.Close(); err != nil {
			where = fmt.Sprintf("they were not kept (%v)", err)
		}
	}
	line := ""
	if hidden := s.cut - new(counter).count(end); hidden > 0 {
		line = fmt.Sprintf("\n[mcprun: %s more characters of %s; %s]\n", thousands(hidden), s.name, where)
	}
	_, _ = s.to.Write(append([]byte(line), end...)) // a writer that fails here has already failed before
	s.cutBytes -= int64(len(end))
}

// Printed reports whether the script has printed anything.
func (o *Output) Printed() bool { return o.printed.Load() }

// CutBytes returns how many bytes of the stream were not passed on. It is known after Finish.
func (s *Stream) CutBytes() int64 { return s.cutBytes }

// counter counts characters of UTF-8. Each byte of invalid text counts as one, since a reader sees a sign for each. The zero value is ready
// to use.
type counter struct{ more int } // how many bytes may continue the last character

// one reports whether a byte begins a character.
func (c *counter) one(b byte) bool {
	if b&0xC0 == 0x80 && c.more > 0 {
		c.more--
		return false
	}
	switch {
	case b >= 0xF0:
		c.more = 3
	case b >= 0xE0:
		c.more = 2
	case b >= 0xC0:
		c.more = 1
	default:
		c.more = 0
	}
	return true
}

func (c *counter) count(p []byte) int64 {
	n := int64(0)
	for _, b := range p {
		if c.one(b) {
			n++
		}
	}
	return n
}

// lastCharacters returns the last n characters.
func lastCharacters(p []byte, n int) []byte {
	for len(p) > 0 && p[0]&0xC0 == 0x80 { // the rest of a character whose first byte was dropped
		p = p[1:]
	}
	var c counter
	var begins []int
	for i, b := range p {
		if c.one(b) {
			begins = append(begins, i)
		}
	}
	if len(begins) > n {
		return p[begins[len(begins)-n]:]
	}
	return p
}

// maxError bounds, in bytes, each text of an error.
const maxError = 4000

// Shorten removes the middle of a text of more than 4,000 bytes. A stack has the message at one end and its origin at the other.
func Shorten(text string) string {
	const half = maxError / 2
	if len(text) <= maxError {
		return text
	}
	return fmt.Sprintf("%s… (%s more bytes) …%s", ident.Head(text, half), thousands(int64(len(text)-2*half)), ident.Tail(text, half))
}

// thousands writes a number with commas.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// captureLimit bounds a Capture, in bytes.
const captureLimit = 8 << 20

// Capture keeps the first 8 MiB written to it and counts the rest. It never fails, so that a script that prints a lot is not blocked.
type Capture struct {
	mu   sync.Mutex
	Data []byte
	Cut  int64 // bytes
}

func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	free := captureLimit - len(c.Data)
	if free >= len(p) {
		c.Data = append(c.Data, p...)
		return len(p), nil
	}
	c.Data = append(c.Data, p[:free]...)
	c.Cut += int64(len(p) - free)
	return len(p), nil
}

// Tee returns a writer to w and to the capture, each of which may be nil.
func Tee(w io.Writer, c *Capture) io.Writer {
	switch {
	case c == nil && w == nil:
		return io.Discard
	case c == nil:
		return w
	case w == nil:
		return c
	}
	return io.MultiWriter(w, c)
}
