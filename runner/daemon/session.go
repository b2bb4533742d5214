package daemon

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// session is a job as its client sees it.
type session struct {
	wire wire
	read reader
	io   Streams
}

// interrupted is the number of SIGINT.
const interrupted = 2

// follow serves the job until its end.
func (s *session) follow(ctx context.Context) (exitCode int, err error) {
	stop := context.AfterFunc(ctx, func() {
		number := interrupted
		if s.io.Signal != nil {
			number = cmp.Or(s.io.Signal(ctx), interrupted)
		}
		_ = s.wire.write(kindSignal, []byte{byte(number)})
	})
	defer stop()
	for {
		kind, payload, err := s.read.next()
		if err != nil {
			return 0, &LostError{Err: err}
		}
		switch kind {
		case kindExit:
			if len(payload) != 4 {
				return 0, &LostError{Err: errProtocol}
			}
			return int(int32(binary.BigEndian.Uint32(payload))), nil
		case kindBroken:
			return 0, &LostError{Err: errors.New(string(payload))}
		}
		if err := s.serve(kind, payload); err != nil {
			return 0, err
		}
	}
}

// serve does what the daemon asks for.
func (s *session) serve(kind byte, payload []byte) error {
	switch kind {
	case kindStdout:
		return put(s.io.Stdout, payload)
	case kindStderr:
		return put(s.io.Stderr, payload)
	case kindAsk:
		v := variable{Name: string(payload)}
		if s.io.LookupEnv != nil {
			if value, ok := s.io.LookupEnv(v.Name); ok {
				v.Value, v.Set = value, true
			}
		}
		if err := s.wire.writeJSON(kindVariable, v); err != nil {
			return &LostError{Err: err}
		}
		return nil
	case kindWant:
		if len(payload) != 4 {
			return &LostError{Err: errProtocol}
		}
		// The daemon asks for more only when it has got this, so there is one of these at a time. It may still stand in
		// Read when the job is over.
		go s.feed(int(min(binary.BigEndian.Uint32(payload), maxChunk)))
		return nil
	}
	return &LostError{Err: fmt.Errorf("%w: a message of kind %q", errProtocol, kind)}
}

// feed reads standard input once. An error ends it like its end.
func (s *session) feed(most int) {
	var n int
	buf := make([]byte, most)
	if s.io.Stdin != nil {
		var err error
		for n == 0 && err == nil && most > 0 {
			n, err = s.io.Stdin.Read(buf)
		}
	}
	_ = s.wire.write(kindInput, buf[:n])
}

func put(w io.Writer, p []byte) error {
	if w == nil {
		return nil
	}
	_, err := w.Write(p)
	return err
}
