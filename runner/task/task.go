// Package task turns a task in words into a script, and the script into a result: it finds tools ([Tree.Select]), asks a model for a script
// that uses them, checks it, has it run, and lets the model repair it. Start with [Do].
//
// The model is hostile, and so are the texts of tools that it reads. What it writes is a script like any other: the caller's Run judges it, asks
// the policy, and confines it in a sandbox. Nothing but that script comes from the model.
package task

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// DefaultRepairs is how often a model may repair its script, unless the caller says otherwise.
const DefaultRepairs = 2

// Options say how a task is done. Tree is required.
type Options struct {
	Tree *Tree
	// Language is that of the script. Empty: TypeScript, or else one that the tree has.
	Language sandbox.Language
	// MaxTools and MaxTokens bound the selection, and what a model reads of it. Zero: [DefaultMaxTools], [DefaultMaxTokens].
	MaxTools, MaxTokens int
	// Model writes the script. Nil: the outcome has a scaffold, and an error that is [ErrNoModel].
	Model model.Client
	// Rules is what the script may use.
	Rules Rules
	// Mask removes personal data from what leaves for the model. Nil: nothing is removed.
	Mask func(text string) string
	// Repairs bounds the answers of the model after its first. Zero: none.
	Repairs int
	// Check says what is wrong with a script before it runs. An error ends the task. Nil: nothing is checked.
	Check func(ctx context.Context, s *Script) (problems []string, err error)
	// Run runs a script, as [runner.Runner.Launch] does. An error means that it did not start, and ends the task. Nil: the script is the outcome.
	Run func(ctx context.Context, s *Script) (*runner.Result, error)
	// Selected is called with the selection before the model is asked, and Written with each script that has passed Check. Retrying is called with
	// the reason for another answer. They may be nil.
	Selected func(*Selection)
	Written  func(*Script)
	Retrying func(problem string)
}

// Script is a script for a task.
type Script struct {
	Language sandbox.Language `json:"language"`
	Code     string           `json:"code"`
	// Risk is what Check found. RiskReason says why it is that high.
	Risk       risk.Risk `json:"risk,omitzero"`
	RiskReason string    `json:"riskReason,omitempty"`
}

// Attempt is an answer of the model.
type Attempt struct {
	Code string `json:"code,omitempty"` // empty if the answer had no script
	Ran  bool   `json:"ran"`
	// Problem is what was wrong with it; empty if nothing was.
	Problem string `json:"problem,omitempty"`
}

// ModelUse is what the answers of a model cost together.
type ModelUse struct {
	Name    string `json:"name"` // of endpoint and model
	Answers int    `json:"answers"`
	model.Usage
}

// Outcome is what came of a task. Parts that it did not reach are nil or empty.
type Outcome struct {
	Task string `json:"task"` // as the model read it
	// Result is the value that the script gave as its result, Output what it printed, and Error why the task failed.
	Result json.RawMessage `json:"result,omitempty"`
	Output string          `json:"output"`
	Error  string          `json:"error,omitempty"`
	// Stopped is why a script that failed is not repaired: what it has done, which another one would do again.
	Stopped   string         `json:"stopped,omitempty"`
	Selection *Selection     `json:"selection,omitempty"`
	Script    *Script        `json:"script,omitempty"` // the last one
	Attempts  []Attempt      `json:"attempts,omitempty"`
	Model     *ModelUse      `json:"model,omitempty"`
	Run       *runner.Result `json:"run,omitempty"` // of the last script
}

// Do does a task. The outcome is never nil, and has what was reached, also beside an error. A script that fails, is killed or times out is no
// error: then Outcome.Error and Outcome.Run say what happened. Errors are those of [Tree.Select], Check, Run and the model, [ErrNoModel], a
// *[RefusedError], or a *[ScriptError] if no answer of the model was a script that could run.
func Do(ctx context.Context, text string, opt Options) (*Outcome, error) {
	if have := opt.Tree.Languages(); opt.Language == "" && len(have) > 0 {
		opt.Language = have[0]
	}
	opt.Language = cmp.Or(opt.Language, sandbox.LangTypeScript)
	if opt.Mask == nil {
		opt.Mask = func(text string) string { return text }
	}
	d := &doing{Options: &opt, out: &Outcome{Task: opt.Mask(strings.TrimSpace(text))}}
	err := d.do(ctx, text)
	if err != nil {
		d.out.Error = opt.Mask(err.Error())
	}
	return d.out, err
}

// doing is a task in progress.
type doing struct {
	*Options
	out *Outcome
}

func (d *doing) do(ctx context.Context, text string) error {
	sel, err := d.Tree.Select(ctx, text, d.Language, d.MaxTools, d.MaxTokens)
	if nothing, ok := errors.AsType[*NothingError](err); ok {
		d.out.Selection = nothing.Selection
	}
	if err != nil {
		return err
	}
	if d.out.Selection = sel; d.Selected != nil {
		d.Selected(sel)
	}
	if d.Model == nil {
		d.out.Script = &Script{Language: d.Language, Code: sel.Scaffold(d.out.Task)}
		return ErrNoModel
	}
	d.out.Model = &ModelUse{Name: d.Model.Name()}
	request := sel.Prompt(d.out.Task, &d.Rules)
	widened := false
	for left := d.Repairs; ; left-- {
		answer, problem, err := d.attempt(ctx, request)
		if refused, ok := errors.AsType[*RefusedError](err); ok && refused.lacks && !widened {
			if request, err = d.widen(ctx, text, refused); err == nil {
				widened, left = true, left+1
				continue
			}
		}
		if err != nil || problem == nil {
			return err
		}
		if !problem.repairable || left <= 0 {
			return problem.end()
		}
		if d.Retrying != nil {
			d.Retrying(d.out.Error)
		}
		request.Messages = append(request.Messages, model.Message{Role: model.Assistant, Text: answer}, model.Message{Role: model.User, Text: problem.prompt(d.Language)})
	}
}

// widen returns a request with more tools, for a model that says that it lacks some. The error is refused if no tool can be added.
func (d *doing) widen(ctx context.Context, text string, refused *RefusedError) (*model.Request, error) {
	sel, err := d.Tree.Widen(ctx, d.out.Selection, text, d.MaxTools, d.MaxTokens)
	if err != nil {
		return nil, err
	}
	if len(sel.Tools) == len(d.out.Selection.Tools) {
		return nil, refused
	}
	if d.Retrying != nil {
		d.Retrying(refused.Error())
	}
	if d.out.Selection = sel; d.Selected != nil {
		d.Selected(sel)
	}
	return sel.Prompt(d.out.Task, &d.Rules), nil
}

// attempt asks the model once, and checks and runs its script. A nil problem means that the task is done.
func (d *doing) attempt(ctx context.Context, request *model.Request) (answer string, _ *problem, _ error) {
	res, err := d.Model.Generate(ctx, request)
	if err != nil {
		return "", nil, fmt.Errorf("ask the model: %w", err)
	}
	use := d.out.Model
	use.Answers, use.Input, use.Output, use.Cost = use.Answers+1, use.Input+res.Usage.Input, use.Output+res.Usage.Output, use.Cost+res.Usage.Cost
	d.out.Run, d.out.Result, d.out.Output, d.out.Error, d.out.Script = nil, nil, "", "", nil
	code, err := parseAnswer(res, d.Language)
	d.out.Attempts = append(d.out.Attempts, Attempt{Code: code})
	at := &d.out.Attempts[len(d.out.Attempts)-1]
	var p *problem
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		at.Problem = refused.Error()
		return "", nil, refused
	}
	if err != nil {
		p = &problem{text: err.Error(), repairable: true}
	} else if p, err = d.try(ctx, code, at); err != nil {
		at.Problem = d.Mask(err.Error())
		return "", nil, err
	}
	if p != nil {
		p.text = d.Mask(p.text)
		at.Problem, d.out.Error, d.out.Stopped = p.text, d.Mask(cmp.Or(p.short, p.text)), d.Mask(p.stopped)
	}
	return cmp.Or(strings.TrimSpace(cut(res.Text, maxEcho)), "(nothing)"), p, nil
}

// try checks and runs a script.
func (d *doing) try(ctx context.Context, code string, at *Attempt) (*problem, error) {
	s := &Script{Language: d.Language, Code: code}
	d.out.Script = s
	if token := runner.LiteralToken(d.Rules.Personal, code); token != "" {
		return literalToken(token, d.Language), nil
	}
	if d.Check != nil {
		wrong, err := d.Check(ctx, s)
		if err != nil {
			return nil, err
		}
		if len(wrong) > 0 {
			return checkProblem(wrong), nil
		}
	}
	if d.Written != nil {
		d.Written(s)
	}
	if d.Run == nil {
		return nil, nil
	}
	run, err := d.Run(ctx, s)
	if err != nil {
		return nil, err
	}
	at.Ran = true
	d.out.Run, d.out.Result, d.out.Output = run, run.Value, run.Stdout
	return runProblem(run), nil
}
