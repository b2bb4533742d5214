package carry

import (
	"bufio"
	"io"
	"io/fs"
	"time"
)

// Limits bound what comes back from a container.
type Limits struct {
	Bytes   int64 // of data in all files together
	Files   int   // records of any kind
	Largest int64 // bytes of one file
	// Skip are folders at the top of the workspace that nothing is said about: what is shown there is not its own.
	Skip []string
}

// visitor is told what a stream says, in its order. An error ends the reading.
type visitor interface {
	removed(name string) error
	dir(name string, mode fs.FileMode) error
	file(name string, mode fs.FileMode, mtime time.Time) error // its data follows
	data(at int64, b []byte) error
	fileEnd(size int64) error
	link(name, target string) error
	left(count int, name string) error
}

// nobody looks at nothing: with it a stream is only checked.
type nobody struct{}

func (nobody) removed(string) error                      { return nil }
func (nobody) dir(string, fs.FileMode) error             { return nil }
func (nobody) file(string, fs.FileMode, time.Time) error { return nil }
func (nobody) data(int64, []byte) error                  { return nil }
func (nobody) fileEnd(int64) error                       { return nil }
func (nobody) link(string, string) error                 { return nil }
func (nobody) left(int, string) error                    { return nil }

// parser reads one stream.
type parser struct {
	in      reader
	lim     Limits
	v       visitor
	files   int
	bytes   int64
	started bool // something but removals was there
}

// parse reads a complete stream and nothing behind it.
func parse(r io.Reader, lim Limits, v visitor) error {
	p := &parser{in: reader{r: bufio.NewReaderSize(r, 256<<10)}, lim: lim, v: v}
	for {
		kind, err := p.in.take(1)
		if err != nil {
			return err
		}
		if kind[0] == kindEnd {
			if _, err := p.in.take(1); err == nil {
				return damaged("something follows their end")
			}
			return nil
		}
		if p.files++; p.files > lim.Files {
			return &TooMuchError{What: "files and folders", Limit: int64(lim.Files)}
		}
		if err := p.record(kind[0]); err != nil {
			return err
		}
	}
}

// TooMuchError says that a container sends more than its workspace could hold.
type TooMuchError struct {
	What  string
	Limit int64
}

func (e *TooMuchError) Error() string {
	return damaged("more than %d %s", e.Limit, e.What).Error()
}

func (p *parser) record(kind byte) error {
	if kind == kindRemoved {
		if p.started {
			return damaged("a removal comes too late")
		}
		name, err := p.path()
		if err != nil {
			return err
		}
		return p.v.removed(name)
	}
	p.started = true
	switch kind {
	case kindDir:
		mode, name, err := p.modeAndPath()
		if err != nil {
			return err
		}
		return p.v.dir(name, mode)
	case kindFile:
		return p.file()
	case kindLink:
		name, err := p.path()
		if err != nil {
			return err
		}
		target, err := p.in.name()
		if err != nil {
			return err
		}
		return p.v.link(name, target)
	case kindLeft:
		n, err := p.in.uint32()
		if err != nil {
			return err
		}
		name, err := p.in.name()
		if err != nil {
			return err
		}
		return p.v.left(int(n), name)
	}
	return damaged("a record of the unknown kind %q", kind)
}

// path reads a path that may be used.
func (p *parser) path() (string, error) {
	name, err := p.in.name()
	switch {
	case err != nil:
		return "", err
	case !safePath(name):
		return "", damaged("the path %.200q", name)
	case foreign(name, p.lim.Skip):
		return "", damaged("the path %.200q, which is not the workspace's", name)
	}
	return name, nil
}

func (p *parser) modeAndPath() (fs.FileMode, string, error) {
	mode, err := p.in.uint16()
	if err != nil {
		return 0, "", err
	}
	name, err := p.path()
	return fs.FileMode(mode) & fs.ModePerm, name, err
}

func (p *parser) file() error {
	mode, err := p.in.uint16()
	if err != nil {
		return err
	}
	mtime, err := p.in.uint64()
	if err != nil {
		return err
	}
	name, err := p.path()
	if err != nil {
		return err
	}
	if err := p.v.file(name, fs.FileMode(mode)&fs.ModePerm, time.Unix(0, int64(mtime))); err != nil {
		return err
	}
	return p.pieces()
}

func (p *parser) pieces() error {
	end := int64(0)
	for {
		offset, err := p.in.uint64()
		if err != nil {
			return err
		}
		n, err := p.in.uint32()
		if err != nil {
			return err
		}
		at := int64(offset)
		switch {
		case at < end || n > maxPiece:
			return damaged("a piece of %d bytes at %d behind one that ends at %d", n, at, end)
		case at > p.lim.Largest-int64(n):
			return &TooMuchError{What: "bytes in one file", Limit: p.lim.Largest}
		case n == 0:
			return p.v.fileEnd(at)
		}
		if p.bytes += int64(n); p.bytes > p.lim.Bytes {
			return &TooMuchError{What: "bytes", Limit: p.lim.Bytes}
		}
		b, err := p.in.take(int(n))
		if err != nil {
			return err
		}
		if err := p.v.data(at, b); err != nil {
			return err
		}
		end = at + int64(n)
	}
}
