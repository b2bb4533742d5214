package render

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/ir"
)

// maxRows bounds the table of servers, so that the file stays within forty lines.
const maxRows = 10

type readmeData struct {
	TypeScript, Python          bool
	Index, Run, Raises, Clients string
	// Library says how the guest library is had and where it is described.
	Library                string
	Dir                    string
	TSFunction, TSArgument string
	PyFunction, PyArgument string
	Servers                []readmeServer
	More                   int
}

type readmeServer struct {
	Dir   string
	Count int
	Title string
}

// readme tells an agent how to use the tree.
func readme(servers []Server, targets []Target, names map[string]map[string]Names) ([]byte, error) {
	d := readmeData{Dir: "SERVER", TSFunction: "tool", PyFunction: "tool", TSArgument: "{ … }", PyArgument: "…"}
	var index, run, raises, clients, library []string
	if d.TypeScript = hasTarget(targets, "typescript"); d.TypeScript {
		index, run = append(index, "`index.ts`"), append(run, "`mcprun script.ts`")
		raises, clients = append(raises, "throws"), append(clients, "`client.ts`")
		library = append(library, "`import … from \"mcprun\"` (`mcprun.d.ts`)")
	}
	if d.Python = hasTarget(targets, "python"); d.Python {
		index, run = append(index, "`__init__.py`"), append(run, "`mcprun script.py`")
		raises, clients = append(raises, "raises"), append(clients, "`client.py`")
		library = append(library, "`from mcprun import …` (`mcprun.pyi`)")
	}
	d.Index, d.Run = strings.Join(index, " or "), strings.Join(run, " or ")
	d.Raises, d.Clients = strings.Join(raises, " or "), strings.Join(clients, " or ")
	d.Library = strings.Join(library, " or ")
	for _, s := range servers {
		if d.Dir == "SERVER" && len(s.Tools) > 0 {
			d.example(s, names)
		}
		if len(d.Servers) == maxRows {
			d.More = len(servers) - maxRows
			break
		}
		title := strings.ReplaceAll(summary(python, s.Title, 60), "|", "/")
		d.Servers = append(d.Servers, readmeServer{Dir: s.Dir, Count: len(s.Tools), Title: markdown(title)})
	}
	return layout("tree/README.md.tmpl", d)
}

// example shows a call of the server's tool that needs least.
func (d *readmeData) example(s Server, names map[string]map[string]Names) {
	d.Dir = s.Dir
	best := slices.MinFunc(s.Tools, func(a, b Tool) int { return needs(a) - needs(b) })
	d.TSFunction = names["typescript"][best.ID].Function
	d.PyFunction = names["python"][best.ID].Function
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
