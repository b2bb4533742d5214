package script

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// alternatives returns the end of a message about a missing name: similar names, and then the words in all followed by all
// names that exist. If all is empty, the list is left out. The result begins with "; " unless it is empty.
func alternatives(name string, names []string, all string) string {
	var parts []string
	if near := ident.Nearest(name, names, 3); len(near) > 0 {
		parts = append(parts, "did you mean "+quoted(near)+"?")
	}
	if all != "" && len(names) > 0 {
		parts = append(parts, all+": "+ident.List(names))
	}
	if parts == nil {
		return ""
	}
	return "; " + strings.Join(parts, " ")
}

// quoted quotes names and joins them as alternatives.
func quoted(names []string) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = strconv.Quote(n)
	}
	return strings.Join(texts, " or ")
}

// noTool returns the error for an import of a server or tool that is not in the tree.
func (f *files) noTool(dir, file string) error {
	for _, d := range []string{dir, ident.Snake(dir)} {
		names := f.tools(d)
		if d == "." || len(names) == 0 {
			continue
		}
		tool := trimExtension(file)
		return fmt.Errorf("server %q has no tool %q%s", d, tool, alternatives(tool, names, "it has"))
	}
	names := f.servers()
	if len(names) == 0 {
		return errors.New("the generated tree is empty; make it with: mcpgen sync")
	}
	return fmt.Errorf("there is no server %q%s", dir, alternatives(dir, names, "there are"))
}

// noSkill returns the error for an import of a skill, or a module of one, that cannot be imported.
func (f *files) noSkill(name, rest string) error {
	var all []string
	for _, e := range f.entries(skillsNamespace, ".") {
		if e = trimExtension(e); !strings.Contains(e, ".") { // an import never means .gitignore or README.md
			all = append(all, e)
		}
	}
	for _, n := range spellings(name) {
		switch {
		case !slices.Contains(all, n):
		case rest != "":
			return fmt.Errorf("skill %q has no module %q", n, rest)
		default:
			return fmt.Errorf("skill %q has no script that can be imported", n)
		}
	}
	if len(all) == 0 {
		return errNoSkills
	}
	return fmt.Errorf("there is no skill %q%s", name, alternatives(name, all, "there are"))
}

var errNoSkills = errors.New("there are no saved skills")

// noFile returns the error for an import of a file that does not exist beside the script. The path p is below the script's
// folder.
func (f *files) noFile(specifier, p string) error {
	names := moduleNames(f.entries(scriptNamespace, path.Dir(p)))
	return fmt.Errorf("%q does not exist next to the script or below it%s", specifier, alternatives(trimExtension(path.Base(p)), names, ""))
}

var (
	// noExport matches the bundler's error for a name that a module does not export.
	noExport = pattern(`^No matching export in "([^"]*)" for import "([^"]*)"$`)
	// undefinedImport matches the bundler's warning for such a name used as a member of a namespace.
	undefinedImport = pattern(`^Import "([^"]*)" will always be undefined because there is no matching export in "([^"]*)"$`)
	// declared matches an exported declaration, exportList a list of exported names.
	declared   = pattern(`(?m)^\s*export\s+(?:async\s+)?(?:function\*?|const|let|var|class|enum|abstract\s+class)\s+([\w$]+)`)
	exportList = pattern(`(?m)^\s*export\s*\{([^}]*)\}`)
)

// topLevelReturn explains what to write in a module instead of a return outside of a function.
const topLevelReturn = "return stands outside of a function, which a module cannot have; to leave a value behind, write: export const result = VALUE; " +
	"to end early, put the code into a function, or call process.exit()"

// explain replaces the bundler's messages about a missing export, a missing module and a return outside of a function. The new
// messages say what to write instead.
func (f *files) explain(messages []api.Message) []api.Message {
	for i, m := range messages {
		if m.Location != nil {
			m.Location.LineText = wordsBack.Replace(m.Location.LineText)
		}
		if found := noExport().FindStringSubmatch(m.Text); found != nil {
			messages[i].Text, messages[i].Notes = f.noSuchExport(found[1], found[2]), nil
		}
		if quoted, ok := strings.CutPrefix(m.Text, "Could not resolve "); ok {
			if text := missingInPackage(m.Location, quoted); text != "" {
				messages[i].Text, messages[i].Notes = text, nil
			}
			for name, err := range f.failures {
				if strings.HasSuffix(name, " "+quoted) {
					messages[i].Text, messages[i].Notes = err.Error(), nil
				}
			}
		}
		if strings.HasPrefix(m.Text, "Top-level return ") {
			messages[i].Text, messages[i].Notes = topLevelReturn, nil
		}
	}
	return messages
}

// calledButMissing returns errors for calls of functions that a namespace of the tree does not have: import * as drive,
// drive.getDocumnt(). A script may use such a name in other ways to ask whether it exists.
func (f *files) calledButMissing(warnings []api.Message) []api.Message {
	var found []api.Message
	for _, m := range warnings {
		parts := undefinedImport().FindStringSubmatch(m.Text)
		if parts == nil || m.Location == nil || !strings.HasPrefix(parts[2], treeNamespace+":") {
			continue
		}
		end := m.Location.Column + m.Location.Length
		if end > len(m.Location.LineText) || !strings.HasPrefix(strings.TrimLeft(m.Location.LineText[end:], " \t"), "(") {
			continue
		}
		m.Text, m.Notes = f.noSuchExport(parts[2], parts[1]), nil
		if found = append(found, m); len(found) == maxProblems {
			break
		}
	}
	return found
}

func (f *files) noSuchExport(module, name string) string {
	module, _, _ = strings.Cut(module, "?")
	if file, ok := strings.CutPrefix(module, modulesFolder); ok {
		write := ""
		if name == "default" {
			write = fmt.Sprintf("; write: import { NAME } from %[1]q, or: import * as NAME from %[1]q", packageName(file))
		}
		return fmt.Sprintf("the package %s exports no %q%s", packageName(file), name, write)
	}
	namespace, p, _ := strings.Cut(module, ":")
	text, err := f.text(namespace, p)
	if err != nil {
		text = ""
	}
	names := exportsOf(text)
	if strings.HasPrefix(text, generated) {
		for line := range strings.Lines(text) {
			if name := exportedBy(line); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if name == "default" && namespace == treeNamespace {
		return fmt.Sprintf("%s has no default export; write: import { %s } from …, or: import * as NAME from …", importedName(namespace, p), strings.Join(names[:min(len(names), 1)], ""))
	}
	return fmt.Sprintf("%s exports no %q%s", importedName(namespace, p), name, alternatives(name, names, "it has"))
}

// importedName returns the name by which a script imports a module.
func importedName(namespace, file string) string {
	switch {
	case namespace == libraryNamespace:
		return strconv.Quote("mcprun")
	case namespace == treeNamespace && file == allServers:
		return strconv.Quote("./servers")
	}
	return shownName(namespace, file)
}

// exportsOf returns the names that a module's text exports by name.
func exportsOf(text string) []string {
	var names []string
	for _, m := range declared().FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	for _, m := range exportList().FindAllStringSubmatch(text, -1) {
		for _, item := range strings.Split(m[1], ",") {
			words := strings.Fields(item)
			if len(words) > 0 && words[0] != "type" {
				names = append(names, words[len(words)-1])
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// lostResult explains what to write in a CommonJS script instead of returning a value outside of a function.
const lostResult = "a value that is returned outside of a function is lost; to leave a value behind, write: export const result = VALUE"

// lostReturn returns an error for a CommonJS script that returns a value outside of a function: the language allows it and
// drops the value. This surprises people whose other host runs scripts as the body of a function. A return without a value
// ends the script early and is fine.
func (f *files) lostReturn(made string) error {
	code := f.main.Code
	if !strings.Contains(code, "return") || !strings.Contains(made, "\nexport default require_") {
		return nil
	}
	res := api.Transform(code+"\nexport {};", api.TransformOptions{Loader: loaderOf(f.main.Name), TsconfigRaw: tsconfig, LogLevel: api.LogLevelSilent})
	for _, m := range res.Errors {
		if !strings.HasPrefix(m.Text, "Top-level return ") || m.Location == nil {
			continue
		}
		_, after, found := strings.Cut(m.Location.LineText[min(m.Location.Column, len(m.Location.LineText)):], "return")
		after = strings.TrimSpace(after)
		if !found || after == "" || strings.HasPrefix(after, ";") || strings.HasPrefix(after, "}") || strings.HasPrefix(after, "/") {
			continue
		}
		m.Text, m.Notes = lostResult, nil
		return fromMessages(f.main.Name, inModule([]api.Message{m}, scriptNamespace, f.main.Name))
	}
	return nil
}

// moduleNames returns the names of the entries that can be imported, without extensions.
func moduleNames(entries []string) []string {
	var names []string
	for _, e := range entries {
		base := trimExtension(e)
		if base != e && !strings.HasPrefix(base, ".") && base != "index" {
			names = append(names, base)
		}
	}
	return names
}
