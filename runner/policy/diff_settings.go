package policy

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// SettingChange is a difference between two policies that is not about calls.
type SettingChange struct {
	// Setting is the key, such as policy.ceilings.risk. At is its place in the new file, or in the old one if it was removed.
	Setting string `json:"setting"`
	From    string `json:"from"`
	To      string `json:"to"`
	At      string `json:"at,omitempty"`
	Wider   bool   `json:"wider"`
}

// DiffLimits compares the levels, defaults and ceilings of the project, and of each customer for whom the difference is not the project's.
func DiffLimits(before, after *Policy) []SettingChange {
	out := diffPart("policy.", before.all, after.all)
	customers := maps.Clone(before.customers)
	maps.Copy(customers, after.customers)
	general := len(out)
	for _, id := range slices.Sorted(maps.Keys(customers)) {
		for _, c := range diffPart("policy.customers."+id+".", before.part(id), after.part(id)) {
			same := func(g SettingChange) bool {
				return strings.HasSuffix(c.Setting, strings.TrimPrefix(g.Setting, "policy")) && c.From == g.From && c.To == g.To
			}
			if !slices.ContainsFunc(out[:general], same) {
				out = append(out, c)
			}
		}
	}
	return out
}

// limit is a level or a ceiling. The higher its rank, the less strict it is; 0 means no limit.
type limit struct {
	key, text, at string
	rank          int64
}

func (p *part) limits() []limit {
	c := p.ceilings
	most, _ := risk.Parse(c.Risk) // the schema has rejected invalid ones
	size := func(text string) int64 {
		n, _ := config.ParseSize(text) // the schema has rejected invalid sizes; an empty one is 0
		return n
	}
	number := func(key string, n int64, text string) limit {
		if n == 0 {
			return limit{key, "none", "", 0}
		}
		return limit{key, text, p.topAt, n}
	}
	last := limit{"default", cmp.Or(string(p.fallback), "none"), p.lastAt, 0}
	switch {
	case p.fallback == Deny || p.fallback == Ask:
		last.rank = int64(3 - strictness(p.fallback)) // deny is 1, ask 2
	case p.fallback == "" && p.level == "": // destructive tools ask
		last.rank = 3
	}
	return []limit{
		last,
		{"level", cmp.Or(p.name, "none"), p.at, int64(slices.Index([]Level{ReadOnly, WriteRestricted}, p.level) + 1)},
		number("ceilings.timeout", int64(c.Timeout), config.FormatDuration(c.Timeout)),
		number("ceilings.cpu", int64(c.CPU), c.CPU.String()),
		number("ceilings.memory", size(c.Memory), c.Memory),
		number("ceilings.disk", size(c.Disk), c.Disk),
		number("ceilings.processes", int64(c.Processes), strconv.Itoa(c.Processes)),
		number("ceilings.risk", int64(most), c.Risk),
	}
}

func diffPart(key string, before, after *part) []SettingChange {
	var out []SettingChange
	was := before.limits()
	for i, is := range after.limits() {
		if is.rank != was[i].rank && is.text != was[i].text {
			wider := is.rank == 0 || was[i].rank != 0 && is.rank > was[i].rank
			out = append(out, SettingChange{key + is.key, was[i].text, is.text, cmp.Or(is.at, was[i].at), wider})
		}
	}
	if before.access.own == nil && after.access.own == nil {
		return out // the level already says it all
	}
	then := before.access.lists()
	for i, now := range after.access.lists() {
		if from, to := then[i].String(), now.String(); from != to {
			out = append(out, SettingChange{key + "level." + now.key, from, to, cmp.Or(after.at, before.at), now.wider(&then[i])})
		}
	}
	return out
}

// unattended returns the flags that apply without a terminal: all of them if there is no policy.
func unattended(s *config.Settings) []string {
	if s.Policy.File == "" {
		return []string{"allow", "allow_drift", "approve", "approve_command", "config", "pii"}
	}
	return s.Policy.Unattended
}

// runSettings are the settings of run: that can let a script do more. They decide where it runs, what may start, which folders and programs
// it gets, and who answers questions. The values are ordered from the least strict to the strictest. A change that involves a value outside
// this list counts as wider unless it ends at the strictest, because nobody can compare two programs or two folders.
var runSettings = []struct {
	key, otherwise string
	order          []string
}{
	{"sandbox", "auto", []string{"process", "docker", "gvisor"}},
	{"trust", "own", []string{"own", "model", "exposed", "stranger"}},
	{"risk", "low", []string{"low", "medium", "high", "critical"}},
	{"network", "false", []string{"true", "false"}},
	{"restricted", "false", []string{"false", "true"}},
	{"approve", "auto", []string{"none"}},
	{"approve_command", "none", []string{"none"}},
	{"allow_drift", "false", []string{"true", "false"}},
	{"strict_output", "false", []string{"false", "true"}},
	{"elicit", "prompt", []string{"prompt", "decline"}},
	{"workspace", "workspace", nil},
	{"workspaces", "workspaces", nil},
	{"skills", "skills", nil},
	{"image", "the pinned one", []string{"the pinned one"}},
	{"tsc", "tsc", nil},
	{"pyright", "pyright", nil},
	{"packages.python", "none", []string{"none"}},
	{"packages.javascript", "none", []string{"none"}},
	{"packages.preload", "none", []string{"none"}},
}

// runSetting returns a setting of run: by its key.
func runSetting(s *config.Settings, key string) config.RunSetting {
	p, value := &s.Packages, ""
	switch key {
	case "packages.python":
		value = p.Python
	case "packages.javascript":
		value = p.JavaScript
	case "packages.preload":
		value = strings.Join(p.Preload, ", ")
	default:
		return s.Run[key]
	}
	if value == "" {
		return config.RunSetting{}
	}
	return config.RunSetting{Value: value, Line: p.Line}
}

// DiffRun compares the settings of run: that can let a script do more, and the flags that apply without a terminal. It leaves out limits
// that ceilings bound.
func DiffRun(before, after *config.Settings) []SettingChange {
	var out []SettingChange
	was, is := unattended(before), unattended(after)
	wider := slices.ContainsFunc(is, func(key string) bool { return !slices.Contains(was, key) })
	if wider || len(is) != len(was) {
		list := func(keys []string) string { return cmp.Or(strings.Join(keys, ", "), "none") }
		out = append(out, SettingChange{"policy.unattended", list(was), list(is), filepath.Base(after.Path), wider})
	}
	for _, s := range runSettings {
		was, is := runSetting(before, s.key), runSetting(after, s.key)
		from, to := cmp.Or(was.Value, s.otherwise), cmp.Or(is.Value, s.otherwise)
		if from == to {
			continue
		}
		at := position(after.Path, is.Line)
		if is.Line == 0 {
			at = position(before.Path, was.Line)
		}
		less, more := slices.Index(s.order, from), slices.Index(s.order, to)
		strictest := more >= 0 && more == len(s.order)-1
		out = append(out, SettingChange{"run." + s.key, from, to, at, !strictest && (less < 0 || more < less)})
	}
	return out
}

// hiding are the modes of personal data, from the one that shows most. Empty stands for the default of the command.
var hiding = []config.PIIMode{config.PIIOff, "", config.PIIOutput, config.PIIBridge}

// DiffPII compares what is done with personal data: for the project, and for each customer with settings of its own. What shows more of it
// counts as wider, and so does a change of the detector, because nobody can compare two of them.
func DiffPII(before, after *config.Settings) []SettingChange {
	var out []SettingChange
	add := func(key, from, to, none string, wider bool) {
		if from != to {
			out = append(out, SettingChange{key, cmp.Or(from, none), cmp.Or(to, none), filepath.Base(after.Path), wider})
		}
	}
	for _, id := range append([]string{""}, names(before.PII.Customers, after.PII.Customers)...) {
		key := "pii."
		if id != "" {
			key += "customers." + id + "."
		}
		was, is := before.PII.For(id), after.PII.For(id)
		mode := func(key string, from, to config.PIIMode) {
			add(key, string(from), string(to), "the command's", slices.Index(hiding, to) < slices.Index(hiding, from))
		}
		mode(key+"mode", was.Mode, is.Mode)
		for _, name := range names(was.Servers, is.Servers) {
			if was.Servers[name] != is.Servers[name] {
				mode(key+"servers."+name, cmp.Or(was.Servers[name], was.Mode), cmp.Or(is.Servers[name], is.Mode))
			}
		}
		for _, name := range names(was.Fields, is.Fields) {
			to := is.Fields[name]
			add(key+"fields."+name, was.Fields[name], to, "none", to == "" || to == string(config.PIIOff))
		}
	}
	detector := func(d *config.PIIDetector) string {
		if d == nil {
			return ""
		}
		return d.URL + ", " + cmp.Or(d.OnError, "closed") + ", " + cmp.Or(d.Language, "en")
	}
	add("pii.detector", detector(before.PII.Detector), detector(after.PII.Detector), "none", before.PII.Detector != nil)
	return out
}

// names returns the keys of two maps, sorted.
func names[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}
