package task

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/gen/tokens"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Bounds of a selection.
const (
	// DefaultMaxTools bounds the tools of a selection.
	DefaultMaxTools = 12
	// DefaultMaxTokens bounds what a model reads of the tools of a selection.
	DefaultMaxTokens = 8_000
	// maxSignature bounds a signature, in bytes. The types of results come last.
	maxSignature = 1_200
	// MaxText is the longest task, in bytes.
	MaxText = 8 << 10
)

// Tree is a generated tree, and its index.
type Tree struct {
	*gen.Tree
	*search.Index
}

// Languages are those of scripts that the tree has wrappers for, the preferred one first.
func (t *Tree) Languages() []sandbox.Language {
	var out []sandbox.Language
	for _, l := range gen.Languages() {
		has := func(tool catalog.LockTool) bool { _, ok := tool.Names[l.Name]; return ok }
		for _, s := range t.Lock.Servers {
			if slices.ContainsFunc(slices.Collect(maps.Values(s.Tools)), has) {
				out = append(out, sandbox.Language(l.Name))
				break
			}
		}
	}
	return out
}

// Selection is the tools that a task needs.
type Selection struct {
	Language sandbox.Language `json:"language"`
	// Found counts the tools of the tree, and Servers its servers.
	Found   int `json:"found"`
	Servers int `json:"servers"`
	// Tools are selected, the likeliest first.
	Tools []Tool `json:"tools"`
	// By says how they were found: "words", or "meaning" with an endpoint for embeddings. Degraded is why it was not by meaning although an
	// endpoint is configured.
	By       string `json:"by"`
	Degraded string `json:"degraded,omitempty"`
}

// Tool is a selected tool. All its texts are the server's, and hostile.
type Tool struct {
	ID     string `json:"tool"`
	Server string `json:"server"`
	// Import is the statement that imports it alone.
	Import string `json:"import"`
	// Signature is the head of its function with the types it needs.
	Signature string `json:"signature"`
	// UsedTogether are tools and skills that runs used with it, if the caller recommends them; see [search.Result].
	UsedTogether []string `json:"usedTogether,omitempty"`

	name     string // of the function in the script
	function string // that is imported
	dir      string // of the server
	source   string // for a model: the wrapper or, if it is too long, the signature
	tool     *catalog.Tool
}

// String says what was found and selected: "11 tools found in 4 servers, 3 selected (27 %, 73 % not loaded) by words: …".
func (s *Selection) String() string {
	servers, share := map[string][]string{}, 0.0
	var order []string
	for _, t := range s.Tools {
		if servers[t.Server] == nil {
			order = append(order, t.Server)
		}
		servers[t.Server] = append(servers[t.Server], t.function)
	}
	if s.Found > 0 {
		share = math.Round(100 * float64(len(s.Tools)) / float64(s.Found))
	}
	text := fmt.Sprintf("%s found in %s, %d selected (%.0f %%, %.0f %% not loaded) by %s", count(s.Found, "tool"), count(s.Servers, "server"), len(s.Tools), share, 100-share, s.By)
	for i, server := range order {
		text += map[bool]string{true: ": ", false: "; "}[i == 0] + server + " (" + strings.Join(servers[server], ", ") + ")"
	}
	return ident.CleanLine(text)
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Select finds the tools that a task needs, in a language that the tree has. The zero values of the bounds are their defaults. The error is a
// *[TextError], a *[LanguageError], a *[NothingError], the context's, or that of a wrapper which cannot be read.
func (t *Tree) Select(ctx context.Context, text string, lang sandbox.Language, maxTools, maxTokens int) (*Selection, error) {
	if text = strings.TrimSpace(text); text == "" || len(text) > MaxText {
		return nil, &TextError{len(text)}
	}
	if have := t.Languages(); !slices.Contains(have, lang) && len(have) > 0 {
		return nil, &LanguageError{Language: lang, Have: have}
	}
	s := &Selection{Language: lang, Found: t.Catalog.Tools(), Servers: len(t.Catalog.Servers), By: "words", Tools: []Tool{}}
	hits, err := t.likely(ctx, text, s)
	if err != nil {
		return nil, err
	}
	for _, h := range hits {
		if err := t.add(s, h.Hit, maxTools, maxTokens); err != nil {
			return nil, err
		}
	}
	if len(s.Tools) == 0 {
		return nil, &NothingError{s}
	}
	s.distinguish()
	return s, nil
}

// add adds a tool to a selection, if there is room for it. The first has room in any case.
func (t *Tree) add(s *Selection, h search.Hit, maxTools, maxTokens int) error {
	if len(s.Tools) >= cmp.Or(maxTools, DefaultMaxTools) {
		return nil
	}
	tool, err := t.read(h, s.Language)
	if err != nil || tool == nil { // another version of mcpgen made the tree
		return err
	}
	left := cmp.Or(maxTokens, DefaultMaxTokens)
	for i := range s.Tools {
		left -= tokens.Estimate(s.Tools[i].source)
	}
	if tokens.Estimate(tool.source) > left {
		tool.source = tool.Signature
	}
	if tokens.Estimate(tool.source) <= left || len(s.Tools) == 0 {
		s.Tools = append(s.Tools, *tool)
	}
	return nil
}

// Widen returns a selection with further tools of its servers that say they are read-only, the likeliest first, within the same bounds. It is the
// same if there is no room, or no such tool.
func (t *Tree) Widen(ctx context.Context, s *Selection, text string, maxTools, maxTokens int) (*Selection, error) {
	wider, has := *s, map[string]bool{}
	wider.Tools = slices.Clone(s.Tools)
	servers := map[string]bool{}
	for i := range s.Tools {
		servers[s.Tools[i].dir], has[s.Tools[i].ID] = true, true
	}
	likely, err := t.Answer(ctx, search.Query{Text: text, Limit: search.MaxLimit})
	if err != nil {
		return nil, err
	}
	hits := likely.Hits
	for i := range t.Catalog.Servers {
		server := &t.Catalog.Servers[i]
		for j := range server.Tools {
			hits = append(hits, search.Hit{ID: server.Tools[j].ID, Server: server, Tool: &server.Tools[j]})
		}
	}
	for _, h := range hits {
		if !servers[h.Server.Dir] || has[ident.CleanLine(h.ID)] || h.Tool.Hints.ReadOnly == nil || !*h.Tool.Hints.ReadOnly {
			continue
		}
		has[ident.CleanLine(h.ID)] = true
		if err := t.add(&wider, h, maxTools, maxTokens); err != nil {
			return nil, err
		}
	}
	wider.distinguish()
	return &wider, nil
}

// read reads a tool's wrapper. It returns nil if the tree has no wrapper in the language.
func (t *Tree) read(h search.Hit, lang sandbox.Language) (*Tool, error) {
	d, err := t.Find(h.ID)
	if err != nil {
		return nil, err
	}
	l, known := gen.LanguageOf(string(lang))
	i := slices.IndexFunc(d.Wrappers, func(w gen.Wrapper) bool { return w.Language == string(lang) })
	if i < 0 || !known {
		return nil, nil
	}
	w := d.Wrappers[i]
	return &Tool{
		ID: ident.CleanLine(h.ID), Server: ident.CleanLine(h.Server.Key), Import: ident.CleanLine(w.Import),
		Signature: cut(ident.CleanText(l.Brief(w.Source, w.Function)), maxSignature), name: w.Function, function: w.Function, dir: h.Server.Dir,
		source: ident.CleanText(w.Lean), tool: h.Tool,
	}, nil
}

// distinguish gives functions of one name names of their own.
func (s *Selection) distinguish() {
	used := map[string]int{}
	for _, t := range s.Tools {
		used[t.function]++
	}
	for i := range s.Tools {
		t := &s.Tools[i]
		switch {
		case used[t.function] < 2:
		case s.Language == sandbox.LangPython:
			t.name = t.dir + "_" + t.function
		default:
			t.name = ident.Camel(t.dir) + ident.Pascal(t.function)
		}
	}
}

const (
	// likelyShare is the share of the best hit's score from which a tool is likely. For 91 % of the questions in testdata/search the answer is then
	// selected among 1,438 tools, with 5.9 tools on average; with 0.5 it is 84 % and 3.3. Rankings by meaning give every tool a score, and the
	// whole of a task with clauses says less than they do.
	likelyShare, likelyMeaning, likelyWhole = 0.3, 0.45, 0.5
	// noise is the share of the best clause's score below which a clause says nothing about tools: "and thank them".
	noise = 0.1
	// maxClauses bounds the searches of a task. What follows is searched as one.
	maxClauses = 8
	// maxHits bounds the hits of one search.
	maxHits = 24
)

// likelyHit is a hit with its share of the best score.
type likelyHit struct {
	search.Hit
	share float64
}

// likely returns the tools that one of the task's clauses, or the whole of it, is likely to mean, the likeliest first.
func (t *Tree) likely(ctx context.Context, text string, s *Selection) ([]likelyHit, error) {
	parts := clauses(text)
	whole := len(parts)
	if whole > 1 {
		parts = append(parts, text)
	}
	answers := make([]search.Answer, len(parts))
	best := 0.0
	for i, part := range parts {
		a, err := t.Answer(ctx, search.Query{Text: part, Limit: maxHits})
		if err != nil {
			return nil, err
		}
		if a.Weight > 0 {
			s.By = "meaning"
		}
		if a.Degraded != nil {
			s.Degraded = a.Degraded.Error()
		}
		if answers[i] = a; len(a.Hits) > 0 {
			best = max(best, a.Hits[0].Score)
		}
	}
	found := map[string]likelyHit{}
	for i, a := range answers {
		least := likelyShare
		if a.Weight > 0 {
			least = likelyMeaning
		}
		if i == whole {
			least = likelyWhole
		}
		for _, h := range a.Hits {
			share := h.Score / max(a.Hits[0].Score, 1e-9)
			if share < least || a.Hits[0].Score < noise*best {
				break
			}
			if share > found[h.ID].share {
				found[h.ID] = likelyHit{h, share}
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b likelyHit) int {
		return cmp.Or(cmp.Compare(b.share, a.share), strings.Compare(a.ID, b.ID))
	}), nil
}

// boundaries end a clause.
var boundaries = regexp.MustCompile(`(?i)[.;:!?]+\s+|\n+|,\s+(?:and\s+)?(?:then\s+)?|\s+(?:and\s+then|and|then)\s+`)

// clauses splits a task at the ends of sentences, commas, "and" and "then". A single word belongs to the clause before it: "salt and pepper".
func clauses(text string) []string {
	var out []string
	for _, part := range boundaries.Split(text, -1) {
		part = strings.TrimSpace(part)
		switch {
		case part == "":
		case len(out) > 0 && (len(out) == maxClauses || !strings.Contains(part, " ")):
			out[len(out)-1] += " " + part
		default:
			out = append(out, part)
		}
	}
	return out
}
