// Package judge says what a script may do before a line of it runs: it reads the script and the files that it imports, and returns
// findings, an impact and a risk. It is a guard rail. It sees through constants, aliases and usual ways to hide code, and not
// through everything that a program can do; the wall is the sandbox.
//
// It works in two steps. [Facts.JavaScript] and [Facts.Python] collect what files do, in a process or sandbox that hostile text may
// end. [Facts.Judge] compares the facts with what is allowed.
package judge

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// Rule is a kind of finding.
type Rule struct {
	ID   string
	Risk risk.Risk
	Text string // what it finds
	// Restricted rules refuse a script that must be restricted.
	Restricted bool
}

var rules = []Rule{
	{"dynamic-code", risk.Critical, "code created at run time: eval, exec, Function, computed imports and member names", true},
	{"process", risk.Critical, "starting, ending or tracing processes", true},
	{"native-code", risk.Critical, "native code: ctypes, process.binding, dlopen, WebAssembly", true},
	{"obfuscation", risk.Critical, "hidden code: base64, character codes or escapes, or decoded and run", true},
	{"introspection", risk.Critical, "access to interpreter internals: __globals__, __subclasses__, frames", true},
	{"shell-danger", risk.Critical, "commands that destroy data or run downloaded code", true},
	{"restricted-import", risk.Critical, "a module that a restricted script may not import", true},
	{"hidden-text", risk.High, "invisible characters that reorder the displayed text", true},
	{"unsafe-load", risk.High, "formats that can create any object when loaded: pickle, marshal, yaml.load", true},
	{"file-delete", risk.High, "deleting files and folders that the script did not make", false},
	{"sql-destroy", risk.High, "SQL that destroys data: DROP, TRUNCATE, DELETE and UPDATE without WHERE", false},
	{"destructive-tool", risk.High, "a tool that its server marks as destructive", false},
	{"private-file", risk.High, "system files, or files with secrets", true},
	{"network", risk.Medium, "network connections", true},
	{"file-write", risk.Medium, "writing files", false},
	{"own-file-delete", risk.Medium, "deleting files and folders that the script made, or in /tmp", false},
	{"tool-write", risk.Medium, "a tool that may change data", false},
	{"tool-unknown", risk.Medium, "a tool whose name is computed", false},
	{"import", risk.Medium, "a module that the check does not know, or that is not on the list of allowed modules", false},
	{"encoded-data", risk.Medium, "a long literal that is not readable text", false},
	{"complexity", risk.Medium, "a function, or a file outside of its functions, with too many branches, or with branches nested too deeply", false},
	{"unreadable", risk.High, "a file that cannot be parsed", true},
	{"skill", risk.High, "a skill or project file that is not imported by its name, so it was not read", false},
	{"unjudged", risk.Medium, "no Python was available to read the script", true},
}

// ruleOf returns the rule with an id, or the zero value if there is none.
func ruleOf(id string) Rule {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		return Rule{}
	}
	return rules[i]
}

// Finding is a place in the program that raises its risk.
type Finding struct {
	Rule   string    `json:"rule"`
	Risk   risk.Risk `json:"risk"`
	File   string    `json:"file"`
	Line   int       `json:"line"`   // from 1; zero when it is not known
	Column int       `json:"column"` // from 1, in bytes; zero when it is not known
	Reason string    `json:"reason"`
}

// String returns the finding with its place.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, f.Rule, f.Reason)
}

// Impact is what a script may touch. Names are sorted; those that the script computes are not in it, or have a $ for a part.
type Impact struct {
	Reads    []string `json:"reads"`  // files
	Writes   []string `json:"writes"` // files
	Deletes  []string `json:"deletes"`
	Hosts    []string `json:"hosts"`
	Commands []string `json:"commands"`
	Tools    []string `json:"tools"` // their ids
	// ChangesData reports whether the script may change anything but its own variables.
	ChangesData bool `json:"changesData"`
	// Reversible is yes, no, or unknown: whether what it changes can be restored.
	Reversible string `json:"reversible"`
}

// Report is the judgement of a script.
type Report struct {
	Risk     risk.Risk `json:"risk"`
	Reason   string    `json:"reason"` // the gravest finding with its line, and its file if it is not the script; or that there is none
	Findings []Finding `json:"findings"`
	Impact   Impact    `json:"impact"`
	// Operations are what Impact sums up, with places.
	Operations []Operation `json:"-"`
	// Unreadable is why files could not be parsed. Such a script does not run.
	Unreadable []Problem `json:"-"`
	// Files are the files that were read: the script's, and skills/NAME/FILE.
	Files []string `json:"-"`

	script string // its name
}

// Tool is what is known of a tool.
type Tool struct {
	ID string
	// ReadOnly and Destructive are what its server says. Defaults of MCP do not count.
	ReadOnly, Destructive bool
}

// DefaultMaxBranches is the maximum number of branches in a function, or in a file outside its functions, that is not a finding.
const DefaultMaxBranches = 50

// Options configure a judgement. With the zero value every module that is known may be imported and no command is expected.
type Options struct {
	// Script is the name of the script among the files. Empty: the reason names no file.
	Script string
	// Tools finds a tool by its id, or by server/name as wrappers are imported; server/* stands for all of a server. Nil: none is known.
	Tools func(name string) (Tool, bool)
	// Imports are globs of modules. Others than these, harmless standard ones and files of the project are findings. Empty: only
	// modules are findings of which nothing is known.
	Imports []string
	// Installed reports whether a module, or the package that begins its name, is installed for scripts: its import says nothing. Nil: none
	// is.
	Installed func(module string) bool
	// MaxBranches replaces [DefaultMaxBranches]. Zero: the default.
	MaxBranches int
	// Commands may be run: they are no findings. Nil: none is expected.
	Commands *Commands
	// Restricted adds findings for imports of anything but safe modules.
	Restricted bool
	// Quick leaves out reading a Python script in which nothing looks dangerous, which takes a sandbox of its own. See [PlainPython].
	Quick bool
	// Python says that the script is in Python.
	Python bool
}

// Judge compares the facts with what is allowed.
func (f *Facts) Judge(opt *Options) *Report {
	r := &Report{Findings: []Finding{}, Unreadable: f.Unreadable, Files: f.Files, script: opt.Script}
	for _, p := range f.Unreadable {
		r.find("unreadable", Fact{File: p.File, Line: p.Line, Column: p.Column}, "cannot be parsed: "+p.Text)
	}
	for _, fact := range f.Facts {
		fact.Computed = f.computed(&fact)
		if fact.Rule != "import" || !f.own[topModule(fact.Value)] {
			r.fact(fact, opt)
		}
	}
	r.finish()
	return r
}

// Has reports whether a rule has found something.
func (r *Report) Has(rule string) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == rule })
}

// Add adds findings in files that the script may run too.
func (r *Report) Add(more []Finding) {
	r.Findings = append(r.Findings, more...)
	r.finish()
}

// topModule returns the first part of a module's name with dots.
func topModule(name string) string {
	top, _, _ := strings.Cut(name, ".")
	return top
}

// Unjudged returns the report of a script that could not be read because a tool for that is missing.
func Unjudged(name, reason string) *Report {
	r := &Report{Findings: []Finding{}}
	r.find("unjudged", Fact{File: name}, reason)
	for _, rule := range []string{"process", "network", "file-write", "file-delete", "file-read"} { // it may do anything
		r.Operations = append(r.Operations, Operation{Rule: rule, Computed: true, File: name})
	}
	r.Impact.ChangesData = true
	r.finish()
	r.Impact.Reversible = "unknown"
	return r
}

func (r *Report) find(rule string, at Fact, reason string) {
	r.Findings = append(r.Findings, Finding{Rule: rule, Risk: ruleOf(rule).Risk, File: at.File, Line: at.Line, Column: at.Column, Reason: reason})
}

// fact adds what a fact means.
func (r *Report) fact(f Fact, opt *Options) {
	reason := f.Text
	if f.Value != "" && f.Rule != "import" {
		reason += ": " + shorten(f.Value)
	}
	im := &r.Impact
	list := map[string]*[]string{
		"file-read": &im.Reads, "file-write": &im.Writes, "file-delete": &im.Deletes, "own-file-delete": &im.Deletes, "network": &im.Hosts, "process": &im.Commands,
	}[f.Rule]
	if list != nil && f.Value != "" {
		*list = append(*list, shorten(f.Value))
	}
	if list != nil && (f.Value != "" || f.Computed) {
		r.Operations = append(r.Operations, Operation{Rule: f.Rule, Target: f.Value, Computed: f.Computed, File: f.File, Line: f.Line})
	}
	switch f.Rule {
	case "file-read":
		return
	case "tool":
		r.tool(f, opt)
		return
	case "import":
		r.imports(f, opt)
		return
	case "process":
		if isImport := f.Value == "" && !f.Computed; opt.Commands != nil && (isImport || !f.Computed && opt.Commands.Refuse(f.Value) == "") {
			return
		}
	case "complexity":
		if f.Branches > 0 && f.Branches <= cmp.Or(opt.MaxBranches, DefaultMaxBranches) {
			return
		}
	}
	r.find(f.Rule, f, reason)
}

func shorten(text string) string { return ident.Shorten(text, 121) }

func (r *Report) tool(f Fact, opt *Options) {
	if f.Value == "" || strings.Contains(f.Value, "$") || strings.HasSuffix(f.Value, "/"+unknownMember) {
		r.find("tool-unknown", f, f.Text+" by a computed name")
		return
	}
	known := Tool{ID: f.Value}
	if opt.Tools != nil {
		if t, ok := opt.Tools(f.Value); ok {
			known = t
		}
	}
	r.Impact.Tools = append(r.Impact.Tools, known.ID)
	switch {
	case known.Destructive:
		r.find("destructive-tool", f, known.ID+" is marked as destructive by its server")
	case !known.ReadOnly:
		r.find("tool-write", f, known.ID+" may change data")
	}
}

func (r *Report) imports(f Fact, opt *Options) {
	name := f.Value
	top := topModule(name)
	own := strings.HasPrefix(name, ".") || top == "servers" || top == "skills" || top == "mcprun" || strings.HasPrefix(name, "/")
	if own {
		return
	}
	safe, known := safeJavaScript, knownJavaScript
	if opt.Python {
		safe, known = safePython, knownPython
	}
	switch {
	case safe[name] || safe[top] || matches(opt.Imports, name):
	case opt.Restricted:
		r.find("restricted-import", f, fmt.Sprintf("a restricted script may not import %s", name))
	case len(opt.Imports) > 0:
		r.find("import", f, fmt.Sprintf("%s is not on the list of allowed modules", name))
	case opt.Installed != nil && (opt.Installed(name) || opt.Installed(packageOf(name)) || opt.Installed(top)):
	case !known[name] && !known[top] && modules[name] == "" && modules[top] == "":
		r.find("import", f, fmt.Sprintf("it is not known what the module %s does", name))
	}
}

// packageOf returns the npm package of a module: @scope/name of @scope/name/file.
func packageOf(name string) string {
	parts := strings.SplitN(name, "/", 3)
	if strings.HasPrefix(name, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

// Modules that can neither change nor reach anything outside of the script, besides its files.
var (
	safePython     = set("__future__ abc array base64 bisect calendar collections colorsys copy csv dataclasses datetime decimal difflib enum fractions functools hashlib heapq hmac html itertools json math numbers operator pathlib pprint random re secrets statistics string struct textwrap time types typing unicodedata urllib.parse uuid zoneinfo asyncio concurrent contextlib io glob fnmatch binascii zlib gzip locale numpy pandas os sys ast argparse codecs email logging mimetypes platform tempfile threading traceback xml zipfile")
	safeJavaScript = set("assert buffer crypto events fs path querystring stream string_decoder timers timers/promises url util zlib readline stream/promises os perf_hooks util/types path/posix")
)

// Further modules whose functions the analysis knows, so that their import says nothing. Of all others, nothing is known.
var (
	knownPython     = set("bz2 cmath configparser errno getopt graphlib importlib inspect ipaddress keyword linecache lzma multiprocessing pickle marshal queue reprlib resource shelve shlex shutil signal stat tarfile timeit tokenize tomllib types typing_extensions urllib warnings weakref yaml jsonpickle joblib")
	knownJavaScript = set("assert/strict async_hooks console constants diagnostics_channel module path/win32 process punycode rimraf serialize-javascript stream/consumers stream/web sys tty v8 worker_threads")
)

func matches(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { ok, _ := path.Match(g, name); return ok || g == name })
}

// finish computes what follows from the findings.
func (r *Report) finish() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Risk, a.Risk), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	im := &r.Impact
	for _, list := range []*[]string{&im.Reads, &im.Writes, &im.Deletes, &im.Hosts, &im.Commands, &im.Tools} {
		slices.Sort(*list)
		*list = append([]string{}, slices.Compact(*list)...)
	}
	r.Risk, r.Reason = risk.Low, "nothing found"
	im.Reversible = "yes"
	for _, f := range r.Findings {
		r.Risk = max(r.Risk, f.Risk)
		switch f.Rule {
		case "complexity", "encoded-data", "hidden-text", "private-file", "restricted-import":
			continue
		case "file-delete", "sql-destroy", "destructive-tool", "shell-danger":
			im.Reversible = "no"
		case "file-write", "own-file-delete":
		default:
			if im.Reversible == "yes" {
				im.Reversible = "unknown"
			}
		}
		im.ChangesData = true
	}
	if len(r.Findings) > 0 {
		f := r.Findings[0]
		place := []string{f.Rule}
		if r.script != "" && f.File != r.script {
			place = append(place, shorten(f.File))
		}
		if f.Line > 0 {
			place = append(place, fmt.Sprintf("line %d", f.Line))
		}
		if r.Reason = f.Reason; len(place) > 1 {
			r.Reason += " (" + strings.Join(place, ", ") + ")"
		}
	}
}

// unread are the rules that find code of which it is not known what it does.
var unread = []string{"dynamic-code", "native-code", "obfuscation", "introspection", "unsafe-load", "unreadable", "skill", "unjudged", "import"}

// Unread returns why a script may do more than its operations; empty: it was read whole.
func (r *Report) Unread() string {
	for _, f := range r.Findings {
		if slices.Contains(unread, f.Rule) {
			return f.String()
		}
	}
	return ""
}

// Refused returns the findings for which a restricted script must not run.
func (r *Report) Refused() []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return !ruleOf(f.Rule).Restricted })
}
