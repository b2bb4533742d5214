package runner

import (
	"encoding/json"

	"github.com/mcpgen/mcpgen/runner/bridge"
)

// Cause says why a run ended.
type Cause string

const (
	CauseExit        Cause = "exit"        // the script ended by itself, with whatever exit code
	CauseError       Cause = "error"       // the script ended by an uncaught error
	CauseTimeout     Cause = "timeout"     // its time was up
	CauseMemory      Cause = "memory"      // it used more memory than allowed
	CauseCPU         Cause = "cpu"         // it used more processor time than allowed
	CauseProcesses   Cause = "processes"   // it started more processes than allowed
	CauseOutput      Cause = "output"      // it printed more than allowed
	CauseDisk        Cause = "disk"        // it wrote more into its workspace than allowed
	CauseFileSize    Cause = "file size"   // it wrote a larger file than allowed
	CauseInterrupted Cause = "interrupted" // whoever started it ended it
	CauseBridge      Cause = "bridge"      // what came over its bridge was not the protocol, or the sandbox died
	CauseFailed      Cause = "failed"      // the run could not be made: configuration, tree, sandbox
)

// Exit codes that are not the script's own; those of coreutils timeout(1) and of the shell.
const (
	ExitTimeout     = 124
	ExitRunner      = 125 // mcprun itself could not do its work
	ExitRefused     = 126 // refused before it ran
	ExitNoBackend   = 127 // no such sandbox, or no interpreter in it
	ExitInterrupted = 130
	ExitKilled      = 137 // by a limit other than its time; the cause says which
)

// Result is what a run came to.
type Result struct {
	ExitCode int    `json:"exitCode"`
	Cause    Cause  `json:"cause"`
	Message  string `json:"message,omitempty"` // what there is to say about the cause, or about limits it met
	// LimitsHit lists, sorted, the limits that the run ran into, whether or not they ended it: "timeout", and the Limit
	// constants of package sandbox. Never nil.
	LimitsHit []string `json:"limitsHit"`
	Sandbox   string   `json:"sandbox"`
	Runtime   string   `json:"runtime"`
	// DurationMS is the whole run; StartMS the part until the sandbox was ready for the script.
	DurationMS float64 `json:"durationMs"`
	StartMS    float64 `json:"startMs"`
	// MaxMemoryBytes is the most memory seen; zero where the sandbox can't tell.
	MaxMemoryBytes int64 `json:"maxMemoryBytes"`
	// Stdout and Stderr are filled only when Script.Capture is set.
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	// StdoutCut and StderrCut count the bytes of output beyond the capture limit and Script.MaxOutput, which are not in
	// Stdout and Stderr.
	StdoutCut int64 `json:"stdoutCutBytes,omitempty"`
	StderrCut int64 `json:"stderrCutBytes,omitempty"`
	// Value is what the script left as its result; absent when nothing.
	Value json.RawMessage `json:"result,omitempty"`
	// Error is what nobody caught; absent when nothing. With Script.MaxOutput each of its texts has at most some 4,000 bytes.
	Error *bridge.ScriptError `json:"error,omitempty"`
	// Calls lists the calls in the order in which the script made them, at most 10,000; CallCount counts all.
	Calls     []CallRecord `json:"calls"`
	CallCount int          `json:"callCount"`
	// Warnings are what was odd about calls and did not stop them, at most 100. Foreign text may be in them.
	Warnings []string `json:"warnings,omitempty"`
	// Files lists what the script wrote in the workspace.
	Files  []string `json:"files"`
	Tokens *Tokens  `json:"tokens,omitempty"`
}

// Tokens compares what the model reads and writes for this run with what direct tool calls would have cost it: every
// definition up front, and every argument and result through its context. It is the account of the run by itself: of several
// in one conversation the definitions would be sent once, see workspace.Tokens.Share. What a model reads to find the wrappers (lists of
// folders, an index, a search) is not in it: that is read once for many runs. Counted with the o200k_base encoding; texts
// of more than 1 MiB are reckoned from their two ends.
type Tokens struct {
	// Used = Script + Wrappers + Output.
	Used     int `json:"used"`
	Script   int `json:"script"`   // the script, written by the model
	Wrappers int `json:"wrappers"` // the wrapper files of the tools it called, read to write it
	Output   int `json:"output"`   // stdout, stderr and the result value
	// Direct = Definitions + Arguments + Results.
	Direct      int `json:"direct"`
	Definitions int `json:"definitions"` // name, description and input schema of every tool in the tree; 0 when no tool was called
	Arguments   int `json:"arguments"`
	Results     int `json:"results"`
	// Saved = Direct − Used; negative when the direct way would have been cheaper.
	Saved        int     `json:"saved"`
	SavedPercent float64 `json:"savedPercent"`
}
