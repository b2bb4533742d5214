package syncview

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
)

const (
	// mostAnnotations bounds the annotations of one level: GitHub shows ten of a step, and drops the others.
	mostAnnotations = 10
	// mostLines and mostLineChars bound the text of one annotation.
	mostLines     = 20
	mostLineChars = 300
)

// annotation is a workflow command that GitHub shows at a line of a file.
type annotation struct {
	level string // error, warning or notice
	file  string // below the repository, or ""
	line  int    // 0: none
	title string
	lines []string // foreign text
}

// github prints the report for the log of a GitHub Actions step: for people first, with workflow commands switched off,
// since it quotes foreign text; then as annotations.
func (v *View) github() error {
	var out strings.Builder
	out.WriteString(withoutCommands(v.text()))
	byLevel := map[string]int{}
	for _, a := range v.annotations() {
		byLevel[a.level]++
		switch n := byLevel[a.level]; {
		case n < mostAnnotations:
			out.WriteString(a.command())
		case n == mostAnnotations:
			out.WriteString(annotation{level: a.level, title: "mcpgen: more", lines: []string{"There is more to say; see the job summary and the log."}}.command())
		}
	}
	_, err := io.WriteString(v.App.Stdout, out.String())
	return err
}

// AppendOutputs appends the outputs of a GitHub Actions step to a file: whether the tree is out of date (or was, before a sync
// that writes), and whether a change breaks callers.
func (v *View) AppendOutputs(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("write the step's outputs: %w", err)
	}
	_, err = fmt.Fprintf(f, "drift=%t\nbreaking=%t\n", len(v.Report.Files) > 0, v.Report.Impact() == diff.Breaking)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the step's outputs: %w", err)
	}
	return nil
}

// withoutCommands returns text, which is made of whole lines, for a log so that GitHub executes no commands in it.
func withoutCommands(text string) string {
	token := rand.Text()
	return fmt.Sprintf("::stop-commands::%s\n%s::%s::\n", token, text, token)
}

// AnnotateError prints an error that left no report.
func AnnotateError(app *cli.App, err error) {
	lines := append(strings.Split(err.Error(), "\n"), cli.Hints(err)...)
	_, _ = io.WriteString(app.Stdout, annotation{level: "error", title: "mcpgen sync", lines: lines}.command())
}

// command returns the workflow command. Nothing in it can end it or begin another one.
func (a annotation) command() string {
	var properties []string
	add := func(name, value string) {
		if value != "" {
			properties = append(properties, name+"="+escapeProperty(cli.EscapeLine(value)))
		}
	}
	add("file", a.file)
	if a.line > 0 {
		add("line", fmt.Sprint(a.line))
	}
	add("title", cli.Shorten(a.title, 200))
	lines := a.lines
	if len(lines) > mostLines {
		lines = append(slices.Clone(lines[:mostLines]), fmt.Sprintf("and %d more", len(lines)-mostLines))
	}
	var text []string
	for _, line := range lines {
		text = append(text, cli.Shorten(cli.EscapeLine(line), mostLineChars))
	}
	return "::" + a.level + " " + strings.Join(properties, ",") + "::" + escapeData(strings.Join(text, "\n")) + "\n"
}

// escapeData and escapeProperty are the escapes of workflow commands, as GitHub's own toolkit writes them.
func escapeData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func escapeProperty(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

// annotations returns what is wrong, the worst first.
func (v *View) annotations() []annotation {
	var out []annotation
	r := v.Report
	for _, s := range r.Failures() {
		out = append(out, annotation{level: "error", file: v.repositoryPath(r.Config), line: 1, title: s.Key + " could not be asked",
			lines: append([]string{s.Err.Error()}, cli.Hints(s.Err)...)})
	}
	changes, lines := v.changeAnnotations(), 0
	out = append(out, changes...)
	if len(changes) == 0 && !r.Written {
		for _, f := range r.Files { // no server changed, so somebody edited the files
			words := map[string]string{"create": "is missing", "update": "is not what mcpgen would write", "delete": "is no longer needed"}
			out = append(out, annotation{level: "error", file: v.repositoryPath(filepath.Join(r.Out, filepath.FromSlash(f.Path))), line: 1,
				title: "generated file out of date", lines: []string{f.Path + " " + words[string(f.Action)] + ". To repair it, run: " + v.Repair}})
			if lines++; lines > mostAnnotations {
				break
			}
		}
	}
	for _, w := range r.Warnings {
		level := "warning"
		if v.Report.Strict && (w.Dropped || w.Suspicious) {
			level = "error"
		} else if w.Note {
			level = "notice"
		}
		out = append(out, annotation{level: level, title: w.Place, lines: []string{w.Message}})
	}
	for _, path := range r.Kept {
		out = append(out, annotation{level: "warning", file: v.repositoryPath(filepath.Join(r.Out, filepath.FromSlash(path))), line: 1,
			title: "generated file was changed by hand", lines: []string{"it is no longer generated, and stays"}})
	}
	return out
}

// changeAnnotations returns one annotation for each tool that changed, at the tool's definition if the tree has it.
func (v *View) changeAnnotations() []annotation {
	level := "error"
	if v.Report.Written {
		level = "notice" // they have been accepted
	}
	places := definitions{}
	var out []annotation
	var tools []gen.ToolChanges
	for _, s := range v.Report.ByServer() {
		tools = append(tools, s.Tools...)
	}
	rank := func(t gen.ToolChanges) int {
		switch {
		case t.Impact() == diff.Breaking && t.Important():
			return 0
		case t.Impact() == diff.Breaking || t.Important():
			return 1
		}
		return 2
	}
	slices.SortStableFunc(tools, func(a, b gen.ToolChanges) int { return rank(a) - rank(b) })
	for _, t := range tools {
		first := t.Changes[0]
		stored := filepath.Join(v.Report.Out, ".mcpgen", first.Dir+".json")
		listed := first.Tool // as the stored list has it
		if !v.Report.Written && first.Kind == diff.ToolRenamed {
			listed = first.OldTool
		}
		a := annotation{level: level, file: v.repositoryPath(stored), line: places.line(stored, listed), title: first.Server}
		if first.Tool != "" {
			a.title += "/" + first.Tool
		}
		a.title += ": " + changedWhat(t)
		for _, c := range t.Changes {
			for _, line := range v.Policy.Lines(&c) {
				a.lines = append(a.lines, "policy: "+line)
			}
			for _, i := range c.Items {
				message := i.Message
				if i.Edits != nil && i.Place == "" && strings.HasSuffix(c.Label(i), i.Keyword) {
					message = strings.TrimPrefix(message, i.Keyword+": ")
				}
				a.lines = append(a.lines, c.Label(i)+": "+message+impactWord(i))
			}
			switch {
			case len(c.Items) == 0:
				a.lines = append(a.lines, c.Lines()...)
			case c.Why != "":
				a.lines = append(a.lines, c.Why)
			}
		}
		if len(a.lines) == 0 {
			a.lines = []string{a.title}
		}
		out = append(out, a)
	}
	return out
}

// changedWhat describes the changes of a tool or a server in a few words.
func changedWhat(t gen.ToolChanges) string {
	words := map[string]string{"server-added": "server added", "server-removed": "server removed", "server-text": "texts changed",
		"tool-added": "tool added", "tool-removed": "tool removed", "tool-renamed": "tool renamed"}
	var kinds []string
	for _, c := range t.Changes {
		if word := words[string(c.Kind)]; word != "" {
			kinds = append(kinds, word)
		} else {
			kinds = append(kinds, string(c.Kind)+" changed")
		}
	}
	text := strings.ReplaceAll(strings.Join(kinds, ", "), " changed, ", ", ")
	return text + verdict(t)
}

// repositoryPath returns a path as GitHub wants it: relative to the checkout.
func (v *View) repositoryPath(path string) string {
	base := v.App.Env("GITHUB_WORKSPACE")
	if base == "" {
		base = v.App.Dir
	}
	if rel, err := filepath.Rel(base, path); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// definitions holds the lines of tools in stored lists, by file and name.
type definitions map[string]map[string]int

// line returns the line of a tool's name, or 1.
func (d definitions) line(file, tool string) int {
	if d[file] == nil {
		d[file] = nameLines(file)
	}
	return max(1, d[file][tool])
}

// nameLines returns the lines of names in a stored list, which is indented by two spaces per level.
func nameLines(file string) map[string]int {
	lines := map[string]int{}
	f, err := os.Open(file)
	if err != nil {
		return lines
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReader(f)
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if value, ok := strings.CutPrefix(line, `      "name": `); ok {
			var name string
			if json.Unmarshal([]byte(strings.TrimRight(value, ",\r\n")), &name) == nil && lines[name] == 0 {
				lines[name] = n
			}
		}
		if err != nil {
			return lines
		}
	}
}
