package config

import (
	"path/filepath"
	"runtime"
	"strings"
)

// translator converts the variables of hosts to those of [Server.Expand]: ${NAME}, ${NAME:-default}, ${file:PATH} and, for
// text that is not a variable, ${:-text}. It looks up no values.
type translator struct {
	dialect func(*translator, string) string
	// project is the value of ${workspaceFolder}, and base the folder of relative files in ${file:…}. Both are absolute.
	project, base string
	// inputs are the defaults of a file's inputs, by id.
	inputs map[string]string
}

func (t *translator) text(s string) string { return t.dialect(t, s) }

// dollarSign is a $ that does not begin a variable.
const dollarSign = "${:-$}"

// literal returns a text in which nothing is a variable.
func literal(s string) string { return strings.ReplaceAll(s, "${", dollarSign+"{") }

// ours is for hosts that use the same variables as we do.
func (t *translator) ours(s string) string { return s }

// literal is for hosts without variables.
func (t *translator) literal(s string) string { return literal(s) }

// references replaces each open…} by the result of f for its body. If f returns false, the reference is ordinary text, which keep converts
// together with the text around it.
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
		} else { // the next reference may begin in the body
			plain.WriteString(open)
			s = rest
		}
	}
	flush()
	return out.String()
}

func same(s string) string { return s }

// editor converts the variables of Cursor and VS Code. Unknown ones stay, so that connecting to the server fails.
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

// InputVariable returns the environment variable from which an input is read: MCPGEN_INPUT_ and the id in capitals, with underscores in
// place of characters that a name cannot contain.
func InputVariable(id string) string { return "MCPGEN_INPUT_" + variableName(id) }

// variableName converts a text to the name of an environment variable, or returns "" if no letter or digit is left.
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

// dollar converts the variables of Gemini, $NAME and ${NAME}.
func (t *translator) dollar(s string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		n := 0
		for n < len(rest) && IsVariableName(rest[:n+1]) {
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

// braces converts the variables of OpenCode, {env:NAME} and {file:PATH}. A relative path starts at the file's own folder.
func (t *translator) braces(s string) string {
	return references(s, "{", func(body string) (string, bool) {
		if name, ok := strings.CutPrefix(body, "env:"); ok && IsVariableName(name) {
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
