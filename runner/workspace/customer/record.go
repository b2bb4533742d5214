package customer

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/cache"

	"github.com/mcpgen/mcpgen/runner/audit"
)

// Kind is the kind of a record in a session's log.
type Kind string

const (
	KindSession    Kind = "session"    // the first line
	KindTask       Kind = "task"       // a task that somebody described
	KindRun        Kind = "run"        // a run of a script
	KindCheckpoint Kind = "checkpoint" // a copy of the state was made
	KindRestore    Kind = "restore"    // the state was replaced with a checkpoint
)

// Record is one line of a session's log. Texts longer than their limits are cut when the record is appended.
type Record struct {
	Kind Kind      `json:"kind"`
	Time time.Time `json:"time"` // zero means the time at which it is appended
	// ID identifies a task in its session.
	ID string `json:"id,omitempty"`
	// Task describes the task in words, in at most 8 KiB. In the first line it is the session's title.
	Task       string          `json:"task,omitempty"`
	Run        *Run            `json:"run,omitempty"`
	Checkpoint *CheckpointInfo `json:"checkpoint,omitempty"`
}

// Limits of a record, in bytes unless stated otherwise.
const (
	maxTask   = 8 << 10
	maxCode   = 96 << 10
	maxOutput = 16 << 10
	maxResult = 32 << 10
	maxText   = 2 << 10
	maxName   = 300
	maxCalls  = 1000 // number of calls
	// maxToolTokens limits the number of tools whose tokens are counted separately.
	maxToolTokens = 300
	// maxArguments limits the arguments of all calls of a run together.
	maxArguments = 128 << 10
	maxFiles     = 500 // number of files
	// maxLine limits a line of the log, when it is written and when it is read.
	maxLine = 512 << 10
	// maxLog limits a log.
	maxLog = 64 << 20
)

// Run describes the run of a script.
type Run struct {
	// TaskID is the [Record.ID] of the task that it is for. Empty: none was described.
	TaskID   string `json:"taskId,omitempty"`
	Name     string `json:"name,omitempty"` // the script's file
	Language string `json:"language"`
	Code     string `json:"code"`
	// Digest is the SHA-256 of the whole code, in hexadecimal. It is computed when the record is appended.
	Digest  string `json:"digest,omitempty"`
	Sandbox string `json:"sandbox,omitempty"`
	// Risk is how much harm the script could have done, and RiskReason says why. Both are empty if the script was not judged.
	Risk       string `json:"risk,omitempty"`
	RiskReason string `json:"riskReason,omitempty"`
	ExitCode   int    `json:"exitCode"` // of the command
	// Start is the decision about starting the script, if a rule made it.
	Start *Decision `json:"start,omitempty"`
	// Plugins are as in [Call], about the script.
	Plugins []audit.Plugin `json:"plugins,omitempty"`
	// Cause says how the run ended: "exit" if the script ended by itself, "failed" if it could not be run, or the name of a limit.
	Cause      string  `json:"cause"`
	Message    string  `json:"message,omitempty"`
	DurationMS float64 `json:"durationMs"`
	// Result is the script's result. Output is the end of what it printed.
	Result json.RawMessage `json:"result,omitempty"`
	Output string          `json:"output,omitempty"`
	// Calls are the first 1,000 calls. Calls that were denied or that a person was asked about come first, then those that a rule allowed.
	// CallCount is the number of all calls.
	Calls     []Call `json:"calls,omitempty"`
	CallCount int    `json:"callCount"`
	// Steps are the first 1,000 steps and waits that ended in the run.
	Steps []Step `json:"steps,omitempty"`
	// Files are the first 500 files that the script wrote, as paths below the state, with slashes. FileCount is the number of all files.
	Files     []string `json:"files,omitempty"`
	FileCount int      `json:"fileCount,omitempty"`
	Tokens    *Tokens  `json:"tokens,omitempty"`
	// Cache counts the calls that the cache has or could have answered. Nil: none.
	Cache *cache.Use `json:"cache,omitempty"`
	// ToolTokens are the parts of Tokens that concern a single tool, by its id. It is empty for a run that calls more than 300 tools.
	ToolTokens map[string]ToolTokens `json:"toolTokens,omitempty"`
	// Cut reports whether a part of the record was cut.
	Cut bool `json:"cut,omitempty"`
	// Mask is the function with which the arguments of calls were masked. It masks the rest of the record first, so that a token stands for
	// the same value everywhere in it. Nil: the arguments have no tokens yet.
	Mask func(json.RawMessage) json.RawMessage `json:"-"`
}

// Decided reports whether a rule decided the run or one of its calls.
func (r *Run) Decided() bool {
	return r.Start != nil || slices.ContainsFunc(r.Calls, func(c Call) bool { return c.Decision != nil || c.Plugins != nil }) || r.Plugins != nil
}

// maxPlugins bounds what plugins did about a run, and about each call, and maxReason each of their reasons, in bytes.
const (
	maxPlugins = 10
	maxReason  = 500
)

// cutPlugins returns a copy in which no reason is longer than times its limit.
func cutPlugins(list []audit.Plugin, times int) []audit.Plugin {
	list = slices.Clone(list[:min(len(list), maxPlugins)])
	for i := range list {
		list[i].Reason = audit.Text(clip(string(list[i].Reason), times*maxReason))
	}
	return list
}

// setDigest computes the digest, if there is code.
func (r *Run) setDigest() {
	if r.Digest == "" && r.Code != "" && r.Language != "" {
		r.Digest = fmt.Sprintf("%x", sha256.Sum256([]byte(r.Code)))
	}
}

// Step describes a step of a script, or a wait. Input and Output are JSON, or the beginning of it.
type Step struct {
	Kind   string  `json:"kind"` // "step", "sleep", "wait" or "ask"
	Name   string  `json:"name"`
	Number int     `json:"number"` // of steps of the name before it
	MS     float64 `json:"ms"`     // with the time in which no process ran it
	Input  string  `json:"input,omitempty"`
	Output string  `json:"output,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// Call describes a tool call of a script. A log does not hold its result, which may be confidential.
type Call struct {
	Tool    string  `json:"tool"`
	MS      float64 `json:"ms"`
	Outcome string  `json:"outcome"` // "ok", "dry" for a dry run, or the kind of the error
	// Decision is the rule's decision about the call, or nil if no rule decided.
	Decision *Decision `json:"decision,omitempty"`
	// Arguments are the arguments that were decided, or the beginning of them, as JSON with tokens for personal data. It is empty without a
	// Decision.
	Arguments string `json:"arguments,omitempty"`
	// Cached says that the result is from the cache, where it had been for AgeMS.
	Cached bool    `json:"cached,omitempty"`
	AgeMS  float64 `json:"ageMs,omitempty"`
	// Plugins are what plugins did about the call, other than to allow it: at most 10.
	Plugins []audit.Plugin `json:"plugins,omitempty"`
}

// Decision is a rule's decision, and the answer if it asked.
type Decision struct {
	Effect string `json:"effect"` // "allow", "ask" or "deny"
	Rule   string `json:"rule"`   // with its place
	// By names who answered, and how. It is empty if nobody did. The outcome says what the answer was.
	By string `json:"by,omitempty"`
}

// cut returns a copy in which no text is longer than times its limit.
func (d *Decision) cut(times int) *Decision {
	if d == nil {
		return nil
	}
	return &Decision{clip(d.Effect, times*maxName), clip(d.Rule, times*maxName), clip(d.By, times*maxName)}
}

// weight ranks calls in the record by importance. A lower weight is more important.
func (c *Call) weight() int {
	switch {
	case c.Plugins != nil:
		return 0
	case c.Decision == nil:
		return 2
	case c.Decision.Effect == "allow":
		return 1
	}
	return 0
}

// most returns a copy of the n most important calls, in their order, so that a script cannot push a decision out of its log by making many
// other calls.
func most(calls []Call, n int) []Call {
	if len(calls) <= n {
		return slices.Clone(calls)
	}
	index := make([]int, len(calls))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(calls[a].weight(), calls[b].weight()) })
	index = index[:n]
	slices.Sort(index)
	out := make([]Call, 0, n)
	for _, i := range index {
		out = append(out, calls[i])
	}
	return out
}

// cut returns a copy in which no text is longer than times its limit.
func (r Record) cut(times int) Record {
	r.Task = clip(r.Task, times*maxTask)
	if r.Run == nil {
		return r
	}
	run := *r.Run
	r.Run = &run
	run.CallCount, run.FileCount = max(run.CallCount, len(run.Calls)), max(run.FileCount, len(run.Files))
	run.Cut = run.Cut || len(run.Code) > times*maxCode || len(run.Output) > times*maxOutput || len(run.Result) > times*maxResult ||
		len(run.Calls) > maxCalls || len(run.Steps) > maxCalls || len(run.Files) > maxFiles
	for _, text := range []*string{&run.Name, &run.Language, &run.Sandbox, &run.Cause, &run.Risk} {
		*text = clip(*text, times*maxName)
	}
	run.RiskReason = clip(run.RiskReason, times*maxText)
	run.Code, run.Message, run.Output = clip(run.Code, times*maxCode), clip(run.Message, times*maxText), clipFront(run.Output, times*maxOutput)
	if len(run.Result) > times*maxResult {
		run.Result = nil
	}
	if len(run.ToolTokens) > maxToolTokens {
		run.ToolTokens = nil
	}
	run.Start = run.Start.cut(times)
	run.Plugins = cutPlugins(run.Plugins, times)
	run.Steps = slices.Clone(run.Steps[:min(len(run.Steps), maxCalls)])
	part := min(maxText, maxArguments/max(1, len(run.Steps)))
	for i := range run.Steps {
		s := &run.Steps[i]
		run.Cut = run.Cut || max(len(s.Input), len(s.Output)) > times*part
		s.Name, s.Input, s.Output, s.Error = clip(s.Name, times*maxName), clip(s.Input, times*part), clip(s.Output, times*part), clip(s.Error, times*maxName)
	}
	run.Calls = most(run.Calls, maxCalls)
	share := min(maxText, maxArguments/max(1, len(run.Calls)))
	for i := range run.Calls {
		c := &run.Calls[i]
		run.Cut = run.Cut || len(c.Arguments) > times*share
		c.Tool, c.Outcome, c.Arguments, c.Decision = clip(c.Tool, times*maxName), clip(c.Outcome, times*maxName), clip(c.Arguments, times*share), c.Decision.cut(times)
		c.Plugins = cutPlugins(c.Plugins, times)
	}
	run.Files = slices.Clone(run.Files[:min(len(run.Files), maxFiles)])
	for i := range run.Files {
		run.Files[i] = clip(run.Files[i], times*maxName)
	}
	return r
}

// masked returns a copy of a cut record without secrets and personal data. The whole record is masked at once, so that a token stands for
// the same value everywhere in it. If masking fails, its texts are empty.
func (r Record) masked(mask func(json.RawMessage) json.RawMessage) Record {
	if r.Run != nil && r.Run.Mask != nil {
		rest := mask
		mask = func(value json.RawMessage) json.RawMessage {
			if value = r.Run.Mask(value); rest != nil {
				value = rest(value)
			}
			return value
		}
	}
	if mask == nil {
		return r
	}
	texts := []*string{&r.Task}
	result := json.RawMessage("null")
	if r.Checkpoint != nil {
		info := *r.Checkpoint
		r.Checkpoint = &info
		texts = append(texts, &info.Example) // it has the name of a file
	}
	if r.Run != nil {
		run := *r.Run
		r.Run = &run
		texts = append(texts, &run.Name, &run.Code, &run.Message, &run.Output, &run.RiskReason)
		for i := range run.Plugins {
			texts = append(texts, (*string)(&run.Plugins[i].Reason))
		}
		for i := range run.Calls { // a script may make up the names of tools
			c := &run.Calls[i]
			texts = append(texts, &c.Tool, &c.Arguments)
			for j := range c.Plugins {
				texts = append(texts, (*string)(&c.Plugins[j].Reason))
			}
		}
		for i := range run.Steps {
			s := &run.Steps[i]
			texts = append(texts, &s.Name, &s.Input, &s.Output, &s.Error)
		}
		for i := range run.Files {
			texts = append(texts, &run.Files[i])
		}
		if len(run.Result) > 0 {
			result = run.Result
		}
	}
	var out []json.RawMessage
	raw, err := json.Marshal([]any{texts, result})
	if err == nil {
		err = json.Unmarshal(mask(raw), &out)
	}
	var clean []string
	if err == nil && len(out) == 2 {
		err = json.Unmarshal(out[0], &clean)
	}
	complete := err == nil && len(clean) == len(texts)
	for i, text := range texts {
		if *text = ""; complete {
			*text = clean[i]
		}
	}
	if r.Run != nil && len(r.Run.Result) > 0 {
		if r.Run.Result = nil; complete {
			r.Run.Result = out[1]
		}
	}
	return r
}
