package hint

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/templates"
)

var (
	// undefinedName matches the messages of QuickJS, V8 and Python for an undefined name.
	undefinedName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:name )?'?([A-Za-z_$][A-Za-z0-9_$]*)'? is not defined`)
	})
	// notCallable matches V8's message for a call of something that is not a function, firstPlace the first place in a stack, and callee a
	// name at the beginning of a text.
	notCallable = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:[A-Za-z0-9_$]+\.)*([A-Za-z_$][A-Za-z0-9_$]*) is not a function$`)
	})
	firstPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^    at (?:.* \()?([^()\n]+):(\d+):(\d+)\)?$`) })
	callee     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*`) })
	// libraryExport matches a declaration in the library, libraryList a list of exported names.
	libraryExport = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^export (?:const|function) ([A-Za-z_$][A-Za-z0-9_$]*)`)
	})
	libraryList = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^export \{([^}]*)\}`) })
)

// foreignNames returns the names by which other hosts offer tools to scripts.
func foreignNames() []string {
	return []string{"codemode", "mcp", "mcp_client", "mcpclient", "sdk", "servers", "tools"}
}

const (
	minNear = 5 // the length of the shortest name for which a similar one is suggested
	maxNear = 3 // how many names are suggested
)

// name returns the hint for a name of a tool, a server or the library that the script used without an import.
func (f *Failure) name() string {
	name, what := f.unknownName()
	if name == "" || len(name) > maxModuleName {
		return ""
	}
	known := f.importable()
	if what == noFunction {
		if len(known[name]) > 0 {
			return "" // the name exists, so something else is wrong
		}
		return nearest(known, name, what)
	}
	if slices.Contains(foreignNames(), strings.ToLower(name)) && len(known[name]) == 0 && len(f.servers()) > 0 {
		if ways := known[f.servers()[0].Dir]; len(ways) > 0 { // empty if the tree has been deleted
			return fmt.Sprintf("%s is not defined; tools are imported from their server, as in: %s", name, ways[0])
		}
		return ""
	}
	tries := []string{name, ident.Camel(name)}
	if f.Language == sandbox.LangPython {
		tries[1] = ident.Snake(name)
	}
	for _, try := range tries {
		if ways := known[try]; len(ways) > 0 {
			return fmt.Sprintf("%s is not defined; import it: %s", name, strings.Join(ways[:min(len(ways), maxNear)], " or "))
		}
	}
	return nearest(known, name, what)
}

// toolID returns the hint for a tool's id that the script used as the name of a function.
func (f *Failure) toolID() string {
	name, _ := f.unknownName()
	if f.Catalog == nil || !strings.Contains(name, "__") {
		return ""
	}
	server, tool, ok := f.Catalog.Lookup(name)
	if !ok {
		return ""
	}
	function, call := ident.Camel(tool.Name), fmt.Sprintf("callMCPTool(%q, {…})", name)
	if f.Language == sandbox.LangPython {
		function, call = ident.Snake(tool.Name), fmt.Sprintf("call_mcp_tool(%q, {…})", name)
	}
	for _, way := range f.importable()[function] {
		if strings.Contains(way, "servers."+server.Dir+" ") || strings.HasSuffix(way, "/"+server.Dir+`"`) {
			return fmt.Sprintf("%s is a tool's id; import its function: %s", name, way)
		}
	}
	return fmt.Sprintf("%s is a tool's id; call it by %s", name, call)
}

// Kinds of errors about a name.
const (
	notDefined = "is not defined"
	noFunction = "is not a function"
)

// unknownName returns the name that the error is about, and which kind of error it is.
func (f *Failure) unknownName() (name, what string) {
	switch e := f.Err; {
	case e.Name == "ReferenceError", e.Name == "NameError":
		if found := undefinedName().FindStringSubmatch(e.Message); found != nil {
			return found[1], notDefined
		}
	case e.Name != "TypeError":
	case e.Message == "not a function": // QuickJS reports only the place
		if at := firstPlace().FindStringSubmatch(e.Stack); at != nil && at[1] == f.Name {
			return calledAt(f.Code, at[2], at[3]), noFunction
		}
	default:
		if found := notCallable().FindStringSubmatch(e.Message); found != nil {
			return found[1], noFunction
		}
	}
	return "", ""
}

// calledAt returns the name at a line and column, both from 1, or "" if there is none.
func calledAt(code, line, column string) string {
	text := lineAt(code, line)
	at, err := strconv.Atoi(column)
	if err != nil || at < 1 || at > len(text) {
		return ""
	}
	return callee().FindString(text[at-1:])
}

// lineAt returns a line of the code, counted from 1, or "" if there is none.
func lineAt(code, line string) string {
	n, err := strconv.Atoi(line)
	lines := strings.Split(code, "\n")
	if err != nil || n < 1 || n > len(lines) {
		return ""
	}
	return lines[n-1]
}

// nearest returns the hint for a name that does not exist but resembles one that does.
func nearest(known map[string][]string, name, what string) string {
	if len(name) < minNear {
		return ""
	}
	names := make([]string, 0, len(known))
	for each := range known {
		names = append(names, each)
	}
	slices.Sort(names)
	near := slices.DeleteFunc(ident.Nearest(name, names, maxNear), func(each string) bool {
		return max(len(each), len(name))-min(len(each), len(name)) > 2 // the name is only a part of the other, as document is of getDocument
	})
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s; did you mean %s? %s", name, what, near[0], known[near[0]][0])
}

// servers returns the servers of the tree.
func (f *Failure) servers() []catalog.Server {
	if f.Catalog == nil {
		return nil
	}
	return f.Catalog.Servers
}

// importable returns the import statements for each name of the library and the tree.
func (f *Failure) importable() map[string][]string {
	python := f.Language == sandbox.LangPython
	known := map[string][]string{}
	add := func(name, way string) { known[name] = append(known[name], way) }
	for _, name := range libraryNames() {
		if python {
			if name[0] >= 'a' { // classes have the same name
				name = ident.Snake(name)
			}
			add(name, "from mcprun import "+name) // correct in any file, because it also works next to the name itself
			continue
		}
		add(name, fmt.Sprintf(`import { %s } from "mcprun"`, name))
	}
	root, err := os.OpenRoot(f.Tree)
	if err != nil {
		return known
	}
	defer root.Close()
	for _, server := range f.servers() {
		if python {
			add(server.Dir, "import servers."+server.Dir+" as "+server.Dir)
		} else {
			add(server.Dir, fmt.Sprintf(`import * as %s from "./servers/%s"`, server.Dir, server.Dir))
		}
		for _, name := range wrappers(root, server.Dir, python) {
			if python {
				add(name, fmt.Sprintf("from servers.%s import %s", server.Dir, name))
			} else {
				add(name, fmt.Sprintf(`import { %s } from "./servers/%s"`, name, server.Dir))
			}
		}
	}
	return known
}

// wrappers returns the names of a server's tools in a language.
func wrappers(root *os.Root, dir string, python bool) []string {
	if python {
		return pythonModules(root, dir)
	}
	folder, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer folder.Close()
	entries, err := folder.ReadDir(maxBeside)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), ".ts"); ok && name != "index" && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names
}

// libraryNames returns what TypeScript can import from "mcprun", except for types.
func libraryNames() []string {
	text := templates.Text("ts/mcprun.d.ts")
	var names []string
	for _, m := range libraryExport().FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	for _, m := range libraryList().FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// maxModuleName bounds, in bytes, the names that are compared with those of files.
const maxModuleName = 300

// noModule matches Python's message for a module that it cannot find.
var noModule = regexp.MustCompile(`^No module named '([A-Za-z_][A-Za-z0-9_.]*)'`)

// maxBeside bounds how many entries of a folder are read.
const maxBeside = 10_000

// module returns the hint for a Python module that was not found and resembles a file beside the script or in one of its packages. The
// guest cannot give this hint, because the sandbox has only the files that are imported.
func (f *Failure) module() string {
	message := f.Err.Message
	if f.Language != sandbox.LangPython || f.Err.Name != "ModuleNotFoundError" || f.Dir == "" || strings.Contains(message, "; did you mean ") {
		return "" // the guest has already named tools of the tree
	}
	found := noModule.FindStringSubmatch(message)
	if found == nil || len(found[1]) > maxModuleName {
		return ""
	}
	parts := strings.Split(found[1], ".")
	root, err := safeopen.Root(f.Dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	for i, part := range parts {
		folder := filepath.Join(parts[:i]...)
		names := pythonModules(root, filepath.Join(".", folder))
		near := ident.Nearest(part, []string{"servers", "skills", "mcprun"}, 1)
		if i == 0 && len(near) > 0 && near[0] != part {
			return fmt.Sprintf("there is no module %q; the modules of mcprun are servers, skills and mcprun", found[1])
		}
		near = slices.DeleteFunc(ident.Nearest(part, names, maxNear), func(each string) bool { return len(each) > len(part)+2 })
		if len(near) > 0 && near[0] != part {
			return fmt.Sprintf("there is no module %q; beside the script there is %q", found[1], filepath.ToSlash(filepath.Join(folder, near[0])))
		}
	}
	return ""
}

// pythonModules returns the names of the modules that can be imported from a folder.
func pythonModules(root *os.Root, folder string) []string {
	entries, err := safeopen.ReadDir(root, folder, maxBeside)
	if err != nil {
		return nil
	}
	var names []string
	for _, entry := range entries {
		name, file := strings.CutSuffix(entry.Name(), ".py")
		if file != entry.IsDir() && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names
}
