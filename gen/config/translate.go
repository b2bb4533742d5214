package config

import (
	"path/filepath"
	"runtime"
	"strings"
)

// translator turns the variables of hosts into ours, which [Server.Expand] knows: ${NAME}, ${NAME:-default},
// ${file:PATH} and, for text that must not be read as a variable, ${:-text}. Values are looked up by nobody here.
type translator struct {
	dialect func(*translator, string) string
	// project is what ${workspaceFolder} stands for, base where relative files of ${file:…} are: absolute folders.
	project, base string
	// inputs are the defaults of a file's inputs, by id.
	inputs map[string]string
}

func (t *translator) text(s string) string { return t.dialect(t, s) }

// dollarSign stands for a $ before a brace that is just text.
const dollarSign = "${:-$}"

// literal keeps a text from being read as a variable.
func literal(s string) string { return strings.ReplaceAll(s, "${", dollarSign+"{") }

// ours are the forms that need no translation.
func (t *translator) ours(s string) string { return s }

// literal is for hosts without variables.
func (t *translator) literal(s string) string { return literal(s) }

// references replaces each open…} by what f makes of its inside. What f has nothing for is text, which keep handles
// with the text around it.
func references(s, open string, f func(body string) (string, bool), keep func(string) string) string {
	var out, plain strings.Builder
	flush := func() {
		out.WriteString(keep(plain.String()))
		plain.Reset()
	}
	for {
		before, rest, found := strings.Cut(s, open)
		plain.WriteString(before)
		if !found {
			break
		}
		body, after, closed := strings.Cut(rest, "}")
		text, ok := "", false
		if closed {
			text, ok = f(body)
		}
		if ok {
			flush()
			out.WriteString(text)
			s = after
		} else { // the next reference may begin inside
			plain.WriteString(open)
			s = rest
		}
	}
	flush()
	return out.String()
}

func same(s string) string { return s }

// editor are the forms of Cursor and VS Code. What is neither known nor a plain name stays, and is refused when the
// server is connected to.
func (t *translator) editor(s string) string {
	return references(s, "${", func(body string) (string, bool) {
		name, rest, _ := strings.Cut(body, ":")
		switch {
		case name == "userHome":
			return "${" + homeVariable() + "}", true
		case name == "workspaceFolder", name == "cwd":
			return literal(t.project), true
		case name == "workspaceFolderBasename":
			return literal(filepath.Base(t.project)), true
		case body == "pathSeparator", body == "/":
			return string(filepath.Separator), true
		case name == "input":
			return t.input(rest), true
		}
		return "", false
	}, same)
}

func (t *translator) input(id string) string {
	name := InputVariable(id)
	if def, ok := t.inputs[id]; ok && !strings.Contains(def, "}") {
		return "${" + name + ":-" + def + "}"
	}
	return "${" + name + "}"
}

// InputVariable is the environment variable that an input of the given id is read from: MCPGEN_INPUT_ and the id in
// capitals, with an underscore for whatever a name cannot hold.
func InputVariable(id string) string { return "MCPGEN_INPUT_" + variableName(id) }

// variableName makes the name of an environment variable out of any text.
func variableName(s string) string {
	var out strings.Builder
	for _, r := range strings.ToUpper(s) {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			out.WriteRune(r)
		} else if !strings.HasSuffix(out.String(), "_") {
			out.WriteByte('_')
		}
	}
	return strings.Trim(out.String(), "_")
}

func homeVariable() string {
	if runtime.GOOS == "windows" {
		return "USERPROFILE"
	}
	return "HOME"
}

// dollar is Gemini's: $NAME as well as ${NAME}.
func (t *translator) dollar(s string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		n := 0
		for n < len(rest) && isName(rest[:n+1]) {
			n++
		}
		if n > 0 {
			out.WriteString("${" + rest[:n] + "}")
		} else {
			out.WriteByte('$')
		}
		s = rest[n:]
	}
}

// braces is OpenCode's: {env:NAME} and {file:PATH}, a relative path from the file's own folder.
func (t *translator) braces(s string) string {
	return references(s, "{", func(body string) (string, bool) {
		if name, ok := strings.CutPrefix(body, "env:"); ok && isName(name) {
			return "${" + name + "}", true
		}
		if path, ok := strings.CutPrefix(body, "file:"); ok {
			if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") {
				path = filepath.Join(t.base, path)
			}
			return "${file:" + path + "}", true
		}
		return "", false
	}, literal)
}
