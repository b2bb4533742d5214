package runner

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/runner/workspace"
)

// errorTail is how much of the end of standard error, in characters, is shown when its middle is cut: errors stand there.
const errorTail = 2000

const outputFolder = "output"

// outputs hands on what a script prints, up to a number of characters of both streams together. The whole of a stream that
// has more goes to a file.
type outputs struct {
	stdout, stderr *stream
	store          *workspace.Store // nil: there is no place for a file
	nowhere        error            // why there is none
	id             string

	printed atomic.Bool // something, on either

	mu   sync.Mutex
	left int // characters; negative: no bound
}

// stream is one of the two.
type stream struct {
	all  *outputs
	name string // in words
	file string // the file's name
	to   io.Writer
	tail int // characters of its end that are shown in any case

	begins   counter
	begun    []byte // what was handed on, until there is a file
	cut      int64  // characters
	cutBytes int64
	kept     *workspace.File // the whole stream; nil: there is none (yet)
	lost     error           // why there is none
	end      []byte          // at least the last tail characters of what was cut
}

// newOutputs makes the two writers. max is the number of characters; 0: no bound.
func newOutputs(max int, store *workspace.Store, id string, stdout, stderr io.Writer) *outputs {
	o := &outputs{store: store, nowhere: errNoWorkspace, id: id, left: max}
	if max == 0 {
		o.left = -1
	}
	o.stdout = &stream{all: o, name: "standard output", file: id + ".stdout.txt", to: stdout}
	o.stderr = &stream{all: o, name: "standard error", file: id + ".stderr.txt", to: stderr, tail: errorTail}
	return o
}

// Write hands on what there is room for. It fails only as the writer below does.
func (s *stream) Write(p []byte) (int, error) {
	o := s.all
	if len(p) > 0 && !o.printed.Load() {
		o.printed.Store(true)
	}
	o.mu.Lock()
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

// take returns how many bytes of p may be shown, whole characters, and counts them.
func (s *stream) take(p []byte) int {
	if s.cut > 0 { // once something is missing, nothing that comes later is shown
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

// hide counts what is not shown and puts it into the file.
func (s *stream) hide(p []byte) {
	if s.cut == 0 {
		s.open()
	}
	s.cut += s.begins.count(p)
	s.cutBytes += int64(len(p))
	if s.kept != nil {
		if _, err := s.kept.Write(p); err != nil {
			s.lost = err
			_ = s.kept.Close() // it has what it has
			s.kept = nil
		}
	}
	if s.tail > 0 {
		const bytesOfOne = 4
		s.end = append(s.end, p[max(0, len(p)-2*bytesOfOne*s.tail):]...)
		s.end = s.end[max(0, len(s.end)-bytesOfOne*s.tail):]
	}
}

// open begins the file with what was shown so far.
func (s *stream) open() {
	begun := s.begun
	s.begun = nil
	if s.all.store == nil {
		s.lost = s.all.nowhere
		return
	}
	if s.kept, s.lost = s.all.store.Create(outputFolder, s.file); s.lost != nil {
		return
	}
	if _, err := s.kept.Write(begun); err != nil {
		s.lost = err
		_ = s.kept.Close()
		s.kept = nil
	}
}

// forget ends the keeping of what is cut: what is put into the workspace now would be lost.
func (o *outputs) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.store, o.nowhere = nil, errAway
}

var (
	errNoWorkspace = errors.New("the run has no workspace")
	errAway        = errors.New("the sandbox works on a copy of the workspace")
)

// finish says what was cut. Nothing is written after it.
func (o *outputs) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range []*stream{o.stdout, o.stderr} {
		s.finish()
	}
}

func (s *stream) finish() {
	s.begun = nil
	if s.cut == 0 {
		return
	}
	end := lastCharacters(s.end, s.tail)
	where := fmt.Sprintf("they were not kept (%v)", s.lost)
	if s.kept != nil {
		where = fmt.Sprintf("all of it is in %s in the workspace", path.Join(workspace.StoreDir, outputFolder, s.file))
		if err := s.kept.Close(); err != nil {
			where = fmt.Sprintf("they were not kept (%v)", err)
		}
	}
	line := ""
	if hidden := s.cut - new(counter).count(end); hidden > 0 {
		line = fmt.Sprintf("\n[mcprun: %s more characters of %s; %s]\n", thousands(hidden), s.name, where)
	}
	_, _ = s.to.Write(append([]byte(line), end...)) // who does not take it has not taken the rest either
	s.cutBytes -= int64(len(end))
}

// counter counts characters of UTF-8. Of what is none, each byte is one: whoever reads it gets a sign for each. The zero value
// is ready.
type counter struct{ more int } // how many bytes may go on with the last character

// one tells whether a byte begins a character.
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
	for len(p) > 0 && p[0]&0xC0 == 0x80 { // the rest of a character whose beginning was dropped
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

// thousands writes a number with commas.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
