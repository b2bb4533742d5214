package main

import (
	"context"
	"database/sql"
	"encoding/json"
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

// buildCommand builds a program of the repository into a folder with the flags of `make build`, whose packages are in the cache.
func buildCommand(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, "../../../"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	return program
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
	o := options{root: root, mcpdemo: buildCommand(t, "mcpdemo"), ways: ways(), catalogs: t.TempDir(), sizes: []int{len(few())}, progress: io.Discard}
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
	t.Run("reworded", func(t *testing.T) { testReworded(t, o) })
	t.Run("wrong", func(t *testing.T) { testWrong(t, o) })
	t.Run("sabotage", func(t *testing.T) { testSabotage(t, o) })
}

// testReworded searches with words that find nothing, which costs turns but does not end the run.
func testReworded(t *testing.T, o options) {
	o.ways = []way{bySearch, byScript}
	turns := map[way][]int{}
	for _, query := range []string{"update fields of a CRM record", "xyzzy"} {
		o.tasks = pick(t, "close-a-sale")
		o.tasks[0].needs = []need{{"crm__update_record", []string{query}}}
		p, err := prove(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range p.out {
			turns[m.Way] = append(turns[m.Way], m.Turns)
		}
	}
	for w, n := range turns {
		if len(n) != 2 || n[1] <= n[0] {
			t.Errorf("%s: %v turns, want more where nothing is found", w, n)
		}
	}
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
		t.Errorf("two thousand rows are not in front of the model: %+v, want len(list) 1 and In at least 40_000", list)
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
		t.Errorf("printed, error %v, want \"reached: at 20 tools, code never reads more\" in it and no error:\n%s", err, out.String())
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
		{"state", "direct, 20 tools: it was not done right: 1 changes are missing: crm/Opportunity/0065f0000000003 StageName", byCalls, func(w *task) {
			w.direct = func(m *model) string {
				read[object](m, "crm__update_record", object{"object_type": "Opportunity", "record_id": "0065f0000000003", "data": object{"Probability": 100}})
				return ""
			}
		}},
		{"somebody else's record", "code, 20 tools: it was not done right: nobody asked for this change: crm/Opportunity/0065f0000000004 ", byScript, func(w *task) {
			w.scripts = []string{right.scripts[0] + `await updateRecord({ object_type: "Opportunity", record_id: "0065f0000000004", data: { Probability: 1 } });`}
		}},
		{"a second record", "nobody asked for this change: + crm/Lead/", byScript, func(w *task) {
			w.scripts = []string{strings.Replace(right.scripts[0], "updateRecord", "createRecord, updateRecord", 1) + `await createRecord({ object_type: "Lead", data: { Name: "a", Company: "b", Status: "New" } });`}
		}},
		{"another file", "nobody asked for this change: filesystem/README.md content", byScript, func(w *task) {
			w.scripts = []string{`import { writeFile } from "./servers/filesystem/index.ts";` + "\n" + right.scripts[0] + `await writeFile({ path: "README.md", content: "x", mode: "overwrite" });`}
		}},
		{"another document", "nobody asked for this change: + drive/documents/", byScript, func(w *task) {
			w.scripts = []string{`import { createDocument } from "./servers/drive/index.ts";` + "\n" + right.scripts[0] + `await createDocument({ title: "x", content: "x" });`}
		}},
		{"nothing", "1 changes are missing: crm/Opportunity/0065f0000000003 ", byCalls, func(w *task) { w.direct = func(*model) string { return "" } }},
		{"answer", `it was not done right: the answer is "0065f0000000003 is closed as won.", want "something else"`, byCalls, func(w *task) {
			w.check = func(j *judge) error { return j.answered("something else") }
		}},
		{"a change that nobody asked for", "it called [crm__update_record], which may change data", bySearch, func(w *task) { w.changes = nil }},
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

// testSabotage does tasks in every way, each with an unwanted addition to what it makes, or beside it.
func testSabotage(t *testing.T, o options) {
	o.mcprun = buildCommand(t, "mcprun")
	o.sizes = []int{42} // all demo tools
	for _, tt := range []struct {
		task, want string
		args       [2]string // replaced in the arguments of calls
		script     [2]string // replaced in the script
		extra      []request // calls made in addition, which the changed script makes too
	}{
		{
			task: "best-customer-to-crm", want: "nobody asked for this change: + crm/Lead/00Q5f0000000061 Phone",
			args:   [2]string{`"LeadSource":"Referral"`, `"LeadSource":"Referral","Phone":"+49 666"`},
			script: [2]string{`LeadSource: "Referral"`, `LeadSource: "Referral", Phone: "+49 666"`},
		},
		{
			task: "write-a-document", want: "nobody asked for this change: + drive/documents/kick-off-agenda.json labels",
			args:   [2]string{`"title":"Kick-off agenda"`, `"title":"Kick-off agenda","labels":["secret","x"]`},
			script: [2]string{`title: "Kick-off agenda"`, `title: "Kick-off agenda", labels: ["secret", "x"]`},
		},
		{ // a space at the end of a text
			task: "write-a-document", want: `the document "Kick-off agenda" has `,
			args:   [2]string{`before the meeting.`, `before the meeting. `},
			script: [2]string{`before the meeting.`, `before the meeting. `},
		},
		{
			task: "wind-report", want: "nobody asked for this change: + filesystem/evil/",
			script: [2]string{`import { writeFile }`, `import { createDirectory } from "./servers/filesystem/index.ts"; await createDirectory({ path: "evil" }); import { writeFile }`},
			extra:  []request{{"filesystem__create_directory", object{"path": "evil"}}},
		},
	} {
		right := pick(t, tt.task)[0]
		wrong := right
		wrong.scripts = []string{strings.Replace(right.scripts[0], tt.script[0], tt.script[1], 1)}
		wrong.direct = func(m *model) string {
			send := m.invoke
			if send == nil {
				send = func(tool string, args json.RawMessage) (string, bool, error) { return m.world.call(m.ctx, tool, args) }
			}
			m.invoke = func(tool string, args json.RawMessage) (string, bool, error) {
				return send(tool, json.RawMessage(strings.Replace(string(args), tt.args[0], tt.args[1], 1)))
			}
			for _, r := range tt.extra {
				read[object](m, r.tool, r.args)
			}
			return right.direct(m)
		}
		for _, w := range ways() {
			t.Run(fmt.Sprintf("%s, %s", tt.task, w), func(t *testing.T) {
				o := o
				o.tasks, o.ways = []task{wrong}, []way{w}
				if _, err := prove(t.Context(), o); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q", err, tt.want)
				}
			})
		}
	}
}

// TestDifferences changes a folder, a document and a database.
func TestDifferences(t *testing.T) {
	data := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(data, "shop.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	write := func(document string, statements ...string) state {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(data, "drive"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, "drive", "a.json"), []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, s := range statements {
			if _, err := db.ExecContext(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		s, err := stateOf(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := write(`{"id":"a","title":"A","labels":[]}`,
		"CREATE TABLE log (line TEXT)", "INSERT INTO log VALUES ('one')", "CREATE TABLE item (a INTEGER, b INTEGER, note TEXT, PRIMARY KEY (a, b))", "INSERT INTO item VALUES (1, 2, 'x'), (1, 3, 'y')")
	if err := os.Mkdir(filepath.Join(data, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	after := write(`{"id":"a","title":"B","labels":["x"]}`,
		"INSERT INTO log VALUES ('two')", "UPDATE item SET note = NULL WHERE b = 2", "DELETE FROM item WHERE b = 3", "CREATE VIEW lines AS SELECT count(*) FROM log")
	want := []string{
		"+ ./log/row 2 line", "+ ./sqlite_master/lines name", "+ ./sqlite_master/lines sql", "+ ./sqlite_master/lines tbl_name", "+ ./sqlite_master/lines type",
		"+ empty/", "- ./item/1/3", "./item/1/2 note", "drive/a.json labels", "drive/a.json title",
	}
	if got := before.differences(after); !slices.Equal(got, want) {
		t.Errorf("differences:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
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
		t.Error("a task that is not there was chosen: got no error, want an error")
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
		t.Errorf(`error %v, want an error and "broken.json" in it`, err)
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
