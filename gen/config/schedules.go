package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Schedule is an entry of the key schedules of mcpgen.yaml: a script, a skill or a workflow that mcprun serve and the daemon run at times.
type Schedule struct {
	// Cron has the five fields of crontab(5), or is such as "@daily" or "@every 10m". Times are those of the local time zone, unless it
	// begins with "CRON_TZ=Europe/Berlin ".
	Cron string
	// Script and Workflow are files in the folder of mcpgen.yaml, relative to it; Skill is the name of a skill. One of them is set.
	Script   string
	Skill    string
	Workflow string
	Args     []string
	Vars     map[string]any // can be written as JSON
	// Input is that of the workflow, and can be written as JSON. Nil: none.
	Input any
	// Customer is whose run it is; empty: the project's.
	Customer string
	// Timeout bounds the run. 0: as other runs.
	Timeout time.Duration
	// Network lets the run connect to what network: allows.
	Network bool
}

// scheduleName matches the names of schedules, which are parts of ids.
var scheduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// Next returns the first time after a time; zero: never.
func (s *Schedule) Next(after time.Time) time.Time {
	times, err := s.times()
	if err != nil {
		return time.Time{}
	}
	return times.Next(after)
}

func (s *Schedule) times() (cron.Schedule, error) {
	if strings.Contains(s.Cron, "TZ=") && !strings.Contains(s.Cron, " ") { // the library panics
		return nil, errors.New("it has a time zone only")
	}
	return cron.ParseStandard(s.Cron)
}

// completeSchedules makes the checks that the schema cannot make.
func completeSchedules(file *node.File, schedules map[string]Schedule, n *yaml.Node) error {
	for key, value := range node.Pairs(n) {
		s, place := schedules[key.Value], node.Join("schedules", key.Value)
		bad := func(member, problem, remedy string) error {
			line := value.Line
			if at := node.Value(value, member); at != nil {
				line = at.Line
			}
			return file.ErrorAt(line, node.Join(place, member), problem, remedy)
		}
		const cronRemedy = `write minute, hour, day, month and weekday, such as "0 2 * * *", or @daily, or @every 10m`
		if !scheduleName.MatchString(key.Value) {
			return file.ErrorAt(key.Line, place, "a schedule cannot have this name", "write at most 64 letters, digits, and -, _ or . after the first one")
		}
		if _, err := s.times(); err != nil {
			return bad("cron", fmt.Sprintf("%q is not a cron expression: %v", s.Cron, err), cronRemedy)
		}
		if s.Next(time.Now()).IsZero() {
			return bad("cron", fmt.Sprintf("%q never happens", s.Cron), cronRemedy)
		}
		runs := 0
		for member, target := range map[string]string{"script": s.Script, "skill": s.Skill, "workflow": s.Workflow} {
			if target == "" {
				continue
			}
			runs++
			if member != "skill" && !filepath.IsLocal(filepath.FromSlash(target)) {
				return bad(member, fmt.Sprintf("%q is not in the folder of this file", target), "write a path from here, such as "+member+"s/report.ts")
			}
		}
		switch {
		case runs != 1:
			return file.ErrorAt(value.Line, place, "it does not say what it runs", "write one of script, skill and workflow")
		case s.Workflow != "" && s.Args != nil:
			return bad("args", "a workflow has no arguments", "give it input")
		case s.Workflow == "" && node.Value(value, "input") != nil:
			return bad("input", "only a workflow has an input", "give vars or args")
		}
		for member, value := range map[string]any{"vars": s.Vars, "input": s.Input} {
			if _, err := json.Marshal(value); err != nil {
				return bad(member, "a value cannot be written as JSON", "write texts, numbers, lists and mappings with texts as keys")
			}
		}
	}
	return nil
}
