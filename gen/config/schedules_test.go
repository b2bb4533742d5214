package config

import (
	"strings"
	"testing"
	"time"
)

func TestSchedules(t *testing.T) {
	const text = `version: 1
schedules:
  nightly:
    cron: "CRON_TZ=Europe/Berlin 0 2 * * *"
    script: scripts/report.ts
    vars: {region: eu, days: [1, 2]}
    timeout: 5m
`
	s, err := parseSettings("mcpgen.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	nightly := s.Schedules["nightly"]
	if nightly.Script != "scripts/report.ts" || nightly.Timeout != 5*time.Minute || nightly.Vars["region"] != "eu" {
		t.Errorf("schedule = %+v", nightly)
	}
	got := nightly.Next(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)).UTC()
	if want := time.Date(2026, 7, 2, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("Next() = %v, want %v", got, want)
	}
}

func TestScheduleErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{cron: every day, script: a.ts}`:                 `mcpgen.yaml:3: schedules.a.cron: "every day" is not a cron expression: `,
		`{cron: "0 0 30 2 *", script: a.ts}`:              `mcpgen.yaml:3: schedules.a.cron: "0 0 30 2 *" never happens; write minute, hour,`,
		`{cron: CRON_TZ=UTC, script: a.ts}`:               `schedules.a.cron: "CRON_TZ=UTC" is not a cron expression: it has a time zone only`,
		`{cron: CRON_TZ=Mars/A 0 2 * * *, script: a}`:     `schedules.a.cron: "CRON_TZ=Mars/A 0 2 * * *" is not a cron expression: provided bad location`,
		`{cron: "@daily"}`:                                `mcpgen.yaml:3: schedules.a: it does not say what it runs; write one of script, skill and workflow`,
		`{cron: "@daily", script: a.ts, skill: a}`:        `schedules.a: it does not say what it runs`,
		`{cron: "@daily", script: ../a.ts}`:               `schedules.a.script: "../a.ts" is not in the folder of this file; write a path from here`,
		`{cron: "@daily", script: /etc/a.ts}`:             `schedules.a.script: "/etc/a.ts" is not in the folder of this file`,
		`{cron: "@daily", script: a.ts, vars: {a: .inf}}`: `schedules.a.vars: a value cannot be written as JSON`,
		`{cron: "@daily", workflow: ../a.yaml}`:           `schedules.a.workflow: "../a.yaml" is not in the folder of this file; write a path from here, such as workflows/report.ts`,
		`{cron: "@daily", workflow: a.yaml, skill: a}`:    `schedules.a: it does not say what it runs`,
		`{cron: "@daily", workflow: a.yaml, args: [a]}`:   `schedules.a.args: a workflow has no arguments; give it input`,
		`{cron: "@daily", script: a.ts, input: 1}`:        `schedules.a.input: only a workflow has an input; give vars or args`,
		`{cron: "@daily", workflow: a.ts, input: .inf}`:   `schedules.a.input: a value cannot be written as JSON`,
		`{cron: 5, script: a.ts}`:                         `mcpgen.yaml:3: schedules.a.cron: it is a whole number, not a text; write it as "0 2 * * *" or @daily`,
		`x`:                                               `mcpgen.yaml:3: schedules.a: it is not a schedule; write a mapping with cron, and script, skill or workflow`,
	} {
		_, err := parseSettings("mcpgen.yaml", []byte("version: 1\nschedules:\n  a: "+text+"\n"), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
	_, err := parseSettings("mcpgen.yaml", []byte("version: 1\nschedules:\n  a/b: {cron: '@daily', skill: a}\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "mcpgen.yaml:3: schedules.a/b: a schedule cannot have this name") {
		t.Errorf("error %v, want one about the name", err)
	}
}
