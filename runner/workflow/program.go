package workflow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Method answers a method that the code of a program calls on the host.
type Method = func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

// Program is what a workflow runs: a script, or what a document was compiled to. It is kept with the workflow.
type Program struct {
	Name     string           `json:"name"` // shown to people: a file name without folder
	Code     string           `json:"code"`
	Language sandbox.Language `json:"language"`
	Dir      string           `json:"dir,omitempty"` // absolute folder for relative imports; empty: none
	// Vars are the variables of the script besides its input.
	Vars map[string]json.RawMessage `json:"vars,omitempty"`
	// Document is what the code was compiled from. Empty: it is a script.
	Document []byte `json:"document,omitempty"`
	// Answers are methods that the code may call besides those of every run. Their names begin with "workflow/", and calling one again must do no
	// harm. They are not kept: [Options.Ready] sets them for each part.
	Answers map[string]Method `json:"-"`
}

// Script returns the name of the code, for the places in errors: Name, with .ts in the place of a document's extension.
func (p *Program) Script() string {
	if len(p.Document) == 0 {
		return p.Name
	}
	return strings.TrimSuffix(p.Name, filepath.Ext(p.Name)) + ".ts"
}

// Part is a part of a workflow: a run of its script from the beginning, which ends when the script ends or only waits.
type Part struct {
	ID       string // of the workflow
	Customer string
	Number   int // of the part, from 1
	Program  *Program
	Input    json.RawMessage
	Settings json.RawMessage // those of Start
	Journal  *journal.Journal
	// Ending is closed when the process is about to end. Calls that have not been sent by then are not sent here.
	Ending <-chan struct{}

	suspend  time.Duration
	approved bool // a person has let the part before start
}

// Group returns the group of durable work ([durable.Options]) for a process that runs no other workflow than the one with the id.
func Group(id string) string {
	sum := sha256.Sum256([]byte(id)) // an id has letters that the name of a group must not have
	return "workflow-" + hex.EncodeToString(sum[:8])
}

// Apply makes a script the part's. Its streams, limits and the other settings of its calls stay.
func (p *Part) Apply(s *runner.Script) {
	s.Name, s.Code, s.Language, s.Dir = p.Program.Script(), p.Program.Code, p.Program.Language, p.Program.Dir
	s.Continues = p.approved
	s.Reread()
	s.Vars = maps.Clone(p.Program.Vars)
	if s.Vars == nil {
		s.Vars = map[string]json.RawMessage{}
	}
	if s.Vars["input"] = p.Input; len(p.Input) == 0 {
		s.Vars["input"] = json.RawMessage("null")
	}
	s.Calls.Journal, s.Calls.Suspend, s.Calls.Workflow, s.Calls.Ending = p.Journal, p.suspend, p.ID, p.Ending
	s.Answers = maps.Clone(s.Answers)
	if s.Answers == nil {
		s.Answers = map[string]Method{}
	}
	maps.Copy(s.Answers, p.Program.Answers)
}

// Start describes a workflow to start.
type Start struct {
	// ID names the workflow among all of the state. Empty: a random one.
	ID string
	// Customer is whose it is; empty: the project's.
	Customer string
	// Input is a variable of the script, and JSON. Empty: null.
	Input json.RawMessage
	// Settings are those with which its parts run. The engine keeps them and does not read them.
	Settings json.RawMessage
}

// kept is what is kept of a workflow, sealed, when it starts.
type kept struct {
	Program  Program         `json:"program"`
	Digest   string          `json:"digest"` // of the code and what it imports
	Input    json.RawMessage `json:"input,omitempty"`
	Settings json.RawMessage `json:"settings,omitempty"`
}

// end is how a part has ended.
type end struct {
	Waits []journal.Step `json:"waits,omitempty"`
	// Approved says that a person has let the part start.
	Approved bool     `json:"approved,omitempty"`
	Stopped  bool     `json:"stopped,omitempty"` // see [Stop]
	Outcome  *Outcome `json:"outcome,omitempty"` // of the workflow; nil: it goes on
}

// Stop is why a workflow has stopped: a part of it could not start, or something else than its script has ended it, such as a limit. What it has
// done is kept, and it goes on when somebody resumes it.
type Stop struct {
	Part     int    `json:"part"`
	ExitCode int    `json:"exitCode"`
	Reason   string `json:"reason"`
}

// Outcome is how a workflow has ended.
type Outcome struct {
	ExitCode int             `json:"exitCode"`
	Cause    runner.Cause    `json:"cause"`
	Message  string          `json:"message,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	// Unknown says that it failed, and that it is unknown whether one of its calls was made.
	Unknown bool `json:"unknown,omitempty"`
}

// ChangedError says that what a workflow runs is not what it began with.
type ChangedError struct{ ID, Name string }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s, or a file that it imports, has changed since the workflow %s began", e.Name, e.ID)
}

// Hint implements the interface of errors with a remedy.
func (e *ChangedError) Hint() string {
	return "restore the files, or cancel it and start another"
}
