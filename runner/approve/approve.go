// Package approve asks a person whether a call may be made, or a script may start. A policy decides what is asked about; see package
// policy.
//
// An [Approver] is one way to ask: a client's form ([Elicit]), a program ([Command]), a web page ([PageApprover]); package term of mcprun has
// the terminal. [New] combines them for one run, and remembers what was answered.
package approve

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// Question is a call, a connection, a plan, or a script about to start that waits for a person's approval. Its texts from scripts and servers are
// hostile: show them with [Question.View].
type Question struct {
	// Run is the id of the run; empty for a call without a script. Call is the number of the call in its run.
	Run  string `json:"run,omitempty"`
	Call int    `json:"call,omitempty"`
	// Script is the name of the script, and Code its text. Both are empty for a call without a script.
	Script string `json:"script,omitempty"`
	Code   string `json:"code,omitempty"`
	// At is where the script makes the call, as NAME:LINE. It comes from the sandbox, which may lie. Source is the text of that file if it
	// is not the script itself: a file beside it, or a skill.
	At     string `json:"at,omitempty"`
	Source string `json:"source,omitempty"`
	// Customer is the customer that the run is for. Empty: the project itself.
	Customer string `json:"customer,omitempty"`
	// Server is the server's name in the configuration, Tool the id of the tool in the tree. For a resource or a prompt Tool is
	// the server's folder, two underscores and the method: drive__resources/read.
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Arguments is one JSON object: the values that the server will get, without the secrets of the configuration.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Connection is HOST:PORT that the script wants to connect to, if the question is about that. Tool is [Network] then, and Server is empty.
	Connection string `json:"connection,omitempty"`
	// Tokens replaces personal data in a question that passes through the model's client. All questions of a run share one Masker, so
	// that two values never get the same token. Nil: the question gets its own.
	Tokens pii.Masker `json:"-"`
	// Risk is the higher of the script's risk and the call's.
	Risk risk.Risk `json:"risk"`
	// Rule is the rule that requires the approval, with its place. Reason says why.
	Rule   string `json:"rule,omitempty"`
	Reason string `json:"reason,omitempty"`

	// Plan or Start is set if the question is about a plan or a script's start instead of one call. Server, Tool and Arguments are empty
	// then.
	Plan  *Plan  `json:"plan,omitempty"`
	Start *Start `json:"start,omitempty"`

	// others returns the other waiting calls of this tool and rule, which Batch then allows too. Set by New.
	others func() []*Question
	// text replaces personal data in code, reasons and names that a script affects. If nil, they are shown unchanged.
	text func(string) string
}

// Network stands for the tool in a question about a connection.
const Network = "network"

// masked returns the question without personal data, ready to pass through the model's client.
func (q *Question) masked() *Question {
	tokens := q.Tokens
	if tokens == nil {
		tokens = pii.New()
	}
	out := *q
	out.Arguments, out.text = tokens.MaskJSON(q.Arguments), tokens.Mask
	out.others = func() []*Question {
		list := slices.Clone(q.Others())
		for i, other := range list {
			one := *other
			one.Arguments = tokens.MaskJSON(other.Arguments)
			list[i] = &one
		}
		return list
	}
	return &out
}

// Scope says which calls an answer allows or refuses.
type Scope string

const (
	// Refused is the zero value: without an answer, the call is refused.
	Refused Scope = ""
	Once    Scope = "once"  // this call
	Run     Scope = "run"   // and later calls in this run with the same tool, rule and argument names
	Batch   Scope = "batch" // and the waiting calls of this tool and rule that were shown with it

	RefusedBatch Scope = "none" // neither this call nor the waiting calls that were shown with it
	RefusedRun   Scope = "stop" // neither this call nor any later one in this run that the same rule asks about
)

// allows reports whether the call may be made.
func (s Scope) allows() bool { return s == Once || s == Run || s == Batch }

// Answer is a person's answer.
type Answer struct {
	Scope Scope
	// By says who answered, and how: a name, "terminal", a program. If By is empty in a refusal, nobody answered.
	By string
	// Reason is why the call was refused, in words for the script. May be empty.
	Reason string
}

// WhyNot returns the end of a sentence about a refusal: the reason, or else who refused.
func (a Answer) WhyNot() string {
	switch {
	case a.Reason != "":
		return " (" + a.Reason + ")"
	case a.By == "":
		return " (nobody answered)"
	}
	return " by " + a.By
}

// Approver asks people. It is safe for concurrent use: several calls may wait at once.
//
// It is asked about every call that needs approval. The Approver that New returns remembers what earlier answers allow and refuse, and
// returns Refused for all kinds of refusal. Approve returns when there is an answer, when it has waited long enough, or when ctx ends. Only
// the call in question waits for it. An error means that nobody could be asked, and the call is refused.
type Approver interface {
	Approve(ctx context.Context, q *Question) (Answer, error)
}

// ErrNobody is returned by an Approver that has nobody to ask.
var ErrNobody = errors.New("nobody can be asked")

// Others returns the waiting calls of the same tool and rule, which Batch allows besides the call itself. An approver that offers Batch
// shows them.
func (q *Question) Others() []*Question {
	if q.others == nil {
		return nil
	}
	return q.others()
}
