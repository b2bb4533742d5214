// Package plugin asks plugins about runs and calls: before and after each. A plugin allows what it is asked about, denies it with a reason, or
// changes a value of it. It can only make things stricter: policy and schemas decide about what it has changed.
//
// A plugin is a [Hook]: a Go value, or a program that [Open] starts. A [Set] asks several in turn. Package chain asks about calls, package
// runner about runs; both replace personal data by tokens first, where a mode hides it.
//
// # Protocol
//
// A program reads an [Event] as one line of JSON from standard input, and writes an [Answer] as one line of JSON to standard output:
//
//	{"id":1,"hook":"call","tool":"crm__create_record","arguments":{"amount":12000}}
//	{"id":1,"decision":"deny","reason":"over 10,000"}
//
// With mode once, each event has a process of its own, whose input then ends; the answer's id may be left out, and the process must end with
// exit code 0. With mode stream, one process gets all events, and may answer in any order. It is started again when it has ended.
//
// A plugin fails if it gives no such answer in time: it ends, hangs, writes something else or more than 16 MiB, answers an event that it was not
// asked about, or changes a value into one that its place does not take. Then it is ended with everything that it started, and [Plugin.FailOpen]
// decides.
package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/audit"
)

// Point is where a plugin is asked.
type Point string

const (
	Run    Point = "run"     // before a script starts; what may be changed is vars
	RunEnd Point = "run_end" // when it has ended; result
	Call   Point = "call"    // before a call is made; arguments
	Result Point = "result"  // when it has been answered; result, unless the call failed
)

// Event is what a plugin is asked about. Fields that say nothing at a point are empty. In a mode that hides personal data, tokens such as
// [EMAIL_1] stand for it.
type Event struct {
	// ID is a number that the answer repeats. [Set.Ask] sets it.
	ID   int64 `json:"id"`
	Hook Point `json:"hook"`
	// Run is the id of the run, or empty for a call without a script. Customer and Session are on whose behalf it is.
	Run      string `json:"run,omitempty"`
	Customer string `json:"customer,omitempty"`
	Session  string `json:"session,omitempty"`

	// Script is the name of its file. Code, Args and Vars are those of the script, and Risk is how much harm it may do: none, low, medium, high or
	// critical.
	Script   string                     `json:"script,omitempty"`
	Language string                     `json:"language,omitempty"`
	Code     string                     `json:"code,omitempty"`
	Risk     string                     `json:"risk,omitempty"`
	Args     []string                   `json:"args,omitempty"`
	Vars     map[string]json.RawMessage `json:"vars,omitempty"`

	// Call is the number of a call in its run. Tool is its id, server__tool; Server the key of the server, and Name what the server calls it.
	// Arguments are one object.
	Call      int             `json:"call,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Server    string          `json:"server,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Result is that of a script, or what a script gets of a call. With Raw it is the whole CallToolResult of MCP, as calls without a script get
	// it. Error is why the call failed, in which case there is no Result.
	Result json.RawMessage `json:"result,omitempty"`
	Raw    bool            `json:"raw,omitempty"`
	Error  string          `json:"error,omitempty"`

	// End is how a script ended.
	End *End `json:"end,omitempty"`
}

// End is how a script ended. Sizes are in bytes.
type End struct {
	ExitCode    int    `json:"exitCode"`
	Cause       string `json:"cause"`
	Calls       int    `json:"calls"`
	StdoutBytes int64  `json:"stdoutBytes"`
	StderrBytes int64  `json:"stderrBytes"`
}

// Value returns what may be changed at the point of the event, or nil.
func (e *Event) Value() json.RawMessage {
	switch e.Hook {
	case Run:
		text, err := json.Marshal(e.Vars)
		if err != nil || len(e.Vars) == 0 {
			return json.RawMessage("{}")
		}
		return text
	case Call:
		return e.Arguments
	}
	return e.Result
}

// set sets what may be changed.
func (e *Event) set(value json.RawMessage) error {
	switch e.Hook {
	case Run:
		vars := map[string]json.RawMessage{}
		if err := json.Unmarshal(value, &vars); err != nil || value[0] != '{' {
			return errors.New("the variables are no object")
		}
		for name := range vars {
			if _, ok := e.Vars[name]; !ok {
				return fmt.Errorf("the script has no variable %q", ident.Clip(name, maxName))
			}
		}
		if len(vars) != len(e.Vars) {
			return errors.New("a variable is missing")
		}
		e.Vars = vars
	case Call:
		if value[0] != '{' {
			return errors.New("the arguments are no object")
		}
		e.Arguments = value
	default:
		if e.Error != "" {
			return errors.New("the call failed, so there is no result to change")
		}
		e.Result = value
	}
	return nil
}

// Decision is what a plugin decides.
type Decision string

const (
	Allow  Decision = "allow"
	Deny   Decision = "deny"
	Change Decision = "change"
	// Failed is in records only: the plugin gave no valid answer.
	Failed Decision = "failed"
)

// Answer is what a plugin says about an event.
type Answer struct {
	ID       int64    `json:"id,omitempty"`
	Decision Decision `json:"decision"`
	// Reason is why it denies, for whoever wrote the script.
	Reason string `json:"reason,omitempty"`
	// Value takes the place of what may be changed at the event's point, if the decision is [Change]. Others have none.
	Value json.RawMessage `json:"value,omitempty"`
}

// Hook decides about events. It must be safe for concurrent use, and return soon after ctx has ended. A Hook that is an io.Closer is closed by
// [Set.Close].
type Hook interface {
	Decide(ctx context.Context, e *Event) (*Answer, error)
}

// Plugin is a hook with the conditions under which it is asked.
type Plugin struct {
	Name string
	Hook Hook
	// On are the points at which it is asked. Nil: all.
	On []Point
	// Tools are globs, with * for any text and ? for any one character, of the ids or names of tools whose calls it is asked about. Nil: all.
	Tools []string
	// Timeout bounds the wait for one answer. Zero: [config.PluginTimeout].
	Timeout time.Duration
	// FailOpen lets pass what it gives no valid answer about. Otherwise that is denied.
	FailOpen bool

	slots chan struct{} // bounds the answers that are waited for; nil: any number
}

// fits reports whether the plugin is asked about an event.
func (p *Plugin) fits(point Point, tool, name string) bool {
	if p.On != nil && !slices.Contains(p.On, point) {
		return false
	}
	if p.Tools == nil || point == Run || point == RunEnd {
		return true
	}
	return slices.ContainsFunc(p.Tools, func(glob string) bool { return config.MatchGlob(glob, tool) || config.MatchGlob(glob, name) })
}

// Bounds, in bytes, of names and reasons that plugins give.
const (
	maxName   = 100
	maxReason = 300
)

// DeniedError says that a plugin denies what it was asked about.
type DeniedError struct {
	// Plugin is its name, and Reason what it says, or why it failed.
	Plugin, Reason string
	// Failed means that it gave no valid answer.
	Failed bool
}

func (e *DeniedError) Error() string {
	switch {
	case e.Failed:
		return fmt.Sprintf("plugin %s failed, and what it cannot check is refused: %s", e.Plugin, e.Reason)
	case e.Reason == "":
		return fmt.Sprintf("plugin %s: refused", e.Plugin)
	}
	return fmt.Sprintf("plugin %s: refused: %s", e.Plugin, e.Reason)
}

// Set asks plugins, in their order. A nil Set has none.
type Set struct{ plugins []Plugin }

// New returns a Set of plugins.
func New(plugins ...Plugin) *Set { return &Set{plugins} }

// Names returns the names of the plugins.
func (s *Set) Names() (names []string) {
	if s != nil {
		for i := range s.plugins {
			names = append(names, s.plugins[i].Name)
		}
	}
	return names
}

// Fits reports whether a plugin is asked at the point about a call of the tool, by its id and its own name.
func (s *Set) Fits(point Point, tool, name string) bool {
	return s != nil && slices.ContainsFunc(s.plugins, func(p Plugin) bool { return p.fits(point, tool, name) })
}

// Place is where the value of an event comes from, and where a changed one goes to.
type Place struct {
	// Check says whether the place takes a changed value. Nil: any that [Set.Ask] accepts.
	Check func(value json.RawMessage) error
	// Mask replaces personal data in a value before the record gets its digest. Nil: it has none.
	Mask func(value json.RawMessage) json.RawMessage
}

// digest returns the SHA-256 of a masked value, in hexadecimal.
func (p *Place) digest(value json.RawMessage) audit.Text {
	if p.Mask != nil {
		value = p.Mask(value)
	}
	return audit.Text(fmt.Sprintf("%x", sha256.Sum256(value)))
}

// Ask asks the plugins that fit an event, until one denies it. Each gets the value as those before it have changed it. Ask returns what plugins
// did other than allow. The error is a *DeniedError, or that with which ctx has ended.
func (s *Set) Ask(ctx context.Context, e *Event, at Place) (done []audit.Plugin, err error) {
	if s == nil {
		return nil, nil
	}
	for i := range s.plugins {
		p := &s.plugins[i]
		if !p.fits(e.Hook, e.Tool, e.Name) {
			continue
		}
		row := audit.Plugin{Name: p.Name, Hook: string(e.Hook)}
		answer, failed := p.ask(ctx, e)
		if ctx.Err() != nil {
			return done, context.Cause(ctx)
		}
		was := e.Value()
		if failed == nil && answer.Decision == Change {
			failed = change(e, answer.Value, at.Check)
		}
		switch {
		case failed != nil:
			row.Decision, row.Reason = string(Failed), audit.Text(ident.Clip(ident.CleanLine(failed.Error()), maxReason))
			if done = append(done, row); !p.FailOpen {
				return done, &DeniedError{Plugin: p.Name, Reason: string(row.Reason), Failed: true}
			}
		case answer.Decision == Deny:
			row.Decision, row.Reason = string(Deny), audit.Text(ident.Clip(ident.CleanLine(answer.Reason), maxReason))
			return append(done, row), &DeniedError{Plugin: p.Name, Reason: string(row.Reason)}
		case !bytes.Equal(was, e.Value()):
			row.Decision, row.From, row.To = string(Change), at.digest(was), at.digest(e.Value())
			done = append(done, row)
		}
	}
	return done, nil
}

// Unchecked says which plugins gave no valid answer and let pass what they were asked about. Its arguments are what [Set.Ask] has returned.
func Unchecked(done []audit.Plugin, err error) (texts []string) {
	for i := range done {
		if done[i].Decision == string(Failed) && (err == nil || i < len(done)-1) {
			texts = append(texts, done[i].String()+"; what it was asked about has passed unchecked")
		}
	}
	return texts
}

// change puts a changed value into an event, if its place takes it.
func change(e *Event, value json.RawMessage, check func(json.RawMessage) error) error {
	if value = bytes.TrimSpace(value); !json.Valid(value) {
		return errors.New(`its answer is to change something, and has no "value" that is JSON`)
	}
	was := *e
	err := e.set(value)
	if err == nil && check != nil {
		err = check(value)
	}
	if err != nil {
		*e = was
		return fmt.Errorf("its changed value cannot be used: %w", err)
	}
	return nil
}

// errLate is why an answer is not waited for any more.
var errLate = errors.New("no answer in time")

// ask asks the plugin, and checks the form of the answer.
func (p *Plugin) ask(ctx context.Context, e *Event) (*Answer, error) {
	timeout := p.Timeout
	if timeout <= 0 {
		timeout = config.PluginTimeout
	}
	if p.slots != nil {
		select {
		case p.slots <- struct{}{}:
			defer func() { <-p.slots }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	in, cancel := context.WithTimeoutCause(ctx, timeout, errLate)
	defer cancel()
	copied := *e
	answer, err := p.Hook.Decide(in, &copied)
	switch {
	case err != nil && errors.Is(context.Cause(in), errLate):
		return nil, fmt.Errorf("it gave no answer within %s", config.FormatDuration(timeout))
	case err != nil:
		return nil, err
	case answer == nil || !slices.Contains([]Decision{Allow, Deny, Change}, answer.Decision):
		return nil, fmt.Errorf("its answer decides %.50q, not allow, deny or change", decisionOf(answer))
	case answer.Decision != Change && len(answer.Value) > 0 && string(answer.Value) != "null":
		return nil, fmt.Errorf(`its answer decides %q and has a "value", which takes the decision change`, answer.Decision)
	}
	return answer, nil
}

func decisionOf(a *Answer) Decision {
	if a == nil {
		return ""
	}
	return a.Decision
}

// Close ends the programs of the plugins.
func (s *Set) Close() error {
	if s == nil {
		return nil
	}
	var errs []error
	for i := range s.plugins {
		if c, ok := s.plugins[i].Hook.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
