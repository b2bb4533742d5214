package gen

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/verify"
)

// maxRenders is how often the tree is rendered to be rid of files that do not pass. What does not pass then is a
// defect of ours that no server's text explains.
const maxRenders = 4

// offers is the tool of a refusal that is about what a server offers beside tools.
const offers = -2

// refusal is a file that was not what it should be.
type refusal struct {
	server int
	// tool is the index of the tool that the file is about, -1 where it can't be told: then the server is meant. -2 are
	// the server's resources and prompts.
	tool int
	file string
	err  error
}

// checker reads one rendered file back. A wrapper's function is want.Function; for an index, functions are given.
type checker func(language string, src []byte, want verify.Wrapper, functions []string) error

// readBack is the checker that is used.
func readBack(language string, src []byte, want verify.Wrapper, functions []string) error {
	switch {
	case language == "typescript" && want.ID != "":
		return want.TypeScript(src)
	case language == "typescript":
		return verify.Index{Functions: functions}.TypeScript(src)
	case want.ID != "":
		return want.Python(src)
	default:
		return verify.Index{Functions: functions}.Python(src)
	}
}

// verified renders servers and reads every file back. A tool with a file that does not pass is left out of the
// catalog, with a warning, and the rest is rendered anew, so that what is returned belongs together.
func (s *job) verified(servers []catalog.Server, check checker) (*catalog.Catalog, *render.Result, error) {
	warnings := slices.Clip(s.report.Warnings)
	for range maxRenders {
		s.report.Warnings = warnings
		c, err := catalog.New(servers)
		if err != nil {
			return nil, nil, err
		}
		rendered, err := render.Render(s.renderServers(c), targets(s.config.Settings.Languages))
		if err != nil {
			return nil, nil, fmt.Errorf("generate the tree: %w", err)
		}
		refused := refusals(c, rendered, check)
		if len(refused) == 0 {
			return c, rendered, nil
		}
		for _, r := range refused {
			warnings = append(warnings, r.warning(c))
		}
		servers = without(c, refused)
		s.recount(servers)
	}
	return nil, nil, errors.New("generate the tree: files do not pass their check, whatever is left out; nothing was written")
}

// recount brings the report's number of tools in line with what is left.
func (s *job) recount(servers []catalog.Server) {
	for _, server := range servers {
		for i := range s.report.Servers {
			if s.report.Servers[i].Key == server.Key {
				s.report.Servers[i].Tools = len(server.Tools)
			}
		}
	}
}

// refusals reads the wrappers and indexes of all languages back, several at once. They are in the order of languages,
// servers and tools.
func refusals(c *catalog.Catalog, rendered *render.Result, check checker) []refusal {
	const share = 64 // tools whose files one goroutine reads at a time
	var parts []func() []refusal
	for _, language := range slices.Sorted(maps.Keys(rendered.Names)) {
		for i := range c.Servers {
			r := reading{language, i, &c.Servers[i], rendered, check}
			for from := 0; from < len(r.from.Tools); from += share {
				parts = append(parts, func() []refusal { return r.wrappers(from, min(from+share, len(r.from.Tools))) })
			}
			parts = append(parts, r.index, r.offers)
		}
	}
	found := make([][]refusal, len(parts))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, part := range parts {
		group.Go(func() error {
			found[i] = part()
			return nil
		})
	}
	_ = group.Wait() // none of them fails
	return slices.Concat(found...)
}

// reading is the files of one server in one language being read back.
type reading struct {
	language string
	server   int
	from     *catalog.Server
	rendered *render.Result
	check    checker
}

// wrappers reads those of some tools.
func (r reading) wrappers(from, to int) []refusal {
	var out []refusal
	for j := from; j < to; j++ {
		id := r.from.Tools[j].ID
		n := r.rendered.Names[r.language][id]
		want := verify.Wrapper{ID: id, Function: n.Function}
		if err := r.check(r.language, r.rendered.Tree[n.File], want, nil); err != nil {
			out = append(out, refusal{r.server, j, n.File, err})
		}
	}
	return out
}

func (r reading) index() []refusal {
	file := r.from.Dir + "/index.ts"
	if r.language == "python" {
		file = r.from.Dir + "/__init__.py"
	}
	functions := make([]string, len(r.from.Tools))
	for j, tool := range r.from.Tools {
		functions[j] = r.rendered.Names[r.language][tool.ID].Function
	}
	functions = append(functions, offered(r.from)...)
	if err := r.check(r.language, r.rendered.Tree[file], verify.Wrapper{}, functions); err != nil {
		return []refusal{{r.server, culprit(r.rendered.Tree[file], functions, len(r.from.Tools), err), file, err}}
	}
	return nil
}

// offered are the names that an index exports for what the server offers beside tools, in their order.
func offered(s *catalog.Server) []string {
	var out []string
	if s.Resources {
		out = append(out, "resources")
	}
	if s.HasPrompts {
		out = append(out, "prompts")
	}
	return out
}

// offers reads the files of those.
func (r reading) offers() []refusal {
	for _, name := range offered(r.from) {
		want := verify.Offer{Name: name, Server: r.from.Dir}
		file, read := r.from.Dir+"/"+name+".ts", want.TypeScript
		if r.language == "python" {
			file, read = r.from.Dir+"/"+name+".py", want.Python
		}
		if err := read(r.rendered.Tree[file]); err != nil {
			return []refusal{{r.server, offers, file, err}}
		}
	}
	return nil
}

// culprit returns the tool whose line of an index is the bad one, or -1: what the server says of itself is.
func culprit(src []byte, functions []string, tools int, err error) int {
	var bad *verify.Error
	if !errors.As(err, &bad) {
		return -1
	}
	lines := strings.Split(string(src), "\n")
	if bad.Line > len(lines) {
		return -1
	}
	line := lines[bad.Line-1]
	found := slices.IndexFunc(functions, func(f string) bool {
		return strings.HasPrefix(line, "export ") && strings.Contains(line, ` from "./`+f+`.ts";`) || strings.HasPrefix(line, "from ."+f+" import")
	})
	if found >= tools {
		return offers
	}
	return found
}

func (r refusal) warning(c *catalog.Catalog) Warning {
	server := c.Servers[r.server]
	if r.tool == offers {
		return Warning{
			Place: server.Key, Code: "not-verified",
			Message: fmt.Sprintf("the file %s made for it does not pass its check (%v); its resources and prompts are left out", r.file, r.err),
		}
	}
	if r.tool < 0 {
		return Warning{
			Place: server.Key, Dropped: true, Code: "not-verified",
			Message: fmt.Sprintf("the file %s made for it does not pass its check (%v); none of its tools is in the tree", r.file, r.err),
		}
	}
	return Warning{
		Place: server.Key + "/" + server.Tools[r.tool].Name, Dropped: true, Code: "not-verified",
		Message: fmt.Sprintf("the file %s made for it does not pass its check (%v); the tool is left out", r.file, r.err),
	}
}

// without returns the catalog's servers without the tools that were refused.
func without(c *catalog.Catalog, refused []refusal) []catalog.Server {
	out := slices.Clone(c.Servers)
	for i := range out {
		gone := map[string]bool{}
		for _, r := range refused {
			switch {
			case r.server != i:
			case r.tool == offers:
				out[i].Resources, out[i].HasPrompts, out[i].Prompts = false, false, nil
			case r.tool < 0:
				out[i].Tools, out[i].Title, out[i].Instructions = nil, "", ""
				out[i].Resources, out[i].HasPrompts, out[i].Prompts = false, false, nil
			default:
				gone[c.Servers[i].Tools[r.tool].Name] = true
			}
		}
		out[i].Tools = slices.DeleteFunc(slices.Clone(out[i].Tools), func(t catalog.Tool) bool { return gone[t.Name] })
	}
	return out
}
