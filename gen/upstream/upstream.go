// Package upstream is the client of MCP servers: it starts or dials a server, finds the protocol era that it speaks, lists
// its tools, calls them, and shuts everything down. Servers are assumed to be clumsy or hostile, so every step is bounded.
// Start with [Connect]; a [Pool] connects on first use and shares sessions.
//
// What a server sends is passed on unchanged: tool definitions and results stay raw JSON, including digits and key order,
// and unknown kinds of content are no error. A server may ask the client only for input from a person (elicitation), and
// only if somebody is there to answer: see [CallOptions]. A malformed answer fails its request; any other breach of
// JSON-RPC ends the session with an error that names the server.
//
// From the outside in: a [Pool] restarts servers that fail, within the limits of a circuit, and keeps the questions of
// several runs apart (spares.go). A [Session] makes requests, each with the questions that the server asks in return
// (request.go), and knows which are in flight (inflight.go). Below the SDK a rawConn keeps the raw bytes of answers
// (raw_transport.go), over the package stdio or httpclient. [Login] logs a person in.
//
// The packages below are stdio (servers as processes), httpclient (remote servers), redact (secrets in text), elicit
// (questions to a person) and oauth (logins and tokens).
package upstream

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/elicit"
	"github.com/mcpgen/mcpgen/gen/upstream/internal/message"
	"github.com/mcpgen/mcpgen/gen/upstream/internal/rawjson"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
	"github.com/mcpgen/mcpgen/gen/upstream/stdio"
)

const (
	// MaxMessage bounds one message of a server, in bytes. A larger one ends the session with an error.
	MaxMessage = message.Max
	// MaxPages, MaxTools and MaxListBytes bound what one server may list.
	MaxPages     = 1000
	MaxTools     = 10_000
	MaxListBytes = 64 << 20
)

// The parts of the packages elicit, oauth and stdio that users of this package need.
type (
	// Question is a server's question to a person, and Reply the answer.
	Question = elicit.Question
	Reply    = elicit.Reply
	// Field is one field of a form, of some FieldKind, and Choice a value that may be chosen.
	Field     = elicit.Field
	FieldKind = elicit.FieldKind
	Choice    = elicit.Choice
	// Logins keeps the tokens of the servers that a person has logged in to.
	Logins = oauth.Store
	// Person is the person who logs in.
	Person = oauth.Person
	// StoredLogin is a stored login, without its secrets.
	StoredLogin = oauth.StoredLogin
)

// The values of [FieldKind], and the actions of a [Reply].
const (
	FieldText    = elicit.FieldText
	FieldNumber  = elicit.FieldNumber
	FieldInteger = elicit.FieldInteger
	FieldBoolean = elicit.FieldBoolean
	FieldChoice  = elicit.FieldChoice
	FieldChoices = elicit.FieldChoices

	ActionAccept  = elicit.ActionAccept
	ActionDecline = elicit.ActionDecline
	ActionCancel  = elicit.ActionCancel
)

// Members returns the values of a JSON object by name; they share their memory with raw. Of duplicate names the last one
// counts. Anything but an object is an error.
func Members(raw []byte) (map[string]json.RawMessage, error) { return rawjson.Members(raw) }

// InheritedNames lists the variables that every started server inherits: see [stdio.InheritedNames].
func InheritedNames() []string { return stdio.InheritedNames() }

// Sweep ends processes that the servers of dead programs left running: see [stdio.Sweep].
func Sweep(ctx context.Context) error { return stdio.Sweep(ctx) }

// Options are the settings of [Connect] and [NewPool]. Nil, and every zero value, is valid.
type Options struct {
	// Lookup finds the variables of the configuration, and those that a started server inherits: see [InheritedNames].
	// With nil no variable is set, not even PATH.
	Lookup config.Lookup
	// Logger receives warnings about mistakes of servers that are tolerated. Nil logs nothing.
	Logger *slog.Logger
	// Stderr returns where the standard error of a server goes, one Write per line, without control characters. Nil, or a
	// nil writer, drops it. A writer that several servers share must allow concurrent use.
	Stderr func(server string) io.Writer
	// ConnectTimeout bounds Connect as a whole. Zero means 60 s, or 5 min for a command that may install the server first,
	// such as npx, uvx or docker run.
	ConnectTimeout time.Duration
	// ProbeTimeout is how long a server has to answer server/discover after reading it. Then the client falls back to the
	// older protocol era. Zero means 5 s.
	ProbeTimeout time.Duration
	// ListTimeout bounds ListTools as a whole; zero means 2 min.
	ListTimeout time.Duration
	// Elicit tells servers that somebody may be there to answer questions. Without it every question is declined, whatever
	// the options of a call say.
	Elicit bool
	// IdleExpiry is how long a [Pool] keeps a session that nobody uses; zero keeps it until the pool is closed.
	IdleExpiry time.Duration
	// Logins holds the tokens for remote servers that a person has logged in to, and renews them. With nil, the requests
	// to a server that needs a login fail.
	Logins *Logins
	// Sessions is told of sessions that have ended after they were established. It may be nil.
	Sessions SessionObserver
	// ClientName and ClientVersion are sent to servers; empty means "mcpgen" and "dev".
	ClientName, ClientVersion string

	// challenged is called for each 401 and 403 of a remote server; it may be nil.
	challenged func(status int, c oauth.Challenge)
}

// SessionObserver is told how long sessions last. It must return soon, and is called concurrently.
type SessionObserver interface {
	// SessionEnded is called with the server's key; pipe and protocol are as in [Trace]. lost says that the connection was lost before
	// anybody closed it.
	SessionEnded(server string, pipe bool, protocol string, lasted time.Duration, lost bool)
}

// withDefaults returns a copy with every zero value replaced.
func (o *Options) withDefaults() *Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Lookup == nil {
		out.Lookup = func(string) (string, bool) { return "", false }
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	if out.Stderr == nil {
		out.Stderr = func(string) io.Writer { return nil }
	}
	setDefault(&out.ProbeTimeout, 5*time.Second)
	setDefault(&out.ListTimeout, 2*time.Minute)
	setDefault(&out.ClientName, "mcpgen")
	setDefault(&out.ClientVersion, "dev")
	return &out
}

func setDefault[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// pause waits and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}
