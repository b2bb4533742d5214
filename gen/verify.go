package gen

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/verify"
)

// maxRenders is how often the tree is rendered to get rid of files that do not pass. If a file still does not pass, the defect is ours, and
// no server's text explains it.
const maxRenders = 4

// offers is the tool index of a refusal that concerns what a server offers besides tools.
const offers = -2

// refusal is a file that does not have the expected form.
type refusal struct {
	server int
	// tool is the index of the file's tool. -1 means that it is unknown, so that the server is to blame; -2 means the server's resources
	// and prompts.
	tool int
	file string
	err  error
}

// checker reads back a wrapper or an index. A wrapper's function is want.Function; for an index, functions are given.
type checker func(l *Language, src []byte, want verify.Wrapper, functions []string) error

// readBack is the checker in use.
func readBack(l *Language, src []byte, want verify.Wrapper, functions []string) error {
	if want.ID != "" {
		return l.VerifyWrapper(want, src)
	}
	return l.VerifyIndex(verify.Index{Functions: functions}, src)
}

// verified renders servers and reads every file back. If a file does not pass, its tool is left out of the catalog, with a warning, and the
// rest is rendered again, so that the results fit together.
func (s *job) verified(servers []catalog.Server, check checker) (*catalog.Catalog, *render.Result, error) {
	warnings := slices.Clip(s.report.Warnings)
	for range maxRenders {
		s.report.Warnings = warnings
		c, err := catalog.New(servers)
		if err != nil {
			return nil, nil, err
		}
		languages := languagesOf(s.config.Settings.Languages)
		rendered, err := render.Render(s.renderServers(c), printers(languages))
		if err != nil {
			return nil, nil, fmt.Errorf("generate the tree: %w", err)
		}
		refused := refusals(c, languages, rendered, check)
		if len(refused) == 0 {
			return c, rendered, nil
		}
		for _, r := range refused {
			warnings = append(warnings, r.warning(c))
		}
		servers = without(c, refused)
		s.recount(servers)
	}
	return nil, nil, errors.New("generate the tree: the generated files do not pass their check; nothing was written")
}

// recount updates the numbers of tools in the report.
func (s *job) recount(servers []catalog.Server) {
	for _, server := range servers {
		for i := range s.report.Servers {
			if s.report.Servers[i].Key == server.Key {
				s.report.Servers[i].Tools = len(server.Tools)
			}
		}
	}
}

// refusals reads back the wrappers and indexes of all languages, several at once. The result is in the order of languages, servers and
// tools.
func refusals(c *catalog.Catalog, languages []*Language, rendered *render.Result, check checker) []refusal {
	var parts []func() []refusal
	for _, l := range languages {
		for i := range c.Servers {
			r := reading{l, i, &c.Servers[i], rendered, check}
			for j := range r.from.Tools {
				parts = append(parts, func() []refusal { return r.wrapper(j) })
			}
			parts = append(parts, r.index, r.modules)
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

// reading reads back the files of one server in one language.
type reading struct {
	language *Language
	server   int
	from     *catalog.Server
	rendered *render.Result
	check    checker
}

func (r reading) wrapper(tool int) []refusal {
	id := r.from.Tools[tool].ID
	n := r.rendered.Names[r.language.Name][id]
	if err := r.check(r.language, r.rendered.Tree[n.File], verify.Wrapper{ID: id, Function: n.Function}, nil); err != nil {
		return []refusal{{r.server, tool, n.File, err}}
	}
	return nil
}

func (r reading) index() []refusal {
	file := r.from.Dir + "/" + r.language.IndexFile
	functions := make([]string, len(r.from.Tools))
	for j, tool := range r.from.Tools {
		functions[j] = r.rendered.Names[r.language.Name][tool.ID].Function
	}
	functions = append(functions, modules(r.from)...)
	if err := r.check(r.language, r.rendered.Tree[file], verify.Wrapper{}, functions); err != nil {
		return []refusal{{r.server, r.culprit(file, functions, err), file, err}}
	}
	return nil
}

// modules returns the names of a server's modules besides its tools, in the order in which an index exports them.
func modules(s *catalog.Server) []string {
	return (&render.Server{Resources: s.Resources, HasPrompts: s.HasPrompts}).Modules()
}

// modules reads back these modules.
func (r reading) modules() []refusal {
	for _, name := range modules(r.from) {
		file := r.from.Dir + "/" + name + r.language.Ext
		if err := r.language.VerifyModule(verify.Offer{Name: name, Server: r.from.Dir}, r.rendered.Tree[file]); err != nil {
			return []refusal{{r.server, offers, file, err}}
		}
	}
	return nil
}

// culprit returns the tool whose line in an index is bad, or -1 if the server's documentation is.
func (r reading) culprit(file string, functions []string, err error) int {
	var bad *verify.Error
	lines := strings.Split(string(r.rendered.Tree[file]), "\n")
	if !errors.As(err, &bad) || bad.Line > len(lines) {
		return -1
	}
	found := slices.IndexFunc(functions, func(f string) bool { return r.language.Exports(lines[bad.Line-1], f) })
	if found >= len(r.from.Tools) {
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

// without returns the catalog's servers without the refused tools.
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
