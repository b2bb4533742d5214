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

// A message is one byte that tells its kind, four that tell the length of what follows, high byte first, and that. The
// first message is the client's hello; its answer tells the rest. These two stay readable for other versions: members may
// be added to them, and unknown ones are passed over.
const (
	kindHello = 'H' // client: hello

	kindWelcome = 'W' // daemon: the job begins
	kindRefused = 'R' // daemon: refusal; nothing was done, and the connection ends
	kindStatus  = 's' // daemon: Status, and the connection ends

	kindInput    = 'i' // client: standard input that was wanted; none is its end
	kindSignal   = 'S' // client: a signal's number
	kindVariable = 'V' // client: a variable that was asked for

	kindWant   = 'w' // daemon: how many bytes of standard input are wanted
	kindAsk    = 'v' // daemon: the name of a variable
	kindStdout = 'o' // daemon
	kindStderr = 'e' // daemon
	kindBroken = 'b' // daemon: why the work broke off, and the connection ends
	kindExit   = 'x' // daemon: the exit code, and the connection ends
)

const (
	// maxMessage bounds a message, in bytes: a command line may be 2 MiB, and a variable is part of one.
	maxMessage = 8 << 20
	// maxChunk bounds a piece of a stream, in bytes.
	maxChunk = 64 << 10
)

// protocol is the version that hello and answer name.
const protocol = 1

// Operations of a hello.
const (
	opRun    = "run"
	opStatus = "status"
	opStop   = "stop"
)

type hello struct {
	Protocol int    `json:"protocol"`
	Op       string `json:"op"`
	Build    string `json:"build"`
	Place    Place  `json:"place,omitempty"`
	Job      *Job   `json:"job,omitempty"`
	// Now makes a stop end the jobs under way.
	Now bool `json:"now,omitempty"`
}

// refusal says why a job was not taken. Gives says that the daemon gives way: it listens no more.
type refusal struct {
	Reason string `json:"reason"`
	Gives  bool   `json:"gives,omitempty"`
}

type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Set   bool   `json:"set"`
}

var errProtocol = errors.New("what came over the socket is not the daemon's protocol")

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

// reader reads messages from r, one after the other into the same memory.
type reader struct {
	r   io.Reader
	buf []byte
}

// next returns a message; its payload is good until the next call. The end between two messages is io.EOF.
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
