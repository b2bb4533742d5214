// Package relay carries everything between a host and a guest over one pair of byte streams: the standard input and
// output of a container whose engine shares neither folders nor sockets with the host. relay.py is the other end, the
// container's first program; [Host] is this one.
//
// Both directions are frames: a letter (8 bits), a length (32 bits, big-endian, at most 65,536) and so many bytes.
//
//	to the container
//	S  start the guest: its secret and its command, with a NUL between each two
//	R  make it that of a run: the folders of the workspace that are not its own, with a '/' between each two (".": none;
//	   empty: there is no workspace to fill and to send back); the bytes and the files that it may hold; the bytes that
//	   one file may have; the run's processor time in nanoseconds (0: any); with a NUL between each two
//	B  the bridge     I  standard input     W  what the workspace holds at first, see package carry
//	K  kill whatever runs besides the relay, and go on to the end
//	Q  everything was received: end
//
//	from the container
//	B  the bridge     O  standard output    E  standard error
//	X  the guest has ended: its status, how many processes were killed for want of memory, how many could not be
//	   started (32 bits each), the processor time in nanoseconds, and the most memory in bytes (64 bits each)
//	W  how the workspace has changed; after X, and after O and E have ended
//	L  a limit was passed: "cpu" or "disk"
//	F  the relay could not do its work: why, in words
//
//	both
//	G  grant: a channel's letter and a number (32 bits) of bytes
//	   a channel's letter in lower case: nothing more comes on it; the bridge is then over in both directions
//
// Of each channel (B, I, W, O, E) at most [Window] bytes may be on their way in a direction. The receiver grants as many
// as it has passed on, so that no channel holds up another: a guest that reads no input still gets its replies.
//
// The relay is out of a script's reach, but the host relies on that for nothing: what breaks these rules ends the run.
package relay

import (
	"embed"
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

//go:embed relay.py workspace.py meter.py
var programs embed.FS

// Name is the program to start in the container, one of Files.
const Name = "relay.py"

// Files are what has to lie in one folder in the container, beside enter.py.
func Files() map[string][]byte {
	all := map[string][]byte{}
	for _, name := range []string{Name, "workspace.py", "meter.py"} {
		all[name], _ = programs.ReadFile(name) // it is part of this program
	}
	return all
}

const (
	// Window is how many bytes of a channel may be on their way.
	Window = 1 << 20
	// maxFrame is the most that one frame carries.
	maxFrame  = 64 << 10
	headBytes = 5
)

// The letters.
const (
	kindStart     = 'S'
	kindRun       = 'R'
	kindBridge    = 'B'
	kindStdin     = 'I'
	kindWorkspace = 'W'
	kindGrant     = 'G'
	kindKill      = 'K'
	kindQuit      = 'Q'
	kindStdout    = 'O'
	kindStderr    = 'E'
	kindExited    = 'X'
	kindLimit     = 'L'
	kindFault     = 'F'

	closed = 0x20 // turns a channel's letter into its end
)

// Run says what run a guest becomes that of.
type Run struct {
	// Workspace says that the workspace is to be filled and its changes to be sent back.
	Workspace bool
	Skip      []string      // folders at its top that are not its own
	Bytes     int64         // what the workspace may hold
	Files     int           // files and folders that it may hold
	FileSize  int64         // bytes of one file that the guest may write
	CPU       time.Duration // processor time of all processes; zero: any
}

func (r Run) encode() []byte {
	skip := ""
	if r.Workspace {
		if skip = strings.Join(r.Skip, "/"); skip == "" {
			skip = "."
		}
	}
	return fmt.Appendf(nil, "%s\x00%d\x00%d\x00%d\x00%d", skip, r.Bytes, r.Files, r.FileSize, r.CPU.Nanoseconds())
}

// start encodes what is to be started.
func start(secret string, command []string) ([]byte, error) {
	fields := append([]string{secret}, command...)
	for _, f := range fields {
		if strings.ContainsRune(f, 0) {
			return nil, fmt.Errorf("start a guest: %.100q has a NUL in it", f)
		}
	}
	b := []byte(strings.Join(fields, "\x00"))
	if len(b) > maxFrame {
		return nil, fmt.Errorf("start a guest: its command has %d bytes, more than %d", len(b), maxFrame)
	}
	return b, nil
}

// frame puts a frame into one piece.
func frame(kind byte, payload []byte) []byte {
	b := make([]byte, headBytes, headBytes+len(payload))
	b[0] = kind
	binary.BigEndian.PutUint32(b[1:], uint32(len(payload)))
	return append(b, payload...)
}

// ProtocolError says that a container does not keep to the rules above.
type ProtocolError struct{ Reason string }

func (e *ProtocolError) Error() string { return "the container's relay misbehaves: " + e.Reason }

func misbehaves(format string, args ...any) error {
	return &ProtocolError{Reason: fmt.Sprintf(format, args...)}
}
