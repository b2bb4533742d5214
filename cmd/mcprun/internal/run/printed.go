package run

import (
	"bytes"
	"hash/maphash"
	"io"
)

// maxPrinted bounds the lines of a workflow that are remembered. Later ones are printed again by each part.
const maxPrinted = 100_000

// printed is what the parts of a workflow have printed to standard output in this process. Each part runs the script from its beginning, so
// lines that an earlier part has printed are left out, in their order.
type printed struct {
	seed  maphash.Seed
	lines []uint64
	next  int // the first line of lines that this part has not printed
	to    io.Writer
	line  []byte // without its end
	parts int    // that have begun
}

// continues reports whether the run continues one of this process, which the user has been told about.
func (p *printed) continues() bool { return p != nil && p.parts > 1 }

func newPrinted() *printed { return &printed{seed: maphash.MakeSeed()} }

// begin returns the standard output of a part.
func (p *printed) begin(to io.Writer) io.Writer {
	p.next, p.to, p.line = 0, to, nil
	p.parts++
	return p
}

// end prints a last line without an end.
func (p *printed) end() {
	if len(p.line) > 0 {
		_ = p.print(p.line)
	}
	p.line = nil
}

func (p *printed) Write(data []byte) (int, error) {
	p.line = append(p.line, data...)
	for {
		line, rest, ok := bytes.Cut(p.line, []byte("\n"))
		if !ok {
			return len(data), nil
		}
		if err := p.print(p.line[:len(line)+1]); err != nil {
			return 0, err
		}
		p.line = rest
	}
}

// print prints a line unless an earlier part has.
func (p *printed) print(line []byte) error {
	sum := maphash.Bytes(p.seed, line)
	for i := p.next; i < len(p.lines); i++ { // those in between were of steps, which do not run again
		if p.lines[i] == sum {
			p.next = i + 1
			return nil
		}
	}
	if len(p.lines) < maxPrinted {
		p.lines = append(p.lines, sum)
	}
	if p.next = len(p.lines); len(p.lines) == maxPrinted {
		p.next = maxPrinted
	}
	if p.to == nil { // with --json
		return nil
	}
	_, err := p.to.Write(line)
	return err
}
