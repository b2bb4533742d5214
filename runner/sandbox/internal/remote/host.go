package remote

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"time"
)

// Host is the host's end of one container's streams. Its owner passes all output of the container to Write, and finally calls End.
type Host struct {
	mu  sync.Mutex // guards w
	w   io.Writer
	err error // first error of w

	out  map[byte]*credit
	in   map[byte]*inbox
	part []byte // the beginning of an incomplete frame

	conn    net.Conn
	speak   sync.Once
	over    sync.Once
	streams sync.WaitGroup // goroutines of drain

	spoke    chan struct{} // closed when the guest has sent something over the bridge
	exited   chan struct{}
	exit     Exit
	limits   chan string   // names of exceeded limits
	fault    string        // why the relay failed; final once complete or gone is closed
	complete chan struct{} // closed when the relay has sent everything
	gone     chan struct{}
}

// NewHost returns the host's end for the relay that reads from w.
func NewHost(w io.Writer) *Host {
	h := &Host{
		w: w, out: map[byte]*credit{}, in: map[byte]*inbox{},
		spoke: make(chan struct{}), exited: make(chan struct{}), complete: make(chan struct{}), gone: make(chan struct{}),
		limits: make(chan string, maxLimits),
	}
	for _, kind := range []byte{kindBridge, kindStdin} {
		h.out[kind] = newCredit()
	}
	for _, kind := range []byte{kindBridge, kindStdout, kindStderr} {
		h.in[kind] = newInbox()
	}
	h.conn = h.bridge()
	return h
}

// exitBytes is the size of a status, in bytes.
const exitBytes = 3*4 + 2*8

// maxLimits bounds how many limits a relay may report.
const maxLimits = 4

// Exit is how a guest ended, and what the container had used by then.
type Exit struct {
	Code   int           // 128+n when signal n ended it
	OOMs   int64         // processes that the kernel killed because memory ran out
	Forks  int64         // processes that could not be started
	CPU    time.Duration // of all processes, since the run began
	Memory int64         // peak bytes; zero if unknown
}

// Start starts the guest.
func (h *Host) Start(secret string, command []string) error {
	b, err := start(secret, command)
	if err != nil {
		return err
	}
	return h.send(kindStart, b)
}

// Run gives the guest its run.
func (h *Host) Run(r Run) error { return h.send(kindRun, r.encode()) }

// Bridge returns the host's end of the bridge. The caller closes it.
func (h *Host) Bridge() net.Conn { return h.conn }

// Connect copies the guest's output to stdout and stderr, and stdin to the guest; each may be nil. Call it once. Streams waits for the end
// of the output.
func (h *Host) Connect(stdin io.Reader, stdout, stderr io.Writer) {
	for kind, w := range map[byte]io.Writer{kindStdout: stdout, kindStderr: stderr} {
		h.streams.Go(func() { h.drain(kind, w) })
	}
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	go h.feed(kindStdin, stdin) // ends when either side does; a guest need not read its input
}

// Streams waits until all output was copied.
func (h *Host) Streams() { h.streams.Wait() }

// Kill kills the guest and everything it started. It blocks while the container does not read.
func (h *Host) Kill() { h.send(kindKill, nil) }

// Finish tells the relay to exit, because everything was received.
func (h *Host) Finish() { h.send(kindQuit, nil) }

// Exited is closed when the guest has ended.
func (h *Host) Exited() <-chan struct{} { return h.exited }

// Exit returns how the guest ended, once Exited is closed.
func (h *Host) Exit() Exit { return h.exit }

func (h *Host) send(kind byte, payload []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		_, h.err = h.w.Write(frame(kind, payload))
	}
	return h.err
}

func (h *Host) grant(kind byte, n int) {
	h.send(kindGrant, binary.BigEndian.AppendUint32([]byte{kind}, uint32(n)))
}

// Write handles output of the container. Its error is a [ProtocolError].
func (h *Host) Write(p []byte) (int, error) {
	n := len(p)
	if len(h.part) > 0 {
		p = append(h.part, p...)
	}
	for {
		rest, ok, err := h.next(p)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		p = rest
	}
	h.part = append(h.part[:0:0], p...)
	return n, nil
}

// next handles the first frame of p, if it is complete.
func (h *Host) next(p []byte) (rest []byte, ok bool, err error) {
	if len(p) < headBytes {
		return p, false, nil
	}
	size := binary.BigEndian.Uint32(p[1:])
	if size > maxFrame {
		return nil, false, misbehaves("a frame of %d bytes", size)
	}
	if len(p) < headBytes+int(size) {
		return p, false, nil
	}
	end := headBytes + int(size)
	return p[end:], true, h.handle(p[0], p[headBytes:end])
}

func (h *Host) handle(kind byte, payload []byte) error {
	if box, ok := h.in[kind]; ok {
		if !box.put(payload) {
			return misbehaves("more on channel %c than it may send", kind)
		}
		if kind == kindBridge && len(payload) > 0 {
			h.speak.Do(func() { close(h.spoke) })
		}
		return nil
	}
	if box, ok := h.in[kind&^closed]; ok && kind&closed != 0 {
		box.End()
		return nil
	}
	switch kind {
	case kindGrant:
		if len(payload) != headBytes {
			return misbehaves("a grant of %d bytes", len(payload))
		}
		c, ok := h.out[payload[0]]
		if !ok || !c.add(int(binary.BigEndian.Uint32(payload[1:]))) {
			return misbehaves("a grant of more than was sent")
		}
	case kindExited:
		if len(payload) != exitBytes {
			return misbehaves("a status of %d bytes", len(payload))
		}
		n := binary.BigEndian
		return h.end(Exit{
			Code: int(n.Uint32(payload)) & 0xff, OOMs: int64(n.Uint32(payload[4:])), Forks: int64(n.Uint32(payload[8:])),
			CPU: time.Duration(n.Uint64(payload[12:]) & math.MaxInt64), Memory: int64(n.Uint64(payload[20:]) & math.MaxInt64),
		})
	case kindDone:
		return h.once(h.complete)
	case kindLimit:
		select {
		case h.limits <- string(payload[:min(len(payload), 100)]):
		default:
			return misbehaves("too many limits")
		}
	case kindFault:
		h.fault = string(payload[:min(len(payload), 1000)])
	default:
		return misbehaves("a frame of the unknown kind %q", kind)
	}
	return nil
}

// end records the guest's end. The relay ends only when the rest of the guest's output was sent, so all of that is granted at once, even if
// the reader is slow: it is no more than pipes and sockets hold.
func (h *Host) end(e Exit) error {
	select {
	case <-h.exited: // another goroutine may be reading exit
	default:
		h.exit = e
	}
	if err := h.once(h.exited); err != nil {
		return err
	}
	for _, kind := range []byte{kindBridge, kindStdout, kindStderr} {
		h.in[kind].widen(Window)
		go h.grant(kind, Window)
	}
	return nil
}

// once closes c. Closing it twice is a protocol error. Only the goroutine that calls Write may call once.
func (h *Host) once(c chan struct{}) error {
	select {
	case <-c:
		return misbehaves("the same event twice")
	default:
		close(c)
		return nil
	}
}

// Gone is closed by End.
func (h *Host) Gone() <-chan struct{} { return h.gone }

// End marks the end of the container's output. It closes the bridge and ends all waits.
func (h *Host) End() {
	h.over.Do(func() {
		for _, box := range h.in {
			box.End()
		}
		for _, c := range h.out {
			c.close()
		}
		close(h.gone)
	})
}

// Container is what an engine must offer for a container, besides its standard streams.
type Container interface {
	// CopyIn unpacks an archive in a folder of the container.
	CopyIn(ctx context.Context, folder string, archive io.Reader) error
	// CopyOut packs the contents of a folder. The error matches fs.ErrNotExist if the container is gone.
	CopyOut(ctx context.Context, folder string) (archive io.ReadCloser, err error)
}
