package gen

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/verify"
)

// maxRenders is how often the tree is rendered to be rid of files that do not pass. What does not pass then is a
// defect of ours that no server's text explains.
const maxRenders = 4

// refusal is a file that was not what it should be.
type refusal struct {
	server int
	// tool is the index of the tool that the file is about, -1 where it can't be told: then the server is meant.
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

// refusals reads the wrappers and indexes of all languages back.
func refusals(c *catalog.Catalog, rendered *render.Result, check checker) []refusal {
	languages := slices.Sorted(maps.Keys(rendered.Names))
	found := make([][]refusal, len(languages))
	var readers sync.WaitGroup
	for i, language := range languages {
		readers.Go(func() { found[i] = refusalsIn(language, c, rendered, check) })
	}
	readers.Wait()
	return slices.Concat(found...)
}

func refusalsIn(language string, c *catalog.Catalog, rendered *render.Result, check checker) []refusal {
	var out []refusal
	names, index := rendered.Names[language], "index.ts"
	if language == "python" {
		index = "__init__.py"
	}
	for i, server := range c.Servers {
		functions := make([]string, len(server.Tools))
		for j, tool := range server.Tools {
			n := names[tool.ID]
			functions[j] = n.Function
			want := verify.Wrapper{ID: tool.ID, Function: n.Function}
			if err := check(language, rendered.Tree[n.File], want, nil); err != nil {
				out = append(out, refusal{i, j, n.File, err})
			}
		}
		file := server.Dir + "/" + index
		if err := check(language, rendered.Tree[file], verify.Wrapper{}, functions); err != nil {
			out = append(out, refusal{i, culprit(rendered.Tree[file], functions, err), file, err})
		}
	}
	return out
}

// culprit returns the tool whose line of an index is the bad one, or -1: what the server says of itself is.
func culprit(src []byte, functions []string, err error) int {
	var bad *verify.Error
	if !errors.As(err, &bad) {
		return -1
	}
	lines := strings.Split(string(src), "\n")
	if bad.Line > len(lines) {
		return -1
	}
	line := lines[bad.Line-1]
	return slices.IndexFunc(functions, func(f string) bool {
		return strings.HasPrefix(line, "export { "+f+" }") || strings.HasPrefix(line, "from ."+f+" import")
	})
}

func (r refusal) warning(c *catalog.Catalog) Warning {
	server := c.Servers[r.server]
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
			case r.tool < 0:
				out[i].Tools, out[i].Title, out[i].Instructions = nil, "", ""
			default:
				gone[c.Servers[i].Tools[r.tool].Name] = true
			}
		}
		out[i].Tools = slices.DeleteFunc(slices.Clone(out[i].Tools), func(t catalog.Tool) bool { return gone[t.Name] })
	}
	return out
}
