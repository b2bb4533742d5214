package search

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
)

// The fields of a tool that are searched.
const (
	fieldName   = iota // the server's own name for it
	fieldTitle         // its title
	fieldGroup         // its server's name and title, and the category
	fieldLead          // the first sentence of its description
	fieldBody          // the rest of it
	fieldPhrase        // what people say when they want it
	fieldInput         // names and descriptions of its arguments
	fieldCount
)

// The parts of one tool that are read, in bytes. Some descriptions have megabytes, but the purpose of a tool is at the beginning.
const (
	maxName  = 400
	maxTitle = 400
	maxLead  = 600
	maxBody  = 6 << 10
	maxInput = 4 << 10
	// maxAbout bounds the description of a category.
	maxAbout = 400
	// maxInputJSON bounds the schemas that are examined.
	maxInputJSON = 256 << 10
)

// doc is a tool in the index.
type doc struct {
	server      *catalog.Server
	tool        *catalog.Tool
	serverIndex int32
	category    string
	lead        string // the lead of its server
	deprecated  bool
	about       string // the description of its category; empty if Options has none
	phrases     []string
	useCases    []string
	// text holds the texts of its fields; nil once the index is built.
	text *[fieldCount]string
}

// member is a server of the catalog, with its category.
type member struct {
	server   *catalog.Server
	category string
}

// read returns the documents of a catalog, in its order, and its servers and categories.
func read(cat *catalog.Catalog, opt *Options) ([]doc, []member, []Category) {
	docs := make([]doc, 0, cat.Tools())
	members := make([]member, 0, len(cat.Servers))
	byName := map[string]*Category{}
	for i := range cat.Servers {
		s := &cat.Servers[i]
		category := strings.TrimSpace(opt.Categories[s.Key])
		if category == "" {
			category = s.Key
		}
		members = append(members, member{s, category})
		c := byName[category]
		if c == nil {
			c = &Category{Name: category}
			byName[category] = c
		}
		c.Servers, c.Tools = append(c.Servers, s.Key), c.Tools+len(s.Tools)
		described := ident.CleanLine(ident.Head(opt.About[category], maxAbout))
		if described != "" {
			c.About = described
		} else if text := about(s); len(c.About)+len(text) <= maxAbout {
			c.About = strings.TrimPrefix(c.About+"; "+text, "; ")
		}
		lead := s.Lead()
		for j := range s.Tools {
			t := &s.Tools[j]
			d := doc{server: s, tool: t, serverIndex: int32(i), category: category, lead: lead, deprecated: t.Deprecated(), about: described, phrases: opt.Phrases[t.ID]}
			for _, name := range []string{t.Name, "*"} {
				for _, text := range bounded(opt.UseCases[s.Key][name]) {
					d.useCases = append(d.useCases, ident.CleanLine(text))
				}
			}
			d.text = d.fields()
			docs = append(docs, d)
		}
	}
	categories := make([]Category, 0, len(byName))
	for _, c := range byName {
		slices.Sort(c.Servers)
		categories = append(categories, *c)
	}
	slices.SortFunc(categories, func(a, b Category) int { return strings.Compare(a.Name, b.Name) })
	return docs, members, categories
}

// about says what a server's tools are for, on one short line.
func about(s *catalog.Server) string {
	lead, _ := split(ident.CleanText(ident.Head(s.Instructions, maxLead)))
	for _, text := range []string{ident.CleanLine(s.Title), ident.CleanLine(lead), ident.CleanLine(s.Lead())} {
		if text != "" && ident.Fold(text) != ident.Fold(s.Key) {
			return shorten(text)
		}
	}
	var names []string
	for i := range s.Tools {
		names = append(names, ident.CleanLine(ident.Head(s.Tools[i].Name, maxTitle)))
	}
	return shorten(strings.Join(names, ", "))
}

// shorten cuts a long line at a word.
func shorten(line string) string {
	const most = 120
	if len(line) <= most {
		return line
	}
	line = ident.Head(line, most)
	if i := strings.LastIndexByte(line, ' '); i > most/2 {
		line = line[:i]
	}
	return strings.TrimRight(line, ", ") + " …"
}

// fields returns the texts of a tool that are searched.
func (d *doc) fields() *[fieldCount]string {
	s, t := d.server, d.tool
	lead, body := split(ident.Head(t.Own(d.lead), maxLead+maxBody))
	return &[fieldCount]string{
		fieldName:   ident.Head(t.Name, maxName),
		fieldTitle:  ident.Head(t.Title, maxTitle),
		fieldGroup:  ident.Head(s.Key, maxName) + " " + ident.Head(s.Title, maxTitle) + " " + ident.Head(d.category, maxName) + " " + ident.Head(d.lead, maxTitle),
		fieldLead:   lead,
		fieldBody:   body,
		fieldPhrase: strings.Join(slices.Concat(bounded(d.phrases), d.useCases, []string{d.about}), "\n"),
		fieldInput:  inputs(t.Input),
	}
}

// bounded returns phrases within their bounds.
func bounded(phrases []string) []string {
	var out []string
	for _, p := range phrases[:min(len(phrases), catalog.MaxPhrases)] {
		out = append(out, ident.Head(p, catalog.MaxPhrase))
	}
	return out
}

// hit returns the tool as a hit.
func (d *doc) hit(score float64) Hit {
	return Hit{ID: d.tool.ID, Server: d.server, Tool: d.tool, Category: d.category, UseCases: d.useCases, Score: score}
}

// split cuts a description after its first sentence or line, which says what the tool is for.
func split(description string) (lead, body string) {
	description = strings.TrimSpace(description)
	end := min(len(description), maxLead)
	for _, mark := range []string{"\n", ". ", "。"} {
		if i := strings.Index(description[:end], mark); i > 0 {
			end = i + len(mark)
		}
	}
	for end < len(description) && !utf8.RuneStart(description[end]) {
		end--
	}
	return description[:end], description[end:]
}

// inputs returns the names and descriptions of a schema's properties.
func inputs(schema json.RawMessage) string {
	if len(schema) > maxInputJSON {
		return ""
	}
	parsed, err := jsonschema.Parse(schema, jsonschema.Unlimited)
	if err != nil {
		return ""
	}
	var out strings.Builder
	for _, property := range parsed.Get("properties").Sorted() {
		out.WriteString(ident.Head(property.Key, maxName))
		out.WriteByte(' ')
		out.WriteString(ident.Head(property.Value.Str("description"), maxTitle))
		out.WriteByte('\n')
		if out.Len() > maxInput {
			break
		}
	}
	return ident.Head(out.String(), maxInput)
}
