//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// TestRecordOfSignals: a run that a signal ends has the exit code of the command, and its call an end.
func TestRecordOfSignals(t *testing.T) {
	w := newRecorded(t)
	cmd := w.command(t.Context(), "--audit", "hold.ts")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, err := w.wait()
	if err = errors.Join(err, cmd.Process.Signal(syscall.SIGTERM)); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was ended
	rows, err := recordOf(t.Context(), w.db)
	if want := "run call call.end run.end"; err != nil || kindsOf(rows) != want {
		t.Fatalf("the record has %q, %v, want %q", kindsOf(rows), err, want)
	}
	var call audit.CallEnd
	var run audit.RunEnd
	if err := errors.Join(json.Unmarshal(rows[2].Body, &call), json.Unmarshal(rows[3].Body, &run)); err != nil {
		t.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != 143 || run.ExitCode != code || run.Success || run.Cause != "interrupted" || call.Outcome != "cancelled" {
		t.Errorf("exit code %d, the call's end %+v, the run's end %+v", code, call, run)
	}
}

// TestRecordOfPlans: a plan is made, approved or refused, and used; and a change of the policy has a row.
func TestRecordOfPlans(t *testing.T) {
	w := newRecorded(t)
	w.env = append(w.env, "MCPGEN_KEYRING=off", "MCPRUN_APPROVE_COMMAND=./ask.sh", "MCPRUN_AUDIT=true")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("ask.sh", "#!/bin/sh\ncat > /dev/null\necho \"$ANSWER\"\n")
	var seen int
	run := func(answer string, args ...string) (id, kinds, bodies string) {
		t.Helper()
		cmd := w.command(t.Context(), args...)
		cmd.Env, cmd.Stderr = append(cmd.Env, "ANSWER="+answer), t.Output()
		out, _ := cmd.Output()
		rows, err := recordOf(t.Context(), w.db)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[seen:] {
			bodies += string(row.Body)
		}
		kinds, seen = kindsOf(rows[seen:]), len(rows)
		return strings.TrimSpace(string(out)), kinds, bodies
	}
	id, kinds, bodies := run(`{"answer":"once","by":"ann"}`, "plan", "look.ts")
	if want := "run call.end run.end plan approval plan"; kinds != want || !strings.Contains(bodies, `"event":"made"`) || !strings.Contains(bodies, `"by":"ann","calls":1,"digest":`) || !strings.Contains(bodies, `"event":"approved"`) {
		t.Errorf("plan: the record has %q, want %q: %s", kinds, want, bodies)
	}
	if _, kinds, bodies = run("", "--plan", id, "look.ts"); kinds != "run plan call call.end run.end" || !strings.Contains(bodies, `"event":"used","plan":"`+id+`"`) || !strings.Contains(bodies, `"by":"ann","call":1,"effect":"allow","hint":"writes","rule":"rule \"plan `+id+`\""`) {
		t.Errorf("its use: the record has %q: %s", kinds, bodies)
	}
	if _, kinds, bodies = run(`{"answer":"no","by":"bob"}`, "plan", "look.ts"); kinds != "run call.end run.end plan approval plan" || !strings.Contains(bodies, `"event":"refused"`) {
		t.Errorf("a refused plan: the record has %q: %s", kinds, bodies)
	}

	changes := func() (list []audit.Change) {
		t.Helper()
		s, err := sqlite.Open(t.Context(), w.db, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		err = s.Rows(t.Context(), store.Range{Kinds: []string{string(audit.KindChange)}}, func(r store.Row) error {
			row, err := audit.Decode(r)
			var c audit.Change
			if err == nil {
				err = json.Unmarshal(row.Body, &c)
			}
			list = append(list, c)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got := changes(); len(got) != 2 || got[0].What != "servers" || got[1].What != "tree" || got[1].From != "" || got[1].To == "" {
		t.Errorf("the changes are %+v, want the first servers and tree", got)
	}
	write("mcpgen.yaml", "version: 1\nservers: {rec: {protocol: legacy, trusted: true}}\npolicy: {unattended: [approve_command], rules: [{deny: 'rec__*'}]}\n")
	if _, kinds, bodies = run("", "look.ts"); kinds != "run call.end personal run.end" || !strings.Contains(bodies, `"effect":"deny"`) {
		t.Errorf("with a rule: the record has %q: %s", kinds, bodies)
	}
	if got := changes(); len(got) < 3 || got[2].What != "policy" || got[2].From != "" || got[2].To == "" {
		t.Errorf("the changes are %+v, want a policy after the tree", got)
	}
	write("mcpgen.yaml", "version: 1\nservers: {rec: {protocol: legacy, trusted: false}}\npii: {mode: output}\npolicy: {unattended: [approve_command], rules: [{deny: 'rec__l*'}]}\n")
	run("", "look.ts")
	list, err := w.command(t.Context(), "audit", "list", "--kind", "change", "--json").Output()
	var rows struct{ Rows []struct{ Row int } }
	if err := errors.Join(err, json.Unmarshal(list, &rows)); err != nil {
		t.Fatal(err)
	}
	shown := ""
	for _, r := range rows.Rows[:3] {
		out, err := w.command(t.Context(), "audit", "show", fmt.Sprint(r.Row)).CombinedOutput()
		if err != nil {
			t.Fatalf("show %d: %v, %s", r.Row, err, out)
		}
		shown += string(out)
	}
	for _, want := range []string{"+mode: output", "-        - rec__*", "+        - rec__l*", "-    trusted: true"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the rows of changes show no line %q: %s", want, shown)
		}
	}
}
