//go:build !386 && !arm

package guest

import (
	"encoding/binary"
	"fmt"
)

// receive is how many bytes are asked for at once.
const receive = 64 << 10

// inbox puts frames together of what arrives.
type inbox struct {
	buf  []byte
	from int // buf[from:to] has arrived and is not taken
	to   int

	large []byte // a frame that buf does not hold whole; nil: there is none
	have  int    // how much of it has arrived
}

// space is where to put what arrives next; it is never empty.
func (b *inbox) space() []byte {
	if b.large != nil {
		return b.large[b.have:]
	}
	copy(b.buf, b.buf[b.from:b.to])
	b.from, b.to = 0, b.to-b.from
	return b.buf[b.to:]
}

// took notes that so many bytes were put there.
func (b *inbox) took(n int) {
	if b.large != nil {
		b.have += n
	} else {
		b.to += n
	}
}

// next returns the next frame, for the caller to keep; nil while it is not whole. It is called until there is none before
// more is put in.
func (b *inbox) next() ([]byte, error) {
	if b.large != nil {
		if b.have < len(b.large) {
			return nil, nil
		}
		frame := b.large
		b.large = nil
		return frame, nil
	}
	rest := b.buf[b.from:b.to]
	if len(rest) < 4 {
		return nil, nil
	}
	n := int(binary.BigEndian.Uint32(rest))
	if n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	if rest = rest[4:]; len(rest) >= n {
		b.from += 4 + n
		return append(make([]byte, 0, n), rest[:n]...), nil
	}
	if n+4 > len(b.buf) {
		b.large = make([]byte, n)
		b.have = copy(b.large, rest)
		b.from, b.to = 0, 0
	}
	return nil, nil
}
