package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/index"
)

const (
	maxQueryBytes = 1000
	maxNameBytes  = 500
)

func (c *toolCall) finder() (Finder, error) {
	if f := c.view.Finder; f != nil {
		return f, nil
	}
	return nil, c.errorf("there is no generated tree, so there are no tools to find; make one with: mcpgen sync")
}

type searchArgs struct {
	Query    search.Wordings `json:"query"`
	Category string          `json:"category"`
	Detail   search.Detail   `json:"detail_level"`
}

// shortLimit is the number of hits shown if no detail is asked for. Of the questions in testdata/search, 88 % have their answer among the
// first five, and 93 % among the first ten; of the questions asked in two wordings, 98 % have it among the first five of either.
const shortLimit = 5

func callSearchTools(ctx context.Context, c *toolCall, args *searchArgs) (*reply, error) {
	asked := strings.Join(args.Query, " ")
	if len(asked) > maxQueryBytes || len(args.Category) > maxNameBytes {
		return nil, c.errorf("the query is too long: use a few words, at most %d bytes", maxQueryBytes)
	}
	if own := c.cs.s.unlisted(); len(own) > 0 && args.Category == ownCategory {
		return ownTools(own, args.Query...), nil
	}
	q := args.Query.Query()
	q.Category = args.Category
	switch {
	case strings.TrimSpace(asked) == "" && args.Category == "":
		return nil, c.errorf("query: what a tool should do, in a few words; or category: list all of a server's tools")
	case strings.TrimSpace(asked) == "":
		q.Limit = search.MaxLimit
	case args.Detail == "":
		q.Limit = shortLimit
	}
	switch args.Detail {
	case "":
		args.Detail = search.DetailSignature
	case "summary": // the name in other servers
		args.Detail = search.DetailDescription
	}
	if !slices.Contains(search.Details(), args.Detail) {
		return nil, c.errorf("detail_level %.50q is not one of: name, signature, description, summary, full", string(args.Detail))
	}
	f, err := c.finder()
	if err != nil {
		return nil, err
	}
	found, err := f.Search(ctx, q, args.Detail, c.view.Languages[0])
	if err != nil {
		return nil, c.errorf("%v", exit.Hinted(err))
	}
	if len(found) == 0 {
		none := "Nothing was found. Try other words, or leave the category out" + c.advise("; %s lists the categories", "list_tool_categories") + "."
		return &reply{text: none, data: map[string]any{"tools": []search.Result{}, "message": none}}, nil
	}
	if add := c.view.Together; add != nil {
		add(ctx, c.cs.customer.ID, found)
	}
	return c.found(found, args.Detail), nil
}

type definitionArgs struct {
	Tool     string `json:"tool_name" required:""`
	Category string `json:"category"`
}

func callGetToolDefinition(ctx context.Context, c *toolCall, args *definitionArgs) (*reply, error) {
	if len(args.Tool) > maxNameBytes || len(args.Category) > maxNameBytes {
		return nil, c.errorf("the name is too long: at most %d bytes", maxNameBytes)
	}
	if t := c.cs.s.ownTool(args.Tool); t != nil {
		return ownTools([]*tool{t}), nil
	}
	f, err := c.finder()
	if err != nil {
		return nil, err
	}
	found, err := f.Definition(ctx, args.Tool, args.Category, c.view.Languages[0])
	if err != nil {
		return nil, c.errorf("%v", exit.Hinted(err))
	}
	return c.found(found, search.DetailFull), nil
}

// addInstructions adds the instructions of the servers whose tools were found, each once.
func (c *toolCall) addInstructions(r *reply, found []search.Result) {
	said := map[string]string{}
	for _, f := range found {
		if server, ok := c.serverOf(f.Server); ok && said[f.Server] == "" {
			if text := index.Shorten(server.Instructions, maxInstructions); text != "" {
				said[f.Server] = text
				r.text = joinOutput(r.text, f.Server+" says of itself: "+text)
			}
		}
	}
	if data, ok := r.data.(map[string]any); ok && len(said) > 0 {
		data["instructions"] = said
	}
}

// maxInstructions bounds what is shown of a server's instructions beside a definition, in bytes.
const maxInstructions = 300

// serverOf finds a server of the catalog.
func (c *toolCall) serverOf(key string) (*catalog.Server, bool) {
	if c.view.Catalog == nil {
		return nil, false
	}
	return c.view.Catalog.Server(key)
}

// found returns the tools that fit into a result, with source if there is any, because a model writes calls from it.
func (c *toolCall) found(found []search.Result, detail search.Detail) *reply {
	limit := c.cs.s.opt.MaxText
	for i := range found {
		cleanResult(&found[i])
	}
	if detail == search.DetailSignature {
		return &reply{text: cutText(strings.TrimSpace(search.Listing(found)), limit), data: map[string]any{"tools": found}, hidden: true}
	}
	var b strings.Builder
	for i := range found {
		entry := resultText(&found[i])
		if i > 0 && b.Len()+len(entry) > limit {
			fmt.Fprintf(&b, "\n(%d more left out: ask for less detail, or for fewer)", len(found)-i)
			found = found[:i]
			break
		}
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(cutText(entry, limit))
	}
	if len(found) == 1 {
		found[0].Source = cutText(found[0].Source, limit)
	}
	r := &reply{text: b.String(), data: map[string]any{"tools": found}, hidden: true}
	if detail == search.DetailFull {
		c.addInstructions(r, found)
	}
	return r
}

// cleanResult removes invisible characters from another server's texts, and line ends from single-line ones, so that none looks like
// another tool. It drops the description and signature if there is source, which repeats them.
func cleanResult(f *search.Result) {
	for _, line := range []*string{&f.Tool, &f.Server, &f.Category, &f.Description, &f.Import} {
		*line = ident.CleanLine(*line)
	}
	f.OtherImports, f.UseCases, f.UsedTogether = cleanLines(f.OtherImports), cleanLines(f.UseCases), cleanLines(f.UsedTogether)
	f.Signature, f.Source = ident.CleanText(f.Signature), ident.CleanText(f.Source)
	if f.Source != "" {
		f.Description, f.Signature = "", ""
	}
}

func resultText(f *search.Result) string {
	rows := []string{f.Tool}
	if f.Description != "" {
		rows[0] += ": " + f.Description
	}
	if len(f.UseCases) > 0 {
		rows = append(rows, "Used for: "+strings.Join(f.UseCases, "; "))
	}
	if len(f.UsedTogether) > 0 {
		rows = append(rows, "Used together: "+strings.Join(f.UsedTogether, ", "))
	}
	for _, row := range slices.Concat([]string{f.Import}, f.OtherImports, []string{f.Signature, f.Source}) {
		if row != "" {
			rows = append(rows, row)
		}
	}
	return strings.Join(rows, "\n")
}

func callListToolCategories(_ context.Context, c *toolCall, args *queryArgs) (*reply, error) {
	f, err := c.finder()
	if err != nil {
		return nil, err
	}
	list, rows := []Category{}, []string{}
	for _, each := range f.Categories() {
		if !mentions(args.Query, append([]string{each.Name, each.Description}, each.Servers...)...) {
			continue
		}
		each.Name, each.Description, each.Servers = ident.CleanLine(each.Name), ident.CleanLine(each.Description), cleanLines(each.Servers)
		list = append(list, each)
		row := fmt.Sprintf("%s (%d)", each.Name, each.Tools)
		if len(each.Servers) > 1 || len(each.Servers) == 1 && each.Servers[0] != each.Name {
			row += " [" + strings.Join(each.Servers, ", ") + "]"
		}
		if each.Description != "" {
			row += ": " + each.Description
		}
		rows = append(rows, row)
	}
	return &reply{text: strings.Join(rows, "\n"), data: map[string]any{"categories": list}, hidden: true}, nil
}
