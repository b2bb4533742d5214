// Package approve asks a person whether a call may be made. A policy decides which calls are asked about; see package policy.
package approve

import (
	"context"
	"encoding/json"

	"github.com/mcpgen/mcpgen/runner/risk"
)

// Question is a call that waits for a person's approval.
type Question struct {
	// Run is the id of the run; empty for a call without a script. Call is the number of the call in its run.
	Run  string
	Call int
	// Script is the name of the script, and Code its text. Both are empty for a call without a script.
	Script, Code string
	// Customer is whom the run is for; empty: the project itself.
	Customer string
	// Server is the server's name in the configuration, Tool the id of the tool in the tree. For a resource or a prompt Tool is
	// the server's folder, a colon and the method: drive:resources/read.
	Server, Tool string
	// Arguments is one JSON object in which personal data is replaced by tokens.
	Arguments json.RawMessage
	// Risk is that of the script, or of the call if it is higher.
	Risk risk.Risk
	// Rule is the rule that wants the approval, with its place, and Reason says why.
	Rule, Reason string
}

// Scope is what an answer allows.
type Scope string

const (
	// Refused is the zero value: no answer is a no.
	Refused Scope = ""
	Once    Scope = "once"  // this call
	Run     Scope = "run"   // and later calls of this tool in this run that the same rule asks about
	Batch   Scope = "batch" // and the calls of this tool and rule that wait now
)

// Answer is a person's answer.
type Answer struct {
	Scope Scope
	// By is who answered, and how: a name, "terminal", a program. Empty with Refused: nobody did.
	By string
	// Reason is why the call was refused, in words for the script. May be empty.
	Reason string
}

// Approver asks people. It is safe for concurrent use: several calls may wait at once.
//
// It is asked about every call that needs approval, and itself remembers what earlier answers allow. Approve returns when there is
// an answer, when it has waited long enough, or when ctx ends; the call, and no other, waits for it. An error means that nobody
// could be asked: the call is refused.
type Approver interface {
	Approve(ctx context.Context, q *Question) (Answer, error)
}
