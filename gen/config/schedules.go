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

// Schedule is an entry of the key schedules of mcpgen.yaml: a script or a skill that mcprun serve and the daemon run at times.
type Schedule struct {
	// Cron has the five fields of crontab(5), or is such as "@daily" or "@every 10m". Times are those of the local time zone, unless it
	// begins with "CRON_TZ=Europe/Berlin ".
	Cron string
	// Script is a file in the folder of mcpgen.yaml, relative to it; Skill is the name of a skill. One of them is set.
	Script string
	Skill  string
	Args   []string
	Vars   map[string]any // can be written as JSON
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
		switch {
		case (s.Script == "") == (s.Skill == ""):
			return file.ErrorAt(value.Line, place, "it does not say what it runs", "write one of script and skill")
		case s.Script != "" && !filepath.IsLocal(filepath.FromSlash(s.Script)):
			return bad("script", fmt.Sprintf("%q is not in the folder of this file", s.Script), "write a path from here, such as scripts/report.ts")
		}
		if _, err := json.Marshal(s.Vars); err != nil {
			return bad("vars", "a variable cannot be written as JSON", "write texts, numbers, lists and mappings with texts as keys")
		}
	}
	return nil
}
