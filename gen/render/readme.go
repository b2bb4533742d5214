package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// The README is read whole, each time: it names servers on one line, and says more of them where there are few.
const (
	maxNamed  = 20
	maxTitled = 10
)

type readmeData struct {
	TypeScript, Python bool
	Index, Run         string
	// Clients are where the errors of calls are, Library where the guest library is described.
	Clients, Library string
	Dir              string
	// ID is that of the example, File where it is.
	ID, File               string
	TSFunction, TSArgument string
	PyFunction, PyArgument string
	Servers                string
	More                   int
}

// readme tells an agent how to use the tree.
func readme(servers []Server, targets []Target, names map[string]map[string]Names) ([]byte, error) {
	d := readmeData{Dir: "SERVER", TSFunction: "tool", PyFunction: "tool", TSArgument: "{ … }", PyArgument: "…"}
	var index, run, clients, library []string
	if d.TypeScript = hasTarget(targets, "typescript"); d.TypeScript {
		index, run = append(index, "`index.ts`"), append(run, "`mcprun script.ts`")
		clients, library = append(clients, "`client.ts`"), append(library, "`mcprun.d.ts`")
	}
	if d.Python = hasTarget(targets, "python"); d.Python {
		index, run = append(index, "`__init__.py`"), append(run, "`mcprun script.py`")
		clients, library = append(clients, "`client.py`"), append(library, "`mcprun.pyi`")
	}
	d.Index, d.Run = strings.Join(index, " or "), strings.Join(run, " or ")
	d.Clients, d.Library = strings.Join(clients, ", "), strings.Join(library, ", ")
	if i := slices.IndexFunc(servers, func(s Server) bool { return len(s.Tools) > 0 }); i >= 0 {
		d.example(servers[i], names)
	}
	named := make([]string, min(len(servers), maxNamed))
	for i := range named {
		named[i] = servers[i].Dir
		if title := readmeTitle(servers[i]); title != "" && len(servers) <= maxTitled {
			named[i] += " (" + title + ")"
		}
	}
	d.Servers, d.More = strings.Join(named, ", "), len(servers)-len(named)
	return layout("tree/README.md.tmpl", d)
}

// readmeTitle is a server's title where it says more than the folder's name.
func readmeTitle(s Server) string {
	if sameWords(s.Title, s.Dir) {
		return ""
	}
	return markdown(summary(python, s.Title, 60))
}

// example shows a call of the server's tool that needs least.
func (d *readmeData) example(s Server, names map[string]map[string]Names) {
	d.Dir = s.Dir
	best := slices.MinFunc(s.Tools, func(a, b Tool) int { return needs(a) - needs(b) })
	ts, py := names["typescript"][best.ID], names["python"][best.ID]
	d.TSFunction, d.PyFunction = ts.Function, py.Function
	d.ID, d.File = best.ID, cmp.Or(ts.File, py.File)
	if needs(best) == 0 {
		d.TSArgument, d.PyArgument = "", ""
	}
}

// needs counts what has to be given to a tool: properties, or one for what is not a plain object.
func needs(t Tool) int {
	input := inputOf(t.Input)
	if acceptsEmpty(&input, input.Root) {
		return 0
	}
	object, ok := input.Resolve(input.Root).(ir.Object)
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

// markdown takes the meaning from what a title may hold: links, code, HTML.
func markdown(s string) string {
	return strings.NewReplacer("`", "'", "<", "‹", ">", "›", "[", "(", "]", ")", "\\", "/").Replace(s)
}

func hasTarget(targets []Target, name string) bool {
	return slices.ContainsFunc(targets, func(t Target) bool { return t.Name() == name })
}
