package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// kind is what a task is like.
type kind string

const (
	oneCall   kind = "one-call"
	multiStep kind = "multi-step"
	dataHeavy kind = "data-heavy"
	withError kind = "with errors"
)

func kinds() []kind { return []kind{oneCall, multiStep, dataHeavy, withError} }

// task is a piece of work, and how a model that makes no needless step does it: call by call, and by a script.
type task struct {
	name string
	kind kind
	// prompt is what a person asks.
	prompt string
	// needs are the tools, in the order in which a model looks for them.
	needs []need
	// direct does it with calls. Between them it computes in its head what a model would have to.
	direct func(m *model) (answer string)
	// scripts do it in TypeScript, python in Python; all but the last may fail, and say why. What the last one prints is
	// the answer. Python may be empty.
	scripts, python []string
	// changes says that the task is to change something; others must call no tool that may.
	changes bool
	// check says what is wrong with the answer, or with the state that was left.
	check func(j *judge) error
}

// need is a tool and the words in which a model searches for it; when they don't find it, the next ones are tried.
type need struct {
	tool    string
	queries []string
}

func (n need) server() string {
	server, _, _ := strings.Cut(n.tool, "__")
	return server
}

// searches are what a model asks search_tools for until a tool is found: its words, then the first of them again among the
// tools of the one server that the task speaks of.
func (t *task) searches(tool string) []object {
	var out []object
	for _, n := range t.needs {
		if n.tool != tool {
			continue
		}
		for _, q := range n.queries {
			out = append(out, object{"query": q})
		}
		out = append(out, object{"query": n.queries[0], "category": n.server()})
	}
	return out
}

// judge looks at what a task has left.
type judge struct {
	ctx    context.Context
	answer string
	// before is a state in which nothing was done yet, after the task's own.
	before, after *world
}

// answered compares the answer with the right one.
func (j *judge) answered(want string) error {
	if strings.TrimSpace(j.answer) != want {
		return fmt.Errorf("the answer is %.200q, want %.200q", j.answer, want)
	}
	return nil
}

// ask makes a call that must succeed and decodes its result.
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

// crm reads all records of a kind that have all these values, with all fields but the long ones.
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

// same tells whether the records of a kind are the same before and after but for what except lists, by id.
func (j *judge) same(kind string, except map[string]bool) error {
	before, err := j.crm(j.before, kind, nil)
	if err != nil {
		return err
	}
	after, err := j.crm(j.after, kind, nil)
	if err != nil {
		return err
	}
	now := map[string]string{}
	for _, r := range after {
		now[fmt.Sprint(r["Id"])] = fmt.Sprint(r)
	}
	for _, r := range before {
		id := fmt.Sprint(r["Id"])
		if !except[id] && now[id] != fmt.Sprint(r) {
			return fmt.Errorf("%s %s was changed: %.200s", kind, id, now[id])
		}
	}
	return nil
}
