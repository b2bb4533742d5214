package daemon

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// A message consists of one byte for its kind, four bytes for the length of its payload, high byte first, and the payload. The client's
// hello comes first. Other versions must be able to read hello and its answers: members may be added, and unknown ones are ignored.
const (
	kindHello = 'H' // client: hello

	kindWelcome = 'W' // daemon: the job begins
	kindRefused = 'R' // daemon: refusal; nothing was done, and the connection is closed
	kindStatus  = 's' // daemon: Status, and the connection is closed

	kindInput  = 'i' // client: standard input that the daemon asked for; an empty payload means its end
	kindSignal = 'S' // client: a signal's number

	kindWant   = 'w' // daemon: asks for at most this many bytes of standard input
	kindStdout = 'o' // daemon
	kindStderr = 'e' // daemon
	kindBroken = 'b' // daemon: why the handler panicked, and the connection is closed
	kindExit   = 'x' // daemon: the exit code, and the connection is closed
)

const (
	// maxMessage bounds a message, in bytes: a command line and its variables may be 2 MiB.
	maxMessage = 8 << 20
	// maxChunk bounds a piece of a stream, in bytes.
	maxChunk = 64 << 10
)

// protocol is the version of the messages.
const protocol = 2

// Operations of a hello.
const (
	opRun    = "run"
	opStatus = "status"
	opStop   = "stop"
)

type hello struct {
	Protocol    int         `json:"protocol"`
	Op          string      `json:"op"`
	Build       string      `json:"build"`
	Environment Environment `json:"place,omitempty"`
	Job         *Job        `json:"job,omitempty"`
	// Now makes a stop interrupt the jobs in progress.
	Now bool `json:"now,omitempty"`
}

// refusal is the reason why a job was refused.
type refusal struct {
	Reason string `json:"reason"`
}

var errProtocol = errors.New("the daemon's socket received a malformed message")

// wire reads and writes messages. One goroutine may read; any may write.
type wire struct {
	conn net.Conn
	mu   sync.Mutex
}

func (w *wire) write(kind byte, payload []byte) error {
	var head [5]byte
	head[0] = kind
	binary.BigEndian.PutUint32(head[1:], uint32(len(payload)))
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(payload) <= 4096 {
		_, err := w.conn.Write(append(head[:], payload...))
		return err
	}
	_, err := (&net.Buffers{head[:], payload}).WriteTo(w.conn)
	return err
}

func (w *wire) writeJSON(kind byte, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	if len(payload) > maxMessage {
		return fmt.Errorf("a message of %d bytes is too long: at most %d", len(payload), maxMessage)
	}
	return w.write(kind, payload)
}

// reader reads messages from r into one buffer.
type reader struct {
	r   io.Reader
	buf []byte
}

// next returns a message. Its payload is valid until the next call. The end of the stream between two messages is io.EOF.
func (r *reader) next() (kind byte, payload []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r.r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size > maxMessage {
		return 0, nil, fmt.Errorf("%w: a message of %d bytes", errProtocol, size)
	}
	if int(size) > cap(r.buf) {
		r.buf = make([]byte, size)
	}
	payload = r.buf[:size]
	if _, err := io.ReadFull(r.r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return head[0], payload, nil
}

func decode[T any](payload []byte) (*T, error) {
	v := new(T)
	if err := json.Unmarshal(payload, v); err != nil {
		return nil, fmt.Errorf("%w: %w", errProtocol, err)
	}
	return v, nil
}
