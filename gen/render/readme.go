package render

import (
	_ "embed"
	"slices"
	"strings"
	"text/template"

	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
)

// The README is read as a whole every time. It names servers on one line, and gives their titles if there are few.
const (
	maxNamed  = 20
	maxTitled = 10
)

//go:embed README.md.tmpl
var readmeText string

var readmeTemplate = template.Must(template.New("README.md").Parse(readmeText))

// readme tells an agent how to use the tree.
func readme(servers []Server, languages []*Language, names map[string]map[string]Names) ([]byte, error) {
	var d struct {
		ID, File                       string // of the tool in the example
		Indexes, Run, Clients, Library string
		Examples                       []string
		Servers                        string
		More                           int // number of servers that are not named
	}
	var tool *Tool
	dir := "SERVER"
	if i := slices.IndexFunc(servers, func(s Server) bool { return len(s.Tools) > 0 }); i >= 0 {
		dir = servers[i].Dir
		easiest := slices.MinFunc(servers[i].Tools, func(a, b Tool) int { return needs(a) - needs(b) })
		tool, d.ID = &easiest, easiest.ID
	}
	list := func(separator string, of func(l *Language) string) string {
		var out []string
		for _, l := range languages {
			out = append(out, "`"+of(l)+"`")
		}
		return strings.Join(out, separator)
	}
	d.Indexes = list(" or ", func(l *Language) string { return l.IndexFile })
	d.Run = list(" or ", func(l *Language) string { return "mcprun script" + l.Ext })
	d.Clients = list(", ", func(l *Language) string { return l.Client })
	d.Library = list(", ", func(l *Language) string { return l.Library })
	for _, l := range languages {
		function, args := "tool", true
		if tool != nil {
			n := names[l.Name][tool.ID]
			function, args = n.Function, needs(*tool) > 0
			if d.File == "" {
				d.File = n.File
			}
		}
		d.Examples = append(d.Examples, l.Example(dir, function, args))
	}
	named := make([]string, min(len(servers), maxNamed))
	for i := range named {
		named[i] = servers[i].Dir
		if title := readmeTitle(servers[i]); title != "" && len(servers) <= maxTitled {
			named[i] += " (" + title + ")"
		}
	}
	d.Servers, d.More = strings.Join(named, ", "), len(servers)-len(named)
	return Fill(readmeTemplate, "README.md", d)
}

// readmeTitle returns a server's title if it adds to the folder's name, without anything that Markdown reads as links, code or HTML.
func readmeTitle(s Server) string {
	if text.SameWords(s.Title, s.Dir) {
		return ""
	}
	plain := strings.NewReplacer("`", "'", "<", "‹", ">", "›", "[", "(", "]", ")", "\\", "/")
	return plain.Replace(text.Summary(text.Lines(s.Title), 60))
}

// needs counts what a tool must be given: its required properties, or one if its input is not a plain object.
func needs(t Tool) int {
	if t.NoArguments() {
		return 0
	}
	object, ok := t.Input.Resolve(t.Input.Root).(ir.Object)
	if !ok {
		return 1
	}
	n := 0
	for _, f := range object.Fields {
		if f.Required {
			n++
		}
	}
	return n
}
