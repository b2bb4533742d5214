package sandboxtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Column is a backend as the table in docs/security.md shows it.
type Column struct {
	// Name is what Options.Column selects; Title is the table's.
	Name, Title string
	// Exceptions are the cases that do not hold.
	Exceptions []Exception
}

// Exception is a case in which a backend does not hold. It is run all the same, and must fail.
type Exception struct {
	Case string
	// Finds are beginnings of what the program finds, behind the word LEAK; whatever else is wrong fails the test. Nil:
	// the case may fail in any way.
	Finds []string
	// Reason is for somebody who has to decide whether it matters.
	Reason string
	// Languages are those it is about; nil: all.
	Languages []sandbox.Language
	// Varies says that the case may hold on some machines.
	Varies bool
}

// Columns are all backends.
func Columns() []Column {
	return []Column{
		{Name: "embedded", Title: "embedded, Linux"},
		{Name: "embedded bare", Title: "embedded, elsewhere", Exceptions: []Exception{{Case: "memory in much tmp",
			Reason: "`/tmp` is a folder on the disk there, which `--tmp` bounds, and no memory"}}},
		{Name: "process", Title: "process"},
		{Name: "docker", Title: "docker"},
		{Name: "docker rootless", Title: "docker, rootless", Exceptions: rootlessExceptions()},
		{Name: "podman rootless", Title: "docker, rootless Podman"},
		{Name: "docker remote", Title: "docker, remote engine", Exceptions: []Exception{{Case: "very many watched descriptors", Finds: []string{"64,000"},
			Reason: "nobody looks at its descriptors there: what the engine's machine lets all runs together watch with epoll can be used up by some of them, as far as their memory goes"}}},
		{Name: "gvisor", Title: "gvisor", Exceptions: gvisorExceptions()},
		{Name: "gvisor of 2022", Title: "gvisor, Debian's of 2022", Exceptions: gvisorExceptions()},
	}
}

// rootlessExceptions are what comes of a rootless Docker Engine's having one user only that may write to the workspace.
func rootlessExceptions() []Exception {
	const own = "the guest has the number of root there, which is the user who runs mcprun, and nobody more: without capabilities, and a file of root is one of that user's"
	return []Exception{
		{Case: "privileges", Reason: own, Finds: []string{"root", "Uid", "Gid", "Groups"}},
		{Case: "set-user-ID files", Reason: own, Finds: []string{"root's file", "group of root"}},
		{Case: "the machine name and addresses", Reason: own, Finds: []string{"user"}, Languages: []sandbox.Language{sandbox.LangTypeScript}},
	}
}

// gvisorExceptions are calls that gVisor's own kernel answers: they work there, and change nothing of the host's.
func gvisorExceptions() []Exception {
	const own = "gVisor's own kernel answers: priorities and memory scores are its numbers, and the host's processes keep theirs"
	return []Exception{
		{Case: "priorities", Reason: own, Finds: []string{"nice", "priority", "spared by the killer"}},
		{Case: "proc and sys", Reason: own, Finds: []string{"write /proc/self/oom_score_adj", "write /proc/1/oom_score_adj"}},
		{Case: "namespaces", Varies: true, Reason: "user namespaces are gVisor's own: made in its kernel, they give nothing in the host's", Finds: []string{"clone", "unshare"}},
		{Case: "privileges", Varies: true, Finds: []string{"Groups"},
			Reason: "a guest that root starts is in the workspace's group, by which gVisor sees that it may write there; it can give this group no file"},
		{Case: "the tree is read-only", Varies: true, Reason: "in a guest that was started before its run a truncation is answered with success, and not done", Finds: []string{"truncate"}},
		{Case: "skills are read-only", Varies: true, Reason: "in a guest that was started before its run a truncation is answered with success, and not done", Finds: []string{"truncate"}},
		{Case: "very many watched descriptors", Finds: []string{"64,000"}, Reason: "gVisor's own kernel watches them, and the host's has no part in it"},
		{Case: "programs in tmp", Varies: true, Finds: []string{"library"}, Reason: "older releases load libraries from a folder that is to hold none"},
	}
}

// expects tells whether a problem is the one that the exception is about.
func (e *Exception) expects(problem string) bool {
	if e == nil {
		return false
	}
	_, leak, ok := strings.Cut(problem, "LEAK ")
	return e.Finds == nil || ok && slices.ContainsFunc(e.Finds, func(f string) bool { return strings.HasPrefix(leak, f) })
}

// column finds one by name; exceptions from unknown cases fail the test.
func column(t *testing.T, name string) Column {
	t.Helper()
	all := cases()
	for _, c := range Columns() {
		if c.Name != name {
			continue
		}
		for _, e := range c.Exceptions {
			if !slices.ContainsFunc(all, func(c testCase) bool { return c.name == e.Case }) {
				t.Errorf("the exception %q of %s is no case", e.Case, name)
			}
		}
		return c
	}
	t.Fatalf("there is no column %q", name)
	return Column{}
}

// exception finds what is expected to fail; nil: nothing.
func (c Column) exception(name string, lang sandbox.Language) *Exception {
	for i, e := range c.Exceptions {
		if e.Case == name && (e.Languages == nil || slices.Contains(e.Languages, lang)) {
			return &c.Exceptions[i]
		}
	}
	return nil
}
