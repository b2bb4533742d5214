package workspace

import (
	"encoding/json"
	"slices"
	"time"
)

// Kind says what a line of a session's log is about.
type Kind string

const (
	KindSession    Kind = "session"    // the first line
	KindTask       Kind = "task"       // what somebody wants done
	KindRun        Kind = "run"        // a script that ran
	KindCheckpoint Kind = "checkpoint" // the state was kept
	KindRestore    Kind = "restore"    // the state was put back
)

// Record is one line of a session's log. What is longer than its bound is cut when it is appended.
type Record struct {
	Kind Kind      `json:"kind"`
	Time time.Time `json:"time"` // zero when it is appended: now
	// Task is what is to be done, in words; at most 8 KiB. Of the first line it is the session's title.
	Task       string          `json:"task,omitempty"`
	Run        *Run            `json:"run,omitempty"`
	Checkpoint *CheckpointInfo `json:"checkpoint,omitempty"`
}

// Bounds of what a record holds, in bytes unless it says otherwise.
const (
	maxTask   = 8 << 10
	maxCode   = 96 << 10
	maxOutput = 16 << 10
	maxResult = 32 << 10
	maxText   = 2 << 10
	maxName   = 300
	maxCalls  = 1000 // calls that are listed
	maxFiles  = 500  // files that are listed
	// maxLine bounds a line of the log; one that is read may be no longer.
	maxLine = 512 << 10
	// maxLog bounds a log.
	maxLog = 64 << 20
)

// Run is a script that ran.
type Run struct {
	Name     string `json:"name,omitempty"` // the script's file
	Language string `json:"language"`
	Code     string `json:"code"`
	Sandbox  string `json:"sandbox,omitempty"`
	ExitCode int    `json:"exitCode"`
	// Cause says how it ended; "exit" is a script that ended by itself, "failed" a run that could not be made, "lost" one whose
	// host died.
	Cause      string  `json:"cause"`
	Message    string  `json:"message,omitempty"`
	DurationMS float64 `json:"durationMs"`
	// Result is what the script left as its value; Output is the end of what it printed.
	Result json.RawMessage `json:"result,omitempty"`
	Output string          `json:"output,omitempty"`
	// Calls are the first 1,000 calls; CallCount counts all.
	Calls     []Call `json:"calls,omitempty"`
	CallCount int    `json:"callCount"`
	// Files are the first 500 files that it wrote, below the state, with slashes; FileCount counts all.
	Files     []string `json:"files,omitempty"`
	FileCount int      `json:"fileCount,omitempty"`
	Tokens    *Tokens  `json:"tokens,omitempty"`
	// Cut says that something of this was longer.
	Cut bool `json:"cut,omitempty"`
}

// Call is one call that a script made. Its arguments and its answer are not kept: they hold what people should not read
// in a log.
type Call struct {
	Tool    string  `json:"tool"`
	MS      float64 `json:"ms"`
	Outcome string  `json:"outcome"` // "ok", "dry", or the kind of its error
}

// Tokens are what a run, or several, cost the model beside what direct calls of tools would have cost.
type Tokens struct {
	Used      int64 `json:"used"` // script, wrappers and output
	Script    int64 `json:"script"`
	Wrappers  int64 `json:"wrappers"`
	Output    int64 `json:"output"`
	Direct    int64 `json:"direct"` // definitions, arguments and results
	Arguments int64 `json:"arguments"`
	// Definitions of tools that were not sent, 0 in a run that called none, and Results that stayed inside.
	Definitions int64 `json:"definitions"`
	Results     int64 `json:"results"`
	Saved       int64 `json:"saved"` // Direct − Used; may be negative
}

// Share is what a run, of so many calls, adds to a conversation in which definitions of paid tokens were sent before. Direct
// calls need them once, however many runs there are; what a run needs that calls nothing is none, whatever its log says.
func (t Tokens) Share(paid int64, calls int) Tokens {
	if calls == 0 {
		t.Definitions = 0
	}
	t.Definitions = max(0, t.Definitions-paid)
	t.Direct = t.Definitions + t.Arguments + t.Results
	t.Saved = t.Direct - t.Used
	return t
}

// add adds another's.
func (t *Tokens) add(o *Tokens) {
	t.Used = sum(t.Used, o.Used)
	t.Script = sum(t.Script, o.Script)
	t.Wrappers = sum(t.Wrappers, o.Wrappers)
	t.Output = sum(t.Output, o.Output)
	t.Direct = sum(t.Direct, o.Direct)
	t.Arguments = sum(t.Arguments, o.Arguments)
	t.Definitions = sum(t.Definitions, o.Definitions)
	t.Results = sum(t.Results, o.Results)
	t.Saved = sum(t.Saved, o.Saved)
}

// bounded is a copy of which nothing is longer than so many times what it may be.
func (r Record) bounded(times int) Record {
	r.Task = clip(r.Task, times*maxTask)
	if r.Run == nil {
		return r
	}
	run := *r.Run
	r.Run = &run
	run.CallCount, run.FileCount = max(run.CallCount, len(run.Calls)), max(run.FileCount, len(run.Files))
	run.Cut = run.Cut || len(run.Code) > times*maxCode || len(run.Output) > times*maxOutput || len(run.Result) > times*maxResult ||
		len(run.Calls) > maxCalls || len(run.Files) > maxFiles
	for _, text := range []*string{&run.Name, &run.Language, &run.Sandbox, &run.Cause} {
		*text = clip(*text, times*maxName)
	}
	run.Code, run.Message, run.Output = clip(run.Code, times*maxCode), clip(run.Message, times*maxText), clipFront(run.Output, times*maxOutput)
	if len(run.Result) > times*maxResult {
		run.Result = nil
	}
	run.Calls = slices.Clone(run.Calls[:min(len(run.Calls), maxCalls)])
	for i := range run.Calls {
		run.Calls[i].Tool, run.Calls[i].Outcome = clip(run.Calls[i].Tool, times*maxName), clip(run.Calls[i].Outcome, times*maxName)
	}
	run.Files = slices.Clone(run.Files[:min(len(run.Files), maxFiles)])
	for i := range run.Files {
		run.Files[i] = clip(run.Files[i], times*maxName)
	}
	return r
}

// clipFront keeps the end of a text.
func clipFront(s string, max int) string {
	const more = "…"
	if len(s) <= max {
		return s
	}
	cut := len(s) - max + len(more)
	for cut < len(s) && s[cut]&0xc0 == 0x80 {
		cut++
	}
	return more + s[cut:]
}

// masked is a copy of a bounded record without secrets and personal data. All of it is masked at once, so that a token
// stands for the same value in all of the record.
func (r Record) masked(mask func(json.RawMessage) json.RawMessage) Record {
	if mask == nil {
		return r
	}
	texts := []*string{&r.Task}
	result := json.RawMessage("null")
	if r.Checkpoint != nil {
		info := *r.Checkpoint
		r.Checkpoint = &info
		texts = append(texts, &info.Example) // it names a script's file
	}
	if r.Run != nil {
		run := *r.Run
		r.Run = &run
		texts = append(texts, &run.Name, &run.Code, &run.Message, &run.Output)
		for i := range run.Calls { // what a script calls a tool that there is none of is the script's
			texts = append(texts, &run.Calls[i].Tool)
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
	whole := err == nil && len(clean) == len(texts)
	for i, text := range texts {
		if *text = ""; whole {
			*text = clean[i]
		}
	}
	if r.Run != nil && len(r.Run.Result) > 0 {
		if r.Run.Result = nil; whole {
			r.Run.Result = out[1]
		}
	}
	return r
}
