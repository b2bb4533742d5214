package bridge

import (
	"encoding/base64"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of streams, which guests know.
const (
	// maxStreams is the maximum number of streams open at once; the host closes further ones.
	maxStreams = 64
	// window is how many bytes of a stream may be on their way in one direction, before the other end asks for more.
	window = 256 << 10
	// maxData is the size of one frame's data, in bytes before encoding.
	maxData = 64 << 10
)

// stream is a connection that a program in the sandbox has opened, as the guest passes it on.
type stream struct {
	id   int64
	conn net.Conn      // our end; the other is with Options.Connect
	far  *endedConn    // that other end
	gone chan struct{} // closed with the stream
	once sync.Once

	mu      sync.Mutex
	in      []byte // what the guest has sent, and was not written yet
	unread  int    // its bytes, and those that are being written
	shut    bool   // the guest sends nothing more
	arrived chan struct{}
	sent    int // bytes that the guest has got, and has not passed on yet
	more    chan struct{}
}

// open accepts a stream.
func (s *session) open(id int64) error {
	if s.opts.Connect == nil {
		return violation("a stream was opened, but this run has no network")
	}
	if id <= s.lastStream {
		return violation("stream %d after %d", id, s.lastStream)
	}
	s.lastStream = id
	s.mu.Lock()
	full := len(s.streams) >= maxStreams
	s.mu.Unlock()
	if full {
		s.send(closeFrame(id))
		return nil
	}
	near, far := net.Pipe()
	st := &stream{id: id, conn: near, far: &endedConn{Conn: far}, gone: make(chan struct{}), arrived: make(chan struct{}, 1), more: make(chan struct{}, 1)}
	s.mu.Lock()
	s.streams[id] = st
	s.mu.Unlock()
	s.handlers.Go(func() { s.toHost(st) })
	s.handlers.Go(func() { s.toGuest(st) })
	s.opts.Connect(st.far)
	return nil
}

// of returns an open stream. It returns nil for one that the host has closed meanwhile.
func (s *session) of(id int64) (*stream, error) {
	if id > s.lastStream {
		return nil, violation("stream %d was not opened", id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[id], nil
}

// streamed handles a frame about a stream.
func (s *session) streamed(m *streamMsg) error {
	if m.kind == "open" {
		return s.open(m.id)
	}
	st, err := s.of(m.id)
	if st == nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	switch m.kind {
	case "data":
		st.in, st.unread = append(st.in, m.data...), st.unread+len(m.data)
		if st.shut {
			return violation("data after the end of stream %d", m.id)
		}
		if st.unread > window {
			return violation("more than %d bytes of stream %d at once", window, m.id)
		}
		signal(st.arrived)
	case "shut":
		st.shut = true
		signal(st.arrived)
	case "more":
		if st.sent -= int(m.bytes); st.sent < 0 {
			return violation("more bytes of stream %d were passed on than were sent", m.id)
		}
		signal(st.more)
	case "close":
		s.closeStream(st, false)
	}
	return nil
}

// signal wakes the goroutine that waits on a channel of capacity 1, or that will.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// toHost writes what the guest sends.
func (s *session) toHost(st *stream) {
	for {
		select {
		case <-st.arrived:
		case <-st.gone:
			return
		}
		st.mu.Lock()
		data, shut := st.in, st.shut
		st.in = nil
		st.mu.Unlock()
		if len(data) > 0 {
			if _, err := st.conn.Write(data); err != nil {
				s.closeStream(st, true)
				return
			}
			st.mu.Lock()
			st.unread -= len(data)
			st.mu.Unlock()
			s.send(moreFrame(st.id, len(data)))
		}
		if shut {
			st.far.end()
			return
		}
	}
}

// toGuest sends what the host writes.
func (s *session) toGuest(st *stream) {
	buf := make([]byte, maxData)
	for {
		n := st.room()
		if n == 0 {
			return
		}
		got, err := st.conn.Read(buf[:n])
		if got > 0 {
			st.mu.Lock()
			st.sent += got
			st.mu.Unlock()
			if over := s.move(got); over != nil {
				s.end(over)
				return
			}
			s.send(dataFrame(st.id, buf[:got]))
		}
		if err != nil {
			s.closeStream(st, true)
			return
		}
	}
}

// room waits until the guest has passed on enough, and returns how many bytes one frame may have; 0 when the stream is closed.
func (st *stream) room() int {
	for {
		st.mu.Lock()
		n := min(window-st.sent, maxData)
		st.mu.Unlock()
		if n > 0 {
			return n
		}
		select {
		case <-st.more:
		case <-st.gone:
			return 0
		}
	}
}

// closeStream ends a stream, and tells the guest unless it was the guest who closed it.
func (s *session) closeStream(st *stream, tell bool) {
	st.once.Do(func() {
		close(st.gone)
		st.conn.Close()
		st.far.Close()
		s.mu.Lock()
		delete(s.streams, st.id)
		s.mu.Unlock()
		if tell {
			s.send(closeFrame(st.id))
		}
	})
}

// closeStreams ends all streams.
func (s *session) closeStreams() {
	s.mu.Lock()
	var all []*stream
	for _, st := range s.streams {
		all = append(all, st)
	}
	s.mu.Unlock()
	for _, st := range all {
		s.closeStream(st, false)
	}
}

// send writes a frame about a stream. A guest that reads nothing ends the session.
func (s *session) send(parts ...[]byte) {
	if err := s.w.write(parts...); err != nil {
		s.end(lost(err))
	}
}

func head(kind string, id int64) []byte {
	return strconv.AppendInt(append(append([]byte(`{"type":"`), kind...), `","stream":`...), id, 10)
}

func closeFrame(id int64) []byte { return append(head("close", id), '}') }

func moreFrame(id int64, n int) []byte {
	return append(strconv.AppendInt(append(head("more", id), `,"bytes":`...), int64(n), 10), '}')
}

func dataFrame(id int64, data []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(head("data", id), `,"data":"`...), data), `"}`...)
}

// endedConn is the host's end of a stream. Reading it ends once the guest has sent everything.
type endedConn struct {
	net.Conn
	ended atomic.Bool
}

func (c *endedConn) end() {
	c.ended.Store(true)
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0))
}

func (c *endedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && c.ended.Load() && os.IsTimeout(err) {
		err = io.EOF
	}
	return n, err
}

func (c *endedConn) SetReadDeadline(t time.Time) error {
	if c.ended.Load() {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *endedConn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.Conn.SetWriteDeadline(t)
}
