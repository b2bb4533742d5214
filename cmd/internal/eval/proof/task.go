package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// kind is a kind of task.
type kind string

const (
	oneCall   kind = "one-call"
	multiStep kind = "multi-step"
	dataHeavy kind = "data-heavy"
	withError kind = "with errors"
)

func kinds() []kind { return []kind{oneCall, multiStep, dataHeavy, withError} }

//go:embed scripts
var scriptFiles embed.FS

// tasks returns all tasks, with their scripts.
func tasks() []task {
	all := slices.Concat(oneCallTasks(), multiStepTasks(), dataHeavyTasks(), errorTasks())
	for i := range all {
		all[i].scripts = scriptsOf(all[i].name)
	}
	return all
}

// scriptsOf returns the scripts of a task in the order in which they run.
func scriptsOf(task string) []string {
	var out []string
	for i := 1; ; i++ {
		text, err := scriptFiles.ReadFile(fmt.Sprintf("scripts/%s.%d.ts", task, i))
		if err != nil {
			return out
		}
		out = append(out, string(text))
	}
}

// task is a piece of work, and how a model does it without a needless step: call by call, and by scripts.
type task struct {
	name string
	kind kind
	// prompt is what a person asks.
	prompt string
	// needs lists the tools in the order in which a model looks for them.
	needs []need
	// direct does the task with calls, and computes what a model would have to compute between them.
	direct func(m *model) (answer string)
	// scripts do the task in TypeScript. All but the last may fail. The last one prints the answer. They are the files
	// scripts/NAME.N.ts.
	scripts []string
	// changes are all differences that the task makes to the data. Tasks without any must not call a tool that may change
	// something.
	changes delta
	// check returns an error if the answer, or what was changed, is wrong.
	check func(j *judge) error
}

// need is a tool and the queries with which a model searches for it, each tried if the one before does not find it.
type need struct {
	tool    string
	queries []string
}

func (n need) server() string {
	server, _, _ := strings.Cut(n.tool, "__")
	return server
}

// searches returns the arguments of search_tools that a model tries until a tool is found: its queries, then the first query
// limited to the server that the task mentions, and finally a list of that server's tools.
func (n need) searches() []object {
	var out []object
	for _, q := range n.queries {
		out = append(out, object{"query": q})
	}
	return append(out, object{"query": n.queries[0], "category": n.server()}, object{"category": n.server()})
}

// judge checks the answer of a task and the data afterwards.
type judge struct {
	ctx    context.Context
	answer string
	// before has the data as it was before the task, and after the data after it.
	before, after *world
}

// answered compares the answer with the right one.
func (j *judge) answered(want string) error {
	if j.answer != want {
		return fmt.Errorf("the answer is %.200q, want %.200q", j.answer, want)
	}
	return nil
}

// ask makes a call that must succeed, and decodes its result.
func ask[T any](ctx context.Context, w *world, tool string, args any) (T, error) {
	var out T
	raw, err := json.Marshal(args)
	if err != nil {
		return out, err
	}
	text, failed, err := w.call(ctx, tool, raw)
	if err == nil && failed {
		err = errors.New(text)
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &out)
	}
	if err != nil {
		return out, fmt.Errorf("check with %s: %w", tool, err)
	}
	return out, nil
}

// object is a JSON object.
type object = map[string]any

type rows struct {
	Rows      []object `json:"rows"`
	Truncated bool     `json:"truncated"`
}

type records struct {
	Records []object `json:"records"`
	Total   int      `json:"total"`
}

// sql reads from the shop's database.
func (j *judge) sql(w *world, statement string) ([]object, error) {
	out, err := ask[rows](j.ctx, w, "database__query", object{"sql": statement, "max_rows": 10_000})
	return out.Rows, err
}

// crm reads all records of a kind with these values, without their long fields.
func (j *judge) crm(w *world, kind string, with object) ([]object, error) {
	filters := []object{}
	for field, value := range with {
		filters = append(filters, object{"field": field, "operator": "eq", "value": value})
	}
	out, err := ask[records](j.ctx, w, "crm__query_records", object{"object_type": kind, "filters": filters, "limit": 500})
	if err == nil && out.Total != len(out.Records) {
		err = fmt.Errorf("there are %d records of %s, only %d were read", out.Total, kind, len(out.Records))
	}
	return out.Records, err
}
