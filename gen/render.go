package gen

import (
	"bytes"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/schema"
	"github.com/mcpgen/mcpgen/gen/tree"
)

// render generates all files of the tree, including the lock, and returns the catalog from which they are generated.
func (s *job) render(servers []catalog.Server) (tree.Tree, *catalog.Catalog, error) {
	c, rendered, err := s.verified(servers, readBack)
	if err != nil {
		return nil, nil, err
	}
	files := maps.Clone(rendered.Tree)
	lists, err := marshalServers(c)
	if err != nil {
		return nil, nil, err
	}
	for i := range c.Servers {
		files[catalog.StoredPath(c.Servers[i].Dir)] = lists[i]
		learned := s.learnedOf(&c.Servers[i])
		if len(learned) > 0 {
			b, err := catalog.MarshalLearned(c.Servers[i].Key, learned)
			if err != nil {
				return nil, nil, err
			}
			files[catalog.LearnedPath(c.Servers[i].Dir)] = b
		}
	}
	lock, err := catalog.NewLock(c, lockNames(rendered.Names), files).Marshal()
	if err != nil {
		return nil, nil, err
	}
	files[catalog.LockPath] = lock
	return files, c, nil
}

// marshalServers writes the stored lists of all servers, several at once.
func marshalServers(c *catalog.Catalog) ([][]byte, error) {
	out := make([][]byte, len(c.Servers))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range c.Servers {
		group.Go(func() (err error) {
			out[i], err = catalog.MarshalServer(&c.Servers[i])
			return err
		})
	}
	return out, group.Wait()
}

// converted holds the types of one tool, and what was not understood in its schemas. output is nil if the tool has none.
type converted struct {
	input                   ir.Schema
	output                  *ir.Schema
	inputNotes, outputNotes []schema.Note
}

// convert converts the schemas of all tools to types, several at once. The result is indexed by server and tool.
func convert(c *catalog.Catalog) [][]converted {
	out := make([][]converted, len(c.Servers))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, server := range c.Servers {
		out[i] = make([]converted, len(server.Tools))
		for j := range server.Tools {
			group.Go(func() error {
				out[i][j] = convertTool(&server.Tools[j])
				return nil
			})
		}
	}
	_ = group.Wait() // it never fails
	return out
}

func convertTool(t *catalog.Tool) converted {
	var out converted
	out.input, out.inputNotes = schema.Convert(t.Input)
	if t.Output != nil {
		output, notes := schema.Convert(t.Output)
		out.output, out.outputNotes = &output, notes
	}
	return out
}

// renderServers converts schemas to types and collects what the conversion did not understand.
func (s *job) renderServers(c *catalog.Catalog) []render.Server {
	out := make([]render.Server, len(c.Servers))
	types := convert(c)
	for i, server := range c.Servers {
		out[i] = render.Server{
			Key: server.Key, Dir: server.Dir, Title: server.Title, Instructions: server.Instructions,
			Tools: make([]render.Tool, len(server.Tools)), Resources: server.Resources, HasPrompts: server.HasPrompts,
			ClosedInputs: s.config.Settings.ClosedInputs(server.Key), Lead: server.Lead(),
		}
		for _, p := range server.Prompts {
			rp := render.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
			for _, a := range p.Arguments {
				rp.Arguments = append(rp.Arguments, render.Argument(a))
			}
			out[i].Prompts = append(out[i].Prompts, rp)
		}
		for j, t := range server.Tools {
			place := server.Key + "/" + t.Name
			rt := render.Tool{
				ID: t.ID, Name: t.Name, Title: t.Title, Description: t.Own(out[i].Lead), Deprecated: t.Deprecated(), Hints: render.Hints(t.Hints),
				TextResult: s.config.Settings.Servers[server.Key].Results == config.ResultsText,
			}
			made := types[i][j]
			rt.Input, rt.Output = made.input, made.output
			s.warn(place+"#/inputSchema", made.inputNotes)
			s.warn(place+"#/outputSchema", made.outputNotes)
			if t.Output == nil {
				s.useLearned(place, server.Key, &t, &rt)
			}
			out[i].Tools[j] = rt
		}
	}
	return out
}

func (s *job) warn(place string, notes []schema.Note) {
	for _, n := range notes {
		s.report.Warnings = append(s.report.Warnings, Warning{Place: place + n.Pointer, Message: n.Message, Code: n.Code})
	}
}

func lockNames(names map[string]map[string]render.Names) map[string]map[string]catalog.LockNames {
	out := make(map[string]map[string]catalog.LockNames, len(names))
	for language, byID := range names {
		out[language] = make(map[string]catalog.LockNames, len(byID))
		for id, n := range byID {
			out[language][id] = catalog.LockNames(n)
		}
	}
	return out
}

// isGenerated recognises our files by their first line, even when the lock that lists them is lost, for instance in a merge. Only the kinds
// of files that we write count and, in our own folder, all lists.
func isGenerated(name string, head []byte) bool {
	ext := path.Ext(name)
	if name == catalog.PhrasesPath {
		return false
	}
	if (path.Dir(name) == catalog.MetaDir || path.Dir(name) == catalog.LearnedDir) && ext == ".json" {
		return true
	}
	if strings.HasPrefix(name, render.EditorDir) {
		return true
	}
	ofLanguage := slices.ContainsFunc(Languages(), func(l *Language) bool { return ext == l.Ext || ext == path.Ext(l.Library) })
	if !ofLanguage && !slices.Contains([]string{".md", ".toml", ".json", ".gitattributes"}, ext) {
		return false
	}
	line, _, _ := bytes.Cut(head, []byte("\n"))
	text := strings.Trim(string(line), "/#<!-> \r")
	if strings.HasPrefix(text, "Code generated by mcpgen") && strings.HasSuffix(text, "DO NOT EDIT.") {
		return true
	}
	return ext == ".md" && bytes.Contains(head, []byte("\nGenerated by mcpgen; do not edit."))
}
