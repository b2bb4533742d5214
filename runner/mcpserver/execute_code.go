package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/images"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

const (
	maxCode     = script.MaxSize
	maxVarBytes = 1 << 20 // bytes of its variables
	maxVarName  = 100     // bytes of a variable's name
	maxListed   = 20      // files named in a result
)

type executeArgs struct {
	Code     string                     `json:"code" required:""`
	Language string                     `json:"language"`
	Vars     map[string]json.RawMessage `json:"context_vars"`
	Timeout  *float64                   `json:"timeout_seconds"`
	Memory   *float64                   `json:"memory_mb"`
	Risk     string                     `json:"risk"` // the least risk that the code is assumed to have
	Network  bool                       `json:"network"`
}

// execution is the structured content of execute_code. The first members are named as in other servers' execute_code; the
// others are left out if empty.
type execution struct {
	Success   bool    `json:"success"`
	Output    string  `json:"output"` // without the traceback
	Error     *string `json:"error"`
	Traceback *string `json:"traceback"`
	MS        float64 `json:"execution_time_ms"`
	thrown    string  // message of an uncaught error

	ExitCode int             `json:"exitCode"`
	Cause    runner.Cause    `json:"cause,omitempty"` // why the run ended, unless the script ended by itself
	Message  string          `json:"message,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	Files    []string        `json:"files,omitempty"`
	// MoreFiles counts the files that are not in Files.
	MoreFiles int      `json:"moreFiles,omitempty"`
	Calls     int      `json:"calls,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
	// TypeErrors are type errors in the script, which may be why its run failed.
	TypeErrors []string `json:"typeErrors,omitempty"`
	Images     int      `json:"images,omitempty"`
}

func callExecuteCode(ctx context.Context, c *toolCall, args *executeArgs) (*reply, error) {
	job, err := c.newJob(args)
	if err != nil {
		return nil, c.refused(ctx, err)
	}
	shown := &images.Images{}
	job.Image = shown.Add
	job.Stdout, job.Stderr = c.progress, c.progress
	job.Ask, job.CanAsk, job.Watch = c.ask, c.canAsk, c.progress.Watch
	res, err := c.cs.s.opt.Run(ctx, job)
	logged := &runner.Script{Name: c.tool.name, Code: args.Code, Language: sandbox.Language(job.Language)}
	if err != nil {
		c.cs.note(Entry{c.session, runner.LoggedFailure(logged, err)})
		if cause := context.Cause(ctx); cause != nil {
			return nil, modelErrorf("the run was ended: %v", cause)
		}
		return nil, modelErrorf("%s", forModel(exit.Hinted(err).Error()))
	}
	saved := c.cs.note(Entry{c.session, res.Logged(logged)})
	return c.execution(ctx, res, shown, job.Language, saved), nil
}

// newJob returns the run that the arguments ask for. The error describes invalid arguments.
func (c *toolCall) newJob(args *executeArgs) (*Job, error) {
	o := &c.cs.s.opt
	if len(args.Code) > maxCode {
		return nil, c.errorf("code has %d bytes; at most %d. Put data into context_vars%s.", len(args.Code), maxCode, c.advise(", or with %s into a file", "write_workspace_file"))
	}
	job := &Job{Customer: c.cs.customer, Session: c.session, Client: c.client, Code: args.Code, Vars: args.Vars, Timeout: c.view.Time, Memory: c.view.Memory, Network: args.Network, Work: c.work, Ending: c.cs.s.ctx.Done()}
	var err error
	if job.Language, err = c.language(args.Language, args.Code); err != nil {
		return nil, err
	}
	if err := c.checkVars(args.Vars); err != nil {
		return nil, err
	}
	if job.Risk, err = risk.Parse(args.Risk); err != nil {
		return nil, c.errorf("%v", err)
	}
	if t := args.Timeout; t != nil {
		if !(*t > 0) || *t > o.MaxTime.Seconds() {
			return nil, c.errorf("timeout_seconds must be more than 0 and at most %s", formatNumber(o.MaxTime.Seconds()))
		}
		job.Timeout = max(time.Duration(*t*float64(time.Second)), time.Millisecond)
	}
	if m := args.Memory; m != nil {
		if !(*m*1e6 >= sandbox.MinMemory) || *m*1e6 > float64(o.MaxMemory) {
			return nil, c.errorf("memory_mb must be from %d to %s", sandbox.MinMemory/1_000_000, formatNumber(float64(o.MaxMemory)/1e6))
		}
		job.Memory = int64(*m * 1e6)
	}
	return job, nil
}

// language returns the language of that name, or detects it from the code if the name is empty.
func (c *toolCall) language(name, code string) (string, error) {
	languages := c.view.Languages
	if name == "" {
		if lang := string(script.DetectLanguage(code)); slices.Contains(languages, lang) {
			return lang, nil
		}
		return languages[0], nil
	}
	named, _ := sandbox.Named(name)
	language := string(named)
	if !slices.Contains(languages, language) {
		return "", c.errorf("language %.50q is not one of: %s", name, strings.Join(languages, ", "))
	}
	return language, nil
}

func (c *toolCall) checkVars(vars map[string]json.RawMessage) error {
	size := 0
	for name, v := range vars {
		if !ident.IsIdentifier(name) || len(name) > maxVarName {
			return c.errorf("context_vars: %.100q is not the name of a variable: letters, digits and _, not beginning with a digit; at most %d bytes", name, maxVarName)
		}
		size += len(name) + len(v)
	}
	if size > maxVarBytes {
		return c.errorf("context_vars have %d bytes; at most %d.%s", size, maxVarBytes, c.advise(" Put data into a file with %s.", "write_workspace_file"))
	}
	return nil
}

// execution returns the reply for a result. saved is the number of tokens that the run saved compared with direct calls. The first run of a
// session that makes a call also saves the definitions of all tools.
func (c *toolCall) execution(ctx context.Context, res *runner.Result, shown *images.Images, language string, saved int64) *reply {
	blocks, refused := shown.List()
	warnings := append(slices.Clone(res.Warnings), refused...)
	e := execution{
		ExitCode: res.ExitCode, Output: joinOutput(res.Stdout, res.Stderr), MS: math.Round(res.DurationMS), Message: res.Message,
		Result: res.Value, Calls: res.CallCount, Warnings: cleanLines(firstOf(warnings, 5)), TypeErrors: cleanLines(res.TypeErrors), Images: len(blocks),
		MoreFiles: max(0, len(res.Files)-maxListed),
	}
	for _, f := range firstOf(res.Files, maxListed) {
		e.Files = append(e.Files, ident.CleanName(f))
	}
	if res.Cause != runner.CauseExit {
		e.Cause = res.Cause
	}
	if cause := context.Cause(ctx); cause != nil && res.Cause == runner.CauseInterrupted {
		e.Message = appendSentence(e.Message, "("+cause.Error()+")")
	}
	if len(e.Result) > c.cs.s.opt.MaxText {
		e.Message = appendSentence(e.Message, c.keepValue(ctx, e.Result))
		e.Result = nil
	}
	e.Message = ident.CleanText(forModel(e.Message))
	e.setError(res)
	e.clean()
	if !strings.Contains(e.Message, "set language to") {
		e.Message = appendSentence(e.Message, otherLanguageHint(res, language, c.view.Languages))
	}
	r := &reply{text: e.text(), data: e, blocks: blocks, meta: metaOf(res), failed: !e.Success}
	if saved > 0 && res.CallCount > 0 {
		r.meta["tokensSaved"] = saved
	}
	if len(blocks) > 0 {
		r.data = nil // a host that shows a model structured content would leave the images out
	}
	return r
}

func appendSentence(message, sentence string) string {
	return strings.TrimSpace(message + " " + sentence)
}

// setError sets Success, and the error of a run that failed. The traceback that the interpreter printed is moved from the
// output to Traceback.
func (e *execution) setError(res *runner.Result) {
	e.Success = res.ExitCode == 0 && e.Cause == ""
	if e.Success {
		return
	}
	reason := fmt.Sprintf("exit code %d", res.ExitCode)
	if e.Cause != "" {
		reason = cmp.Or(e.Message, string(e.Cause))
	}
	if res.Error != nil {
		reason, e.thrown = res.Error.Error(), res.Error.Message
		if trace := strings.TrimSpace(res.Error.Stack); trace != "" {
			e.Traceback = &trace
			if out, ok := strings.CutSuffix(strings.TrimRight(e.Output, "\n"), trace); ok {
				e.Output = out
			}
		}
	}
	e.Error = &reason
}

// clean removes invisible characters from an error, which may quote servers. Lines of a message after the first are
// indented, so that none looks like a line of the host. The output is the script's own and stays as it is.
func (e *execution) clean() {
	for _, text := range []*string{e.Error, e.Traceback} {
		if text != nil {
			*text = ident.CleanText(*text)
		}
	}
	thrown := ident.CleanText(e.thrown)
	indented := strings.ReplaceAll(thrown, "\n", "\n  ")
	if e.Error != nil {
		*e.Error = strings.ReplaceAll(*e.Error, "\n", "\n  ")
	}
	if e.Traceback != nil && thrown != "" {
		*e.Traceback = strings.ReplaceAll(*e.Traceback, thrown, indented)
	}
}

// keepValue puts a value that is too large for a model into a file, and returns a sentence about it.
func (c *toolCall) keepValue(ctx context.Context, value json.RawMessage) string {
	reason := "there is no workspace"
	if c.cs.customer.Files != "" {
		file, err := c.keep(ctx, "json", c.unmasked(value))
		if err == nil {
			return fmt.Sprintf("The result value has %d bytes and is in %s in the workspace.", len(value), file)
		}
		reason = hidePath(err).Error()
	}
	return fmt.Sprintf("The result value has %d bytes, too many to be shown, and was not kept: %s. Write it to a file, or return less.", len(value), reason)
}

// text returns all of the execution for hosts that show a model text.
func (e *execution) text() string {
	var parts []string
	if out := strings.TrimRight(e.Output, "\n"); out != "" {
		parts = append(parts, out)
	}
	if e.Traceback != nil {
		parts = append(parts, *e.Traceback)
	} else if e.thrown != "" && !strings.Contains(e.Output, e.thrown) {
		parts = append(parts, *e.Error)
	}
	if e.Result != nil {
		parts = append(parts, "result: "+string(e.Result))
	}
	if len(e.Files) > 0 {
		files := "files written: " + strings.Join(e.Files, ", ")
		if e.MoreFiles > 0 {
			files += fmt.Sprintf(", and %d more", e.MoreFiles)
		}
		parts = append(parts, files)
	}
	for _, w := range e.Warnings {
		parts = append(parts, "warning: "+w)
	}
	for _, t := range e.TypeErrors {
		parts = append(parts, "type error: "+t)
	}
	if !e.Success {
		end := fmt.Sprintf("exit code %d", e.ExitCode)
		if e.Cause != "" {
			end += ", " + string(e.Cause)
		}
		parts = append(parts, end)
	}
	if e.Message != "" {
		parts = append(parts, e.Message)
	}
	if len(parts) == 0 {
		return "(no output)"
	}
	return strings.Join(parts, "\n")
}

// metaOf returns the facts about a result that are meant for programs.
func metaOf(res *runner.Result) map[string]any {
	m := map[string]any{
		"sandbox": res.Sandbox, "runtime": res.Runtime, "durationMs": res.DurationMS, "startMs": res.StartMS, "cause": res.Cause,
		"limitsHit": res.LimitsHit, "callCount": res.CallCount, "risk": res.Risk, "riskReason": res.RiskReason,
	}
	if res.MaxMemoryBytes > 0 {
		m["maxMemoryBytes"] = res.MaxMemoryBytes
	}
	if res.Tokens != nil {
		m["tokens"] = res.Tokens
	}
	type metaCall struct {
		Tool    string  `json:"tool"`
		MS      float64 `json:"durationMs"`
		Outcome string  `json:"outcome"`
	}
	calls := []metaCall{}
	for _, call := range firstOf(res.Calls, 100) {
		calls = append(calls, metaCall{call.Tool, call.DurationMS, call.Outcome})
	}
	m["calls"] = calls
	if len(res.Connections) > 0 {
		m["network"] = firstOf(res.Connections, 100)
	}
	return m
}

// flagsToArguments replaces the flags of mcprun by the arguments of execute_code.
var flagsToArguments = strings.NewReplacer(" (--timeout)", " (timeout_seconds)", "the --timeout", "timeout_seconds", " (--memory)", " (memory_mb)",
	" (--cpu)", "", " (--processes)", "", " (--output-limit)", "", " (--disk, --disk-files)", "", " (--open-files)", "", " (--file-size)", "",
	", or give its path with --tsc", "", ", or give its path with --pyright", "", "pass values with --var", "pass values in context_vars",
	"name the script .py, or use --language python", "set language to python", "name the script .ts, or use --language typescript", "set language to typescript")

// forModel returns a message of the runner with names that a model can use.
func forModel(message string) string { return flagsToArguments.Replace(message) }

// otherLanguageHint returns a hint if the error is typical of code written in a language other than the one it was run as.
func otherLanguageHint(res *runner.Result, language string, allowed []string) string {
	if res.Error == nil || len(allowed) < 2 {
		return ""
	}
	text := res.Error.Message
	syntax := res.Error.Name == "SyntaxError" || res.Error.Name == "LoadError" && (strings.Contains(text, "Expected ") || strings.Contains(text, "Unexpected "))
	if !syntax {
		return ""
	}
	return fmt.Sprintf("It was run as %s; the argument language selects another.", language)
}
