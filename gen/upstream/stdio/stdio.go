// Package stdio starts MCP servers as processes and talks to them over their standard input and output, in
// newline-delimited JSON-RPC. Start with [Start].
//
// A [Conn] owns its process and everything that the process starts: when Close returns, all of it has ended. Unlike the
// SDK's own transport it accepts text that servers print to standard output by mistake, and it ends a write when the
// context of the write ends.
package stdio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/internal/message"
	"github.com/mcpgen/mcpgen/gen/upstream/redact"
)

const (
	// maxNoise is the maximum number of lines of text that a server may write to standard output before the connection ends;
	// maxNoiseLogged of them are logged, each cut to maxQuoted bytes.
	maxNoise       = 10_000
	maxNoiseLogged = 20
	maxQuoted      = 200
)

// ErrNotSent is in the error of a write that cannot have reached the server as a message. It has no text of its own.
var ErrNotSent = errors.New("")

// Conn is a connection to a server that runs as a process of ours. It is an [mcp.Connection].
type Conn struct {
	proc   *process
	log    *slog.Logger
	secret *redact.Redactor

	incoming chan jsonrpc.Message
	closed   chan struct{} // Close was called
	ended    chan struct{} // reading has ended, because of endErr
	endErr   error

	writing   chan struct{} // holds one element during a write
	closeOnce sync.Once
	noise     int
}

var _ mcp.Connection = (*Conn)(nil)

// Start starts a server. The error names the program, and holds no secret.
func Start(opts Options) (*Conn, error) {
	proc, err := startProcess(opts)
	if err != nil {
		return nil, err
	}
	c := &Conn{
		proc: proc, log: opts.Log, secret: opts.Secret, incoming: make(chan jsonrpc.Message), writing: make(chan struct{}, 1),
		closed: make(chan struct{}), ended: make(chan struct{}),
	}
	go c.readAll()
	go func() {
		// A process that the server started may keep standard output open, but once the server has ended, nobody answers
		// there.
		<-proc.exited
		if !waitFor(proc.outputDone, strayGrace) {
			proc.stop()
		}
	}()
	return c, nil
}

// SessionID returns "": a process is its own session.
func (c *Conn) SessionID() string { return "" }

// PID returns the process id of the server.
func (c *Conn) PID() int { return c.proc.cmd.Process.Pid }

// Read returns the next message; after the last one, the reason for the end.
func (c *Conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.incoming:
		return msg, nil
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.ended:
		return nil, c.endErr
	}
}

// Write sends one message. If the context ends in the middle of it, the connection ends too: half a message cannot be
// taken back.
func (c *Conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encode the message: %w", err)
	}
	data = append(data, '\n')

	select { // not a mutex: other writers have deadlines of their own when the server does not read
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	w := c.proc.stdin
	_ = w.SetWriteDeadline(time.Time{})
	// A deadline in the past ends a write that blocks because the server does not read.
	interrupt := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = w.SetWriteDeadline(time.Unix(1, 0))
		close(interrupt)
	})
	n, err := w.Write(data)
	if !stop() {
		<-interrupt // otherwise it could set its deadline after the next write has cleared it
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && n == 0:
		return ctx.Err()
	case ctx.Err() != nil:
		go c.Close()
		return fmt.Errorf("the server stopped reading: %w", ctx.Err())
	case n < len(data)-1: // everything but the newline was written, which the server could treat as a message
		return fmt.Errorf("write to the server: %w%w", ErrNotSent, withoutPath(err))
	}
	return fmt.Errorf("write to the server: %w", withoutPath(err))
}

// HasUnreadInput reports whether the server has not read everything that was written to it. It is false where the
// system cannot tell.
func (c *Conn) HasUnreadInput() bool { return c.proc.hasUnread() }

// Close ends the process and everything that it started, and returns when they are gone.
func (c *Conn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	c.proc.stop()
	return nil
}

// Ending describes how the process ended, with its last words on standard error. If only its output has ended, Ending ends
// the process. It returns "" until the process is gone.
func (c *Conn) Ending() string {
	go c.proc.stop() // nothing can come from it any more
	if waitFor(c.proc.exited, eofGrace) {
		waitFor(c.proc.reaped, tailGrace)
	}
	return c.proc.ending()
}

// RecentStderr quotes the last lines of the server's standard error, for the end of an error message.
func (c *Conn) RecentStderr() string { return c.proc.tail.quoteRecent() }

// readAll reads standard output to its end, so that the server never blocks there, and passes messages on.
func (c *Conn) readAll() {
	defer c.proc.outputEnded()
	in := bufio.NewReaderSize(c.proc.stdout, 64<<10)
	for {
		line, err := c.readLine(in)
		if err == nil {
			err = c.accept(line)
		}
		if err != nil {
			c.endErr = err
			close(c.ended)
			break
		}
	}
	_, _ = io.Copy(io.Discard, in)
}

// readLine returns the next line that could be a message, and drops lines of text. The line belongs to the caller.
func (c *Conn) readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if line == nil && !startsJSON(part) {
			if err := c.drop(in, part, err); err != nil {
				return nil, err
			}
			continue
		}
		if len(line)+len(part) > message.Max {
			return nil, fmt.Errorf("the server sent a message of more than %d MiB", message.Max>>20)
		}
		if cap(line)-len(line) < len(part) {
			line = slices.Grow(line, max(len(part), len(line))) // append would copy a large line far more often
		}
		line = append(line, part...)
		switch {
		case err == nil, errors.Is(err, io.EOF):
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, endOfOutput(err)
		}
	}
}

// endOfOutput returns io.EOF for the ordinary end of a process.
func endOfOutput(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) { // closed by stop
		return io.EOF
	}
	return fmt.Errorf("read from the server: %w", withoutPath(err))
}

// startsJSON reports whether a line could be a message.
func startsJSON(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r\n")
	return len(line) > 0 && (line[0] == '{' || line[0] == '[')
}

// drop reads a line of text to its end.
func (c *Conn) drop(in *bufio.Reader, part []byte, err error) error {
	shown := c.quote(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	if err != nil {
		return endOfOutput(err)
	}
	return c.countNoise(shown)
}

// countNoise logs the first lines of text, and returns an error when there are too many.
func (c *Conn) countNoise(shown string) error {
	if shown == "" {
		return nil
	}
	if c.noise++; c.noise > maxNoise {
		return fmt.Errorf("the server wrote more than %d lines of text to standard output, which is for messages only", maxNoise)
	}
	if c.noise <= maxNoiseLogged {
		c.log.Warn("the server wrote text to standard output, which is for messages only; the line was dropped", "line", shown)
	}
	return nil
}

// accept decodes a line and passes the message on. A malformed answer fails only its request if the id can be read; any
// other malformed message ends the connection. The errors do not quote it, because requests of other callers fail with
// them. A line that is not meant as a message is text.
func (c *Conn) accept(line []byte) error {
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		reason := message.Malformed(line)
		answer := malformedAnswer(line, reason)
		switch {
		case line[len(line)-1] != '\n': // the server ended in the middle of it
			return io.EOF
		case answer == nil && !bytes.Contains(line, []byte(`"jsonrpc"`)):
			return c.countNoise(c.quote(line))
		}
		c.log.Debug("the server sent a malformed message", "error", reason.Message, "line", c.quote(line))
		if answer == nil {
			return errors.New(reason.Message)
		}
		msg = answer
	}
	select {
	case c.incoming <- msg:
		return nil
	case <-c.closed:
		return io.EOF
	}
}

// answerStart matches the beginning of an answer, up to its result.
var answerStart = regexp.MustCompile(`^\s*\{\s*("jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*([0-9]{1,15})\s*,\s*("jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"result"\s*:`)

// malformedAnswer returns an error response with the id of a malformed answer; nil if no id precedes the result. The common
// defect is NaN, which Python writes, with the id first.
func malformedAnswer(line []byte, reason *jsonrpc.Error) jsonrpc.Message {
	m := answerStart.FindSubmatch(line)
	if m == nil {
		return nil
	}
	n, _ := strconv.ParseFloat(string(m[2]), 64) // digits only
	id, _ := jsonrpc.MakeID(n)
	return &jsonrpc.Response{ID: id, Error: reason}
}

// quote returns the beginning of a line as printable text without secrets.
func (c *Conn) quote(line []byte) string {
	clean := c.secret.Clean(string(line[:min(len(line), 16*maxQuoted)])) // clean first; cutting first could leave half a secret
	return strings.TrimSpace(ident.Printable(clean[:min(len(clean), maxQuoted)], maxQuoted))
}
