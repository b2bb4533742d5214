// Package remote runs guests where the host shares neither folders nor sockets with the engine that runs containers: on
// another machine, in a virtual machine, or outside of the container that the host is in. [Host] and relay.py, the
// container's first program, multiplex the bridge and the script's streams over the attached standard input and output of the
// container. [Workspace] copies a folder into the container and the changes back, as tar archives.
// An engine only has to attach to a container, and to copy archives into and out of it.
//
// Both directions of the streams are frames: a letter (8 bits), a length (32 bits, big-endian, at most 65,536) and so many
// bytes.
//
//	to the container
//	S  start the guest: its secret and its command, separated by NULs
//	R  the guest gets its run: the bytes and files that its workspace may hold (0: it has none), and the run's processor time
//	   in nanoseconds (0: no limit), separated by NULs
//	B  the bridge     I  standard input
//	K  kill everything but the relay
//	Q  everything was received: end
//
//	from the container
//	B  the bridge     O  standard output    E  standard error
//	X  the guest has ended: its status, how many processes were killed because memory ran out, how many could not be
//	   started (32 bits each), the processor time in nanoseconds, and the most memory in bytes (64 bits each)
//	D  done: X was sent, and O and E have ended; the workspace can be copied back
//	L  a limit was passed: "cpu" or "disk"
//	F  the relay failed: why
//
//	both
//	G  grant: a channel's letter and a number (32 bits) of bytes
//	   a channel's letter in lower case: nothing more comes on it; the bridge is then over in both directions
//
// At most [Window] bytes of each channel (B, I, O, E) may be in flight in a direction. The receiver grants as many as it has passed
// on, so that no channel blocks another: a guest that reads no input still gets its replies.
//
// Scripts cannot reach the relay, but the host does not rely on that: a container that breaks these rules is killed.
package remote

import (
	"embed"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

//go:embed relay.py meter.py
var programs embed.FS

// Name is the name of the relay in Files.
const Name = "relay.py"

// Files returns the files that must be in one folder of the container, beside enter.py.
func Files() map[string][]byte {
	all := map[string][]byte{}
	for _, name := range []string{Name, "meter.py"} {
		all[name], _ = programs.ReadFile(name) // embedded, so it cannot fail
	}
	return all
}

const (
	// Window is the maximum number of a channel's bytes in flight.
	Window = 1 << 20
	// maxFrame bounds the payload of one frame, in bytes.
	maxFrame  = 64 << 10
	headBytes = 5
)

// The kinds of frames; see the package comment.
const (
	kindStart  = 'S'
	kindRun    = 'R'
	kindBridge = 'B'
	kindStdin  = 'I'
	kindGrant  = 'G'
	kindKill   = 'K'
	kindQuit   = 'Q'
	kindStdout = 'O'
	kindStderr = 'E'
	kindExited = 'X'
	kindDone   = 'D'
	kindLimit  = 'L'
	kindFault  = 'F'

	closed = 0x20 // turns a channel's letter into the letter for its end
)

// Run describes the run that a guest gets.
type Run struct {
	Bytes int64         // that the workspace may hold; zero: there is no workspace
	Files int           // files and folders that it may hold
	CPU   time.Duration // processor time of all processes; zero: no limit
}

func (r Run) encode() []byte {
	return fmt.Appendf(nil, "%d\x00%d\x00%d", r.Bytes, r.Files, r.CPU.Nanoseconds())
}

// start encodes the frame that starts a guest.
func start(secret string, command []string) ([]byte, error) {
	fields := append([]string{secret}, command...)
	for _, f := range fields {
		if strings.ContainsRune(f, 0) {
			return nil, fmt.Errorf("start a guest: %.100q contains a NUL byte", f)
		}
	}
	b := []byte(strings.Join(fields, "\x00"))
	if len(b) > maxFrame {
		return nil, fmt.Errorf("start a guest: its command has %d bytes; the limit is %d", len(b), maxFrame)
	}
	return b, nil
}

// frame encodes a frame.
func frame(kind byte, payload []byte) []byte {
	b := make([]byte, headBytes, headBytes+len(payload))
	b[0] = kind
	binary.BigEndian.PutUint32(b[1:], uint32(len(payload)))
	return append(b, payload...)
}

// ProtocolError reports that a container broke the protocol.
type ProtocolError struct{ Reason string }

func (e *ProtocolError) Error() string { return "the container's relay misbehaves: " + e.Reason }

func misbehaves(format string, args ...any) error {
	return &ProtocolError{Reason: fmt.Sprintf(format, args...)}
}
