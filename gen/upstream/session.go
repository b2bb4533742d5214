package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/upstream/httpclient"
	"github.com/mcpgen/mcpgen/gen/upstream/stdio"
)

// Session is a connection to one server. Its methods may be used from several goroutines at once.
type Session struct {
	sdk  *mcp.ClientSession
	conn *rawConn
	errs errorMaker
	log  *slog.Logger
	opts *Options
	end  context.CancelCauseFunc // ends every HTTP request of the session

	since time.Time // when it was established

	configured Identity      // without the login
	login      func() string // the identity of the login; nil: it uses none

	process *stdio.Conn        // nil for HTTP
	http    *httpclient.Client // nil for stdio

	inflight    *inflight
	listening   chan struct{} // closed once the server has opened its own stream; nil if none was asked for
	listeningBy time.Time     // when requests stop waiting for that stream
	subscribing sync.Once

	listing chan struct{}            // holds one element while the tools are listed
	tools   *toolList                // the last one; guarded by listing
	listed  atomic.Bool              // the SDK knows the headers that calls need
	omitted atomic.Pointer[[]string] // what the last list left out

	closeOnce sync.Once
	closing   atomic.Bool
	closed    chan struct{} // closed when Close has finished
}

// Info is what a server says about itself. All of it is hostile text.
type Info struct {
	// Title is the server's title, or else its name. It is only for people: a server is identified by its configured name.
	Title, Version string
	// Instructions are for the model.
	Instructions string
	// Protocol is the agreed revision, such as 2025-11-25.
	Protocol string
}

// Info returns what the server said when it connected.
func (s *Session) Info() Info {
	init := s.sdk.InitializeResult()
	if init == nil {
		return Info{}
	}
	info := Info{Instructions: init.Instructions, Protocol: init.ProtocolVersion}
	if si := init.ServerInfo; si != nil {
		info.Title, info.Version = si.Title, si.Version
		if info.Title == "" {
			info.Title = si.Name
		}
	}
	return info
}

// modern reports whether the session speaks the newer protocol era.
func (s *Session) modern() bool { return s.Info().Protocol > legacyVersion }

// Conceal replaces the values of the configuration's variables, and the tokens of a login, by their names in brackets,
// in text of the server that is kept: a server may repeat a token that it was given.
func (s *Session) Conceal(text string) string { return s.errs.secret.Conceal(text) }

// ConcealIn does what [Session.Conceal] does in the strings of a JSON text; every other byte stays, and so do member
// names and values that a schema compares with.
func (s *Session) ConcealIn(raw json.RawMessage) json.RawMessage {
	return s.errs.secret.ConcealJSON(raw)
}

// established marks the end of connecting.
func (s *Session) established() {
	s.conn.established.Store(true)
	s.since = time.Now()
	if s.http == nil {
		return
	}
	s.http.Established()
	version := s.Info().Protocol
	s.conn.version.Store(&version)
	s.conn.closingCancels.Store(s.modern())
	s.listenInOlderEra()
}

// Lost reports whether the session cannot be used any more: the server ended or forgot it, or it was closed.
func (s *Session) Lost() bool {
	return s.conn.isLost() || s.http.Forgotten()
}

// Close ends the session, calls in flight included, and for a started server its process and everything which that
// process started. It returns when they are gone. It may be called again.
func (s *Session) Close() error {
	s.closeOnce.Do(func() {
		s.conn.sendCancellations()
		s.closing.Store(!s.conn.isLost()) // calls in flight report how it was lost
		// The SDK would wait for calls in flight, which end with the connection.
		err := s.conn.Close()
		if s.sdk != nil {
			err = errors.Join(err, s.sdk.Close())
		}
		if err != nil {
			s.log.Debug("close the session", "err", s.errs.secret.Clean(plain(err)))
		}
		s.finish()
		if s.opts.Sessions != nil {
			s.opts.Sessions.SessionEnded(s.errs.server, s.process != nil, s.Info().Protocol, time.Since(s.since), !s.closing.Load())
		}
		close(s.closed)
	})
	<-s.closed
	return nil
}

// abandon drops a session that was never established.
func (s *Session) abandon() {
	s.conn.lose(io.EOF)
	if s.conn.inner != nil {
		_ = s.conn.inner.Close() // the reason for abandoning it is already reported
	}
	s.finish()
}

func (s *Session) finish() {
	s.end(context.Canceled)
	if s.process != nil {
		_ = s.process.Close()
	}
	s.http.Close()
}

// lossReason returns how the session was lost, or nil if it was not. For a process that has ended, it says how it ended.
func (s *Session) lossReason() error {
	if s.closing.Load() {
		return errors.New("the session was closed")
	}
	if !s.conn.isLost() {
		return nil
	}
	cause := context.Cause(s.conn.lost)
	if s.process == nil {
		if errors.Is(cause, io.EOF) {
			return nil
		}
		return cause
	}
	ending := s.process.Ending()
	switch {
	case !errors.Is(cause, io.EOF):
		return cause
	case ending != "":
		return errors.New(ending)
	}
	return errors.New("the server closed its output")
}

// whileUp returns a context for one request that ends with ctx and with the session. It does not carry the values of ctx,
// because the caller may itself be answering a request of an MCP client, and the SDK would send this server the protocol
// version of that client.
func (s *Session) whileUp(ctx context.Context) (context.Context, context.CancelFunc) {
	up, cancel := context.WithCancelCause(s.conn.lost)
	if ctx.Err() != nil {
		cancel(context.Cause(ctx))
	}
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return up, func() {
		stop()
		cancel(nil)
	}
}

// fail turns the error of a request into one of ours. doing says what was being done, such as: call "x".
func (s *Session) fail(ctx context.Context, c *capture, doing string, err error) error {
	if stopped := interrupted(ctx, fmt.Sprintf("%s of %q", doing, s.errs.server)); stopped != nil {
		return stopped
	}
	forgotten := s.http.Forgotten()
	if c.Answer != nil && !forgotten {
		return fmt.Errorf("%s: %w", doing, s.errs.protocol(c.Answer.Code, c.Answer.Message, c.Answer.Data))
	}
	unsent := forgotten && !c.Accepted || notSent(err) || !c.sent
	needed := s.http.LoginNeeded()
	if needed != nil {
		err, unsent = needed, true // the server refused the request
	} else if forgotten && c.Accepted {
		err = errors.New("the server no longer knows the session, probably because it was restarted; whether the request took effect is unknown")
	} else if forgotten {
		text := "the server no longer knows the session"
		if c.Answer != nil {
			text += fmt.Sprintf(" (it says %q)", ident.Printable(c.Answer.Message, 200))
		}
		err = errors.New(text)
	} else if reserving := c.ReserveFor(0); reserving != nil {
		err = reserving
	} else if lost := s.lossReason(); lost != nil {
		err = lost
	} else if errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, context.Canceled) {
		err = errors.New("the connection is closed")
	}
	gone := s.errs.connection(err)
	gone.NotSent, gone.Login = unsent, needed != nil
	var refused *httpclient.Refusal
	gone.down = errors.As(err, &refused) && refused.Down
	return fmt.Errorf("%s: %w", doing, gone)
}

// notSent reports whether a request cannot have reached the server.
func notSent(err error) bool {
	var op *net.OpError
	var refused *httpclient.Refusal
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &refused) && refused.Unsent
}
