package sandboxtest

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Column is a backend as the table in docs/internals/attacks.md shows it.
type Column struct {
	// Name is what Options.Column selects; Title is the table's.
	Name, Title string
	// Languages are the languages in which the cases run there. Nil: both.
	Languages []sandbox.Language
	// Cases are the names of the cases that run there for every change; the whole suite was run by hand. Nil: all.
	Cases []string
	// NoMeans lists the cases whose programs have no means for an attempt there.
	NoMeans []NoMeans
	// Exceptions lists the cases in which the backend does not hold.
	Exceptions []Exception
}

// NoMeans are cases whose programs report that they have no means for an attempt. Elsewhere such a report fails the test, because the
// program may look in the wrong place.
type NoMeans struct {
	Cases  []string // names, or prefixes that end before a ':'
	Reason string
}

// Exception is a case in which a backend does not hold. It still runs, and must fail.
type Exception struct {
	Case string
	// Finds are prefixes of what the program reports after the word LEAK. Problems are prefixes of other problems. Anything else fails the
	// test.
	Finds, Problems []string
	// Reason tells readers whether the exception matters.
	Reason string
	// Languages are the languages of the exception; nil: all.
	Languages []sandbox.Language
	// Varies reports whether the case holds on some machines.
	Varies bool
}

// Columns returns all backends.
func Columns() []Column {
	typescript, python := []sandbox.Language{sandbox.LangTypeScript}, []sandbox.Language{sandbox.LangPython}
	return []Column{
		{Name: "embedded", Title: "embedded, Linux", Languages: typescript, NoMeans: embeddedNoMeans()},
		{Name: "embedded bare", Title: "embedded, elsewhere", Languages: typescript, NoMeans: embeddedNoMeans(), Exceptions: []Exception{{Case: "memory in a large tmp",
			Finds: []string{"600 MiB in /tmp"}, Problems: []string{"exit {Code:0 Killed: Hit:[] ", "the limits hit are []"},
			Reason: "`/tmp` is a folder on the disk there, which `--tmp` bounds, and no memory"}}},
		{Name: "process", Title: "process"},
		{Name: "process without groups", Title: "process, no control groups", Cases: withoutGroupsCases(), Exceptions: withoutGroupsExceptions()},
		{Name: "docker", Title: "docker"},
		{Name: "docker rootless", Title: "docker, rootless", Cases: rootlessCases(), Exceptions: rootlessExceptions()},
		{Name: "podman rootless", Title: "docker, rootless Podman", Cases: rootlessCases(), Exceptions: withoutGroupsExceptions()},
		{Name: "docker remote", Title: "docker, remote engine", Exceptions: []Exception{{Case: "very many watched descriptors", Finds: []string{"64,000"},
			Reason: "nobody looks at its descriptors there: what the engine's machine lets all runs together watch with epoll can be used up by a few of them, within their memory limits"}}},
		{Name: "gvisor", Title: "gvisor", Exceptions: gvisorExceptions()},
		{Name: "gvisor of 2022", Title: "gvisor, Debian's of 2022", Languages: python, Exceptions: gvisorExceptions()},
	}
}

// embeddedNoMeans returns the cases that need descriptors or signals, which the engine lacks.
func embeddedNoMeans() []NoMeans {
	return []NoMeans{
		{Cases: []string{"bridge:"}, Reason: "its engine gives a script no descriptor of the bridge; such frames are sent to the host itself in the tests of `runner/bridge`"},
		{Cases: []string{"forged: success, then failure", "forged: success, then a crash", "forged: a kill", "forged: no word", "forged: an abort"},
			Reason: "its engine gives a script no descriptor of the bridge, no signals, and no way to end without saying so"},
		{Cases: []string{"a file that is in no folder"}, Reason: "its engine opens no file for longer than one reading or writing of it"},
	}
}

// rootlessCases returns the cases in which a rootless engine differs, or once did.
func rootlessCases() []string {
	return []string{"privileges", "set-user-ID files", "environment", "the machine name and addresses", "names", "priorities", "proc and sys",
		"no other place is writable", "memory limit", "shared memory", "memory in a large tmp", "very many watched descriptors", "a thread bomb",
		"memory of the kernel", "processor time", "one large file", "workspace persists"}
}

// rootlessExceptions returns the exceptions of a rootless Docker Engine, where only one user may write to the workspace.
func rootlessExceptions() []Exception {
	const own = "the guest's user id is 0 there, but that is only the user who runs mcprun: it has no capabilities, and its root-owned files belong to that user"
	return append(withoutGroupsExceptions(), []Exception{
		{Case: "privileges", Reason: own, Finds: []string{"root", "Uid", "Gid", "Groups"}},
		{Case: "set-user-ID files", Reason: own, Finds: []string{"root's file", "group of root"}},
		{Case: "the machine name and addresses", Reason: own, Finds: []string{"user"}, Languages: []sandbox.Language{sandbox.LangTypeScript}},
	}...)
}

// withoutGroupsCases returns the cases in which polling replaces control groups.
func withoutGroupsCases() []string {
	return []string{"memory limit", "memory of children", "shared memory", "memory in tmp", "memory in a large tmp", "memory of the kernel",
		"very many watched descriptors", "processor time", "processor time of children", "processes are bounded",
		"fork bomb ends with the run", "a thread bomb"}
}

// withoutGroupsExceptions returns the exceptions on machines where an ordinary user cannot create a control group.
func withoutGroupsExceptions() []Exception {
	return []Exception{{Case: "memory of the kernel", Varies: true, Finds: []string{"data that nobody reads"},
		Reason: "data that waits in pipes and sockets is counted by nothing but a control group, and there may be none: the kernel's bounds for one user are all that holds it"}}
}

// gvisorExceptions returns the calls that gVisor's own kernel answers. They work there, and change nothing on the host.
func gvisorExceptions() []Exception {
	const own = "gVisor's own kernel answers: priorities and memory scores are its numbers, and the host's processes keep theirs"
	return []Exception{
		{Case: "priorities", Reason: own, Finds: []string{"nice", "priority", "spared by the killer"}},
		{Case: "signals to a neighbour", Reason: own, Finds: []string{"priority"}, Languages: []sandbox.Language{sandbox.LangPython}},
		{Case: "proc and sys", Reason: own, Finds: []string{"write /proc/self/oom_score_adj", "write /proc/1/oom_score_adj"}},
		{Case: "namespaces", Varies: true, Reason: "user namespaces are gVisor's own: made in its kernel, they give nothing in the host's", Finds: []string{"clone", "unshare"}},
		{Case: "privileges", Varies: true, Finds: []string{"Groups"},
			Reason: "a guest that root starts is in the workspace's group, so that gVisor lets it write there; it cannot give a file to this group"},
		{Case: "the tree is read-only", Varies: true, Reason: "in a guest that was started before its run a truncation is answered with success, and not done", Finds: []string{"truncate"}},
		{Case: "skills are read-only", Varies: true, Reason: "in a guest that was started before its run a truncation is answered with success, and not done", Finds: []string{"truncate"}},
		{Case: "very many watched descriptors", Finds: []string{"64,000"}, Reason: "gVisor's own kernel watches them, and the host's has no part in it"},
		{Case: "programs in tmp", Varies: true, Finds: []string{"library"}, Reason: "older releases load libraries from a folder that is to hold none"},
	}
}

// expects reports whether the exception lists a problem.
func (e *Exception) expects(problem string) bool {
	begins := func(text string, beginnings []string) bool {
		return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(text, b) })
	}
	if e == nil {
		return false
	}
	if leak, ok := strings.CutPrefix(problem, worked+"LEAK "); ok {
		return begins(leak, e.Finds)
	}
	return begins(problem, e.Problems)
}

// Named finds a column.
func Named(name string) (Column, bool) {
	for _, c := range Columns() {
		if c.Name == name {
			return c, true
		}
	}
	return Column{}, false
}

// Tests returns the names, as the go command has them, of the tests that [Run] runs for every change, such as "python/memory_limit".
func (c Column) Tests() []string {
	var list []string
	for _, tc := range cases() {
		for _, lang := range c.languages(tc) {
			if c.tries(tc.name) {
				list = append(list, string(lang)+"/"+strings.ReplaceAll(tc.name, " ", "_"))
			}
		}
	}
	return list
}

// tries reports whether a case runs there for every change.
func (c Column) tries(name string) bool { return c.Cases == nil || slices.Contains(c.Cases, name) }

// languages returns the languages in which a case runs there.
func (c Column) languages(tc testCase) []sandbox.Language {
	langs := c.Languages
	if langs == nil {
		langs = []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython}
	}
	return slices.DeleteFunc(slices.Clone(langs), func(l sandbox.Language) bool { _, ok := tc.code[l]; return !ok })
}

// has reports whether it lists a case.
func (n NoMeans) has(name string) bool {
	return slices.ContainsFunc(n.Cases, func(c string) bool { return name == c || strings.HasSuffix(c, ":") && strings.HasPrefix(name, c) })
}

// means returns the NoMeans entry of a case, or nil.
func (c Column) means(name string) *NoMeans {
	for i, n := range c.NoMeans {
		if n.has(name) {
			return &c.NoMeans[i]
		}
	}
	return nil
}

// exception returns the exception of a case, or nil.
func (c Column) exception(name string, lang sandbox.Language) *Exception {
	if n := c.means(name); n != nil {
		return &Exception{Case: name, Reason: n.Reason, Problems: []string{triedNothing}}
	}
	for i, e := range c.Exceptions {
		if e.Case == name && (e.Languages == nil || slices.Contains(e.Languages, lang)) {
			return &c.Exceptions[i]
		}
	}
	return nil
}
