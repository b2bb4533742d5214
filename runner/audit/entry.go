package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Kind is the kind of a row.
type Kind string

// Kinds of rows. An action that has effects has two rows: the intent, durable before the effect can happen, and its end. An intent without
// an end has an unknown outcome.
const (
	KindRun        Kind = "run"        // a script is about to start; its body is a [RunStart]
	KindRunEnd     Kind = "run.end"    // it has ended, or was refused; a [RunEnd]
	KindCall       Kind = "call"       // a call is about to be sent; a [CallStart]
	KindCallEnd    Kind = "call.end"   // it has ended, or was refused; a [CallEnd]
	KindApproval   Kind = "approval"   // a person answered a question; an [Approval]
	KindPlan       Kind = "plan"       // a plan was made, approved, refused or used; a [Plan]
	KindConnection Kind = "connection" // a connection or request over the network; an egress.Event
	KindPersonal   Kind = "personal"   // how much personal data left as tokens; a [Personal]
	KindAccess     Kind = "access"     // personal data was restored or forgotten, or a file or skill read or written; an [Access]
	KindLogin      Kind = "login"      // a client logged in to mcprun serve; a [Login]
	KindChange     Kind = "change"     // the policy, the network's rules or the tree have changed; a [Change]
	KindSchedule   Kind = "schedule"   // a schedule did not run, or not to its end; a [Schedule]
	KindForget     Kind = "forget"     // contents were removed; a [Forget]
)

// Entry is a row before it has its place.
type Entry struct {
	Kind Kind
	Time time.Time // zero: now
	Run  string    // the run it belongs to; empty: none
	Who  Who
	Body any // encoded as JSON; personal data is already replaced by tokens
}

// Who says on whose behalf something happened. In a row, an empty text is null: unknown.
type Who struct {
	User          Text `json:"user"` // of the operating system
	Customer      Text `json:"customer"`
	Session       Text `json:"session"`
	Client        Text `json:"client"` // of mcprun serve
	ClientVersion Text `json:"clientVersion"`
	Model         Text `json:"model"` // if the client says it
	ModelVersion  Text `json:"modelVersion"`
}

// Text is a text that is null in JSON when it is empty.
type Text string

// MarshalJSON implements [json.Marshaler].
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *Text) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, (*string)(t)) // null leaves it empty
}

// Program is what a run executes.
type Program struct {
	Action   string `json:"action"` // "execute_code" for scripts, "call_tool" for a call without a script
	Name     Text   `json:"name"`   // of the script's file
	Language Text   `json:"language"`
	// Code is the SHA-256 of the code, in hexadecimal; the record has the code once, with tokens for personal data.
	Code Text `json:"code"`
	// Modules are the files and skills that the code imports. They are kept like the code.
	Modules    []Module        `json:"modules"`
	Input      json.RawMessage `json:"input"` // options, arguments and variables
	Risk       Text            `json:"risk"`
	RiskReason Text            `json:"riskReason"`
	// PII is the mode in which personal data is replaced: "off", "output" or "bridge", and those of single servers that have another.
	PII Text `json:"pii"`
	Machine
}

// Module is a file that a script imports.
type Module struct {
	Name   string `json:"name"`
	Digest string `json:"digest"` // SHA-256, in hexadecimal
}

// Machine is where something was executed.
type Machine struct {
	Host    Text `json:"host"`
	Version Text `json:"version"` // of mcprun
}

// RunStart is the body of [KindRun].
type RunStart struct {
	Program
	Sandbox Text `json:"sandbox"`
}

// RunEnd is the body of [KindRunEnd]. With the row's Who, it has everything about a run in one place.
type RunEnd struct {
	Program
	Sandbox      string          `json:"sandbox"` // "none" if the script did not start
	ExitCode     int             `json:"exitCode"`
	Cause        string          `json:"cause"`
	Success      bool            `json:"success"`
	Error        Text            `json:"error"`
	Output       Text            `json:"output"` // the end, if it is long
	OutputBytes  int             `json:"outputBytes"`
	OutputHash   Text            `json:"outputHash"` // SHA-256 of the whole output with tokens, in hexadecimal; null: Output is whole
	Stderr       Text            `json:"stderr"`
	StderrBytes  int             `json:"stderrBytes"`
	StderrHash   Text            `json:"stderrHash"`
	Result       json.RawMessage `json:"result"`
	DurationMS   float64         `json:"durationMs"`
	TokensUsed   *int            `json:"tokensUsed"`
	TokensSaved  *int            `json:"tokensSaved"`
	Approved     bool            `json:"approved"`
	AutoApproved bool            `json:"autoApproved"` // nobody was asked
	By           Text            `json:"by"`           // who approved it
	Rule         Text            `json:"rule"`         // that decided whether it starts
	Violations   []string        `json:"violations"`   // never nil
	Calls        int             `json:"calls"`
	Files        []string        `json:"files"` // that it wrote; never nil
	Plugins      []Plugin        `json:"plugins,omitempty"`
}

// Plugin is what a plugin did about a run or a call, other than to allow it.
type Plugin struct {
	Name     string `json:"name"`
	Hook     string `json:"hook"`     // where it was asked: "run", "run_end", "call" or "result"
	Decision string `json:"decision"` // "deny", "change", or "failed" if it gave no valid answer
	Reason   Text   `json:"reason"`   // why it denied, or how it failed
	// From and To are the SHA-256, in hexadecimal, of what it changed, with tokens for personal data, before and after.
	From Text `json:"from,omitempty"`
	To   Text `json:"to,omitempty"`
}

// Answered reports whether a plugin was asked about the result of a call: then it was made, although it may count as denied.
func Answered(list []Plugin) bool {
	return slices.ContainsFunc(list, func(p Plugin) bool { return p.Hook == "result" })
}

// String describes it for people.
func (p *Plugin) String() string {
	switch p.Decision {
	case "change":
		what := map[string]string{"run": "the variables", "call": "the arguments"}[p.Hook]
		return fmt.Sprintf("plugin %s: changed %s", p.Name, cmp.Or(what, "the result"))
	case "deny":
		return fmt.Sprintf("plugin %s: refused: %s", p.Name, p.Reason)
	}
	return fmt.Sprintf("plugin %s: failed: %s", p.Name, p.Reason)
}

// CallStart is the body of [KindCall].
type CallStart struct {
	Call      int             `json:"call"` // its number in the run, from 1
	Tool      string          `json:"tool"`
	Hint      Text            `json:"hint"` // what the tool does: "reads", "writes" or "destructive"
	Arguments json.RawMessage `json:"arguments"`
	Effect    Text            `json:"effect"` // of the rule: "allow" or "ask"
	Rule      Text            `json:"rule"`
	By        Text            `json:"by"` // who approved it
	// Plugins are what plugins did until now. Arguments are those after their changes.
	Plugins []Plugin `json:"plugins,omitempty"`
}

// CallEnd is the body of [KindCallEnd]. A refused call has no [CallStart], nor has a cached one: its Effect, Rule and Arguments are here.
type CallEnd struct {
	Call        int             `json:"call"`
	Tool        string          `json:"tool"`
	Hint        Text            `json:"hint"`
	Outcome     string          `json:"outcome"` // "ok", "dry", or the kind of the error
	Error       Text            `json:"error"`
	DurationMS  float64         `json:"durationMs"`
	ResultBytes int             `json:"resultBytes"`
	Arguments   json.RawMessage `json:"arguments,omitempty"`
	Effect      Text            `json:"effect,omitempty"`
	Rule        Text            `json:"rule,omitempty"`
	By          Text            `json:"by,omitempty"`
	// Cached says that no server was asked: the result is from the cache, where it has been for AgeMS.
	Cached  bool     `json:"cached,omitempty"`
	AgeMS   float64  `json:"ageMs,omitempty"`
	Plugins []Plugin `json:"plugins,omitempty"` // those of the CallStart too
}

// Approval is the body of [KindApproval].
type Approval struct {
	Subject string  `json:"subject"` // "run", "call", "plan" or "connection"
	Tool    Text    `json:"tool"`
	Call    int     `json:"call,omitempty"`
	Rule    Text    `json:"rule"`
	Answer  string  `json:"answer"` // "approved", "refused", "no answer"
	By      Text    `json:"by"`
	WaitMS  float64 `json:"waitMs"`
}

// Plan is the body of [KindPlan].
type Plan struct {
	Plan   string `json:"plan"`   // its name or digest
	Event  string `json:"event"`  // "made", "approved", "refused", "used"
	Digest Text   `json:"digest"` // of what was approved
	Calls  int    `json:"calls"`
	By     Text   `json:"by"`
}

// Personal is the body of [KindPersonal].
type Personal struct {
	Tokens map[string]int `json:"tokens"`          // by type, such as EMAIL
	Clear  map[string]int `json:"clear,omitempty"` // what left as it is, because tokens were off
}

// Access is the body of [KindAccess]: what was done without a script, by a client of mcprun serve or by a person.
type Access struct {
	Action string   `json:"action"` // the tool, such as "restore_pii", or the command, such as "pii show"
	Names  []string `json:"names"`  // tokens, types, files or skills; never nil
	Count  int      `json:"count"`  // of values, files or skills
}

// Login is the body of [KindLogin].
type Login struct {
	Event   string `json:"event"`   // "login" or "refused"
	Subject Text   `json:"subject"` // the address that it came from
}

// Change is the body of [KindChange].
type Change struct {
	What string `json:"what"` // "policy", "network", "pii", "audit", "plugins", "servers" or "tree"
	From Text   `json:"from"` // SHA-256, in hexadecimal; null: there was none
	To   Text   `json:"to"`
	// FromText and ToText are the digests by which the record keeps the texts, with tokens for personal data, like the code of scripts.
	FromText Text `json:"fromText"`
	ToText   Text `json:"toText"`
	// Unsure says that it may have been the same before, since the contents of older rows were removed.
	Unsure bool `json:"unsure,omitempty"`
}

// Schedule is the body of [KindSchedule]. That a schedule ran is in the rows of the run.
type Schedule struct {
	Schedule string    `json:"schedule"`
	Event    string    `json:"event"` // "missed", "skipped" because the run before was going on, "unknown" because its process ended, "failed" because it could not start
	Count    int       `json:"count"` // of times
	First    time.Time `json:"first"` // of them
	Last     time.Time `json:"last"`
	Error    Text      `json:"error,omitempty"` // why it could not start
}

// Forget is the body of [KindForget].
type Forget struct {
	Before int64 `json:"before"` // rows with a lower index lost their contents
	// Signed is the statement that they may have done so, signed with the operator's key: a signed note (c2sp.org/signed-note) with the lines
	// "contents removed", the name of the record, Before, and the root of the tree of these rows.
	Signed string `json:"signed"`
}
