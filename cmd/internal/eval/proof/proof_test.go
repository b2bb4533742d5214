package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/gen/catalog"
)

func TestMain(m *testing.M) {
	backends.RunChild()
	os.Exit(m.Run())
}

// buildDemo builds the demo servers' program into a folder, as `make build` does, whose packages are in the cache.
func buildDemo(t *testing.T) string {
	t.Helper()
	mcpdemo := filepath.Join(t.TempDir(), "mcpdemo")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", mcpdemo, "../../../mcpdemo")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build mcpdemo: %v\n%s", err, out)
	}
	return mcpdemo
}

// pick returns the tasks with these names.
func pick(t *testing.T, names ...string) []task {
	t.Helper()
	list, err := chosen(names)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// small returns the options of a run with the smallest catalog and no tasks.
func small(t *testing.T) options {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := backends.List(backends.Options{LookupEnv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	o := options{root: root, mcpdemo: buildDemo(t), ways: ways(), catalogs: t.TempDir(), sizes: []int{len(few())}, progress: io.Discard}
	for _, be := range all {
		t.Cleanup(func() { _ = be.Close() })
		if be.Name() == "embedded" {
			o.typed = be
		}
	}
	return o
}

func TestProof(t *testing.T) {
	o := small(t)
	t.Run("small", func(t *testing.T) { testSmall(t, o) })
	t.Run("wrong", func(t *testing.T) { testWrong(t, o) })
}

// testSmall does three tasks in every way that needs no other program: one call, much data, and an error on the way.
func testSmall(t *testing.T, o options) {
	names := []string{"compound-interest", "revenue-by-region", "value-not-allowed"}
	o.tasks = pick(t, names...)
	p, err := prove(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r := newReport(p)
	for _, name := range names {
		read := map[way]int{}
		for _, m := range r.Tasks {
			if m.Task == name {
				read[m.Way] = m.Read()
				if m.Tools != 20 || m.Calls == 0 || m.Turns < 2 || m.Billed < m.In-m.Out {
					t.Errorf("measured %+v", m)
				}
			}
		}
		if len(read) != 4 || read[byScript] >= read[byReadme] || read[byScript] >= read[byCalls] || read[bySearch] >= read[byCalls] {
			t.Errorf("%s: tokens %v", name, read)
		}
	}
	if list := r.pick(20, dataHeavy, byCalls); len(list) != 1 || list[0].In < 40_000 {
		t.Errorf("two thousand rows are not in front of the model: %+v", list)
	}
	if err := r.missed(); err != nil {
		t.Error(err)
	}
	checkOutput(t, r)
}

// checkOutput looks at the tables and the page of a report.
func checkOutput(t *testing.T, r *report) {
	t.Helper()
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+pageBegin+"\nold\n"+pageEnd+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.intoPage(page); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.HasPrefix(string(text), "before\n"+pageBegin+"\n") ||
		!strings.HasSuffix(string(text), pageEnd+"\nafter\n") || strings.Contains(string(text), "old") || !strings.Contains(string(text), "| revenue-by-region | data-heavy |") {
		t.Errorf("the page is %v\n%s", err, text)
	}
	var out strings.Builder
	if err := r.print(&out); err != nil || !strings.Contains(out.String(), "reached: at 20 tools, code never reads more") {
		t.Errorf("printed, error %v:\n%s", err, out.String())
	}
}

// testWrong does tasks wrongly, each of which must end the run.
func testWrong(t *testing.T, o options) {
	right := pick(t, "close-a-sale")[0]
	for _, tt := range []struct {
		name, want string
		way        way
		change     func(*task)
	}{
		{"state", "direct, 20 tools: it was not done right: the opportunity is", byCalls, func(w *task) {
			w.direct = func(m *model) string {
				read[object](m, "crm__update_record", object{"object_type": "Opportunity", "record_id": "0065f0000000003", "data": object{"Probability": 100}})
				return ""
			}
		}},
		{"somebody else's record", "code, 20 tools: it was not done right: Opportunity 0065f0000000004 was changed", byScript, func(w *task) {
			w.scripts = []string{right.scripts[0] + `await updateRecord({ object_type: "Opportunity", record_id: "0065f0000000004", data: { Probability: 1 } });`}
		}},
		{"answer", `it was not done right: the answer is "0065f0000000003 is closed as won.", want "something else"`, byCalls, func(w *task) {
			w.check = func(j *judge) error { return j.answered("something else") }
		}},
		{"a change that nobody asked for", "it called [crm__update_record], which may change data", bySearch, func(w *task) { w.changes = false }},
		{"a script that fails", "script 1 ended with exit code 1", byScript, func(w *task) { w.scripts = []string{"throw new Error('no')"} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wrong := right
			tt.change(&wrong)
			o := o
			o.tasks, o.ways = []task{wrong}, []way{tt.way}
			if _, err := prove(t.Context(), o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestTasks checks what all tasks have in common, without doing them.
func TestTasks(t *testing.T) {
	demo, _, err := catalog.LoadTree("../../../../servers")
	if err != nil {
		t.Fatal(err)
	}
	names, per := map[string]bool{}, map[kind]int{}
	for _, task := range tasks() {
		if names[task.name] || task.prompt == "" || task.direct == nil || task.check == nil || len(task.scripts) == 0 {
			t.Errorf("task %q is incomplete", task.name)
		}
		names[task.name] = true
		per[task.kind]++
		for _, n := range task.needs {
			if _, _, ok := demo.Lookup(n.tool); !ok || !slices.Contains(few(), n.tool) || len(n.queries) == 0 {
				t.Errorf("task %s needs %s, which the smallest catalog does not have", task.name, n.tool)
			}
		}
		if task.kind == oneCall && len(task.needs) != 1 {
			t.Errorf("task %s needs %d tools for one call", task.name, len(task.needs))
		}
	}
	if len(names) < 20 || len(per) != len(kinds()) {
		t.Errorf("%d tasks: %v", len(names), per)
	}
	if _, err := chosen([]string{"sleep"}); err == nil {
		t.Error("a task that is not there was chosen")
	}
}

func TestCompose(t *testing.T) {
	dir := t.TempDir()
	for i, id := range []string{"alpha", "beta", "CRM", "gamma"} {
		var tools []string
		for n := range 30 {
			tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":"Does %d.","inputSchema":{"type":"object"}}`, n, i))
		}
		text := fmt.Sprintf(`{"id":%q,"tools":[%s]}`, id, strings.Join(tools, ","))
		if err := os.WriteFile(filepath.Join(dir, id+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lists, err := recorded(dir)
	if err != nil {
		t.Fatal(err)
	}
	demo, _, err := catalog.LoadTree("../../../../servers")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ size, want int }{{20, 20}, {42, 42}, {57, 57}, {1000, 162}} {
		tree, err := writeTree(t.Context(), t.TempDir(), compose(demo, lists, tt.size))
		if err != nil {
			t.Fatal(err)
		}
		if n := tree.Catalog.Tools(); n != tt.want {
			t.Errorf("size %d: %d tools, want %d", tt.size, n, tt.want)
		}
		for _, id := range few() {
			if _, _, ok := tree.Catalog.Lookup(id); !ok {
				t.Errorf("size %d: %s is not there", tt.size, id)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "broken.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := recorded(dir); err == nil || !strings.Contains(err.Error(), "broken.json") {
		t.Errorf("error %v", err)
	}
}

// TestLedger counts two turns by hand.
func TestLedger(t *testing.T) {
	l := &ledger{}
	l.define(1000)
	l.read(50)  // the task
	l.write(10) // a call
	l.read(200) // its result
	l.write(5)  // the answer
	want := ledger{definitions: 1000, in: 1250, out: 15, turns: 2, context: 1265, known: 1260, billed: 1050 + 1260, cached: 100 + 50 + 105 + 210}
	if *l != want {
		t.Errorf("%+v, want %+v", *l, want)
	}
}

func TestFlags(t *testing.T) {
	none := func(string) string { return "" }
	for _, tt := range []struct{ arg, want string }{
		{"-sizes=20,many", `size "many"`}, {"-sizes=3", `size "3": it must be a number of at least 20`}, {"-tasks=sleep", `no task is called "sleep"`}, {"file", "no arguments"},
	} {
		err := run(context.Background(), []string{tt.arg}, io.Discard, io.Discard, none)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.arg, err, tt.want)
		}
	}
	if missed := (&report{Goals: []goal{{Goal: "less", Is: "more"}}}).missed(); missed == nil || !strings.Contains(missed.Error(), "less: more") {
		t.Errorf("missed %v", errors.Unwrap(missed))
	}
}
