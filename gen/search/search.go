// Package search finds the tools of a catalog that do what somebody wants done, described in words: "close a pull request" finds
// github__update_pull_request. Start with [New] and [Index.Search].
//
// Words are looked up in an inverted index in memory. Names are split into words (getDocument, get_document, get-document), words are
// stemmed, some have synonyms (words.txt), and a word that no tool has is replaced by the one that it resembles. Tools are ranked by
// [BM25F]: a word in a name counts for more than one in a description. A query may have several wordings, whose rankings are added up. With
// an [Embedder], a second ranking, by meaning, is added. A self-test with the tools' own names determines its weight. If this ranking
// fails, the first one is used alone, and the caller is told why.
//
// Catalogs and queries are foreign text: only their letters and digits reach the index, and there is no query language into which they
// could be injected. The same catalog and query give the same hits in the same order.
//
// SQLite's FTS5 with its porter tokenizer and bm25() was tried instead, with the same synonyms: it found 62 % of 60 new questions among the
// first three hits where this index found 70 %, and needs a query for each term.
//
// [BM25F]: https://doi.org/10.1561/1500000019
package search

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// Bounds of a query, and their defaults.
const (
	// DefaultLimit is the number of hits if a query sets none. MaxLimit is the most that it may ask for.
	DefaultLimit, MaxLimit = 10, 100
	// MaxText bounds each wording, in bytes. MaxWordings bounds the number of wordings.
	MaxText, MaxWordings = 4 << 10, 8
)

// Options are the settings of [New].
type Options struct {
	// Categories are the names of groups to which servers belong, by server key. A server without one is a category of its own, with the
	// server's name.
	Categories map[string]string
	// About are descriptions of categories by their names, and UseCases what people use a server's tools for: by server key, and by the
	// tool's own name or "*" for all of them. They are searched and shown. Only the first [catalog.MaxPhrases] of each list are used, and of
	// each only the first [catalog.MaxPhrase] bytes.
	About    map[string]string
	UseCases map[string]map[string][]string
	// Phrases are what people say when they want a tool, by tool id. They are searched too. Only the first [catalog.MaxPhrases] are used,
	// and of each only the first [catalog.MaxPhrase] bytes.
	Phrases map[string][]string
	// Incomplete says why the index lacks something, and is included in each [Answer]. Nil: it is complete.
	Incomplete error
	// Embedder adds a ranking by meaning. Nil: tools are ranked by words only.
	Embedder Embedder
	// CacheDir is a folder for the vectors of tools, which is created if missing. Empty: nothing is kept on disk.
	CacheDir string
	// EmbedTime bounds how long one search waits for the Embedder. 0: 10 seconds.
	EmbedTime time.Duration
	// Degraded is called with the reason if a search was answered by words only although there is an Embedder; see [Answer]. It must be
	// safe for concurrent use. It may be nil.
	Degraded func(error)
}

// Index is a searchable catalog. It is safe for concurrent use.
type Index struct {
	opts       Options
	docs       []doc
	members    []member
	categories []Category
	words      *vocabulary
	vectors    *vectors // nil if there is no Embedder
}

// Query describes what to look for.
type Query struct {
	// Text consists of words, or parts of names. Only its first [MaxText] bytes are used.
	Text string
	// Also are other wordings of the same request. A tool that several wordings find ranks higher. Only the first [MaxWordings] are used,
	// including Text.
	Also []string
	// Server is a server's key or folder, and Category the name of a category or of a server. Only their tools are found. Case and
	// separators are ignored. Empty: all. If there is no such server or category, the error is an *[UnknownError].
	Server, Category string
	// Limit bounds the number of hits. 0: [DefaultLimit]; it is never more than [MaxLimit].
	Limit int
}

// Hit is one tool of an answer.
type Hit struct {
	// ID is the tool's id.
	ID     string
	Server *catalog.Server
	Tool   *catalog.Tool
	// Category is the server's category.
	Category string
	// UseCases are those of the tool, and then those of its server.
	UseCases []string
	// Score is higher for a better fit. Scores are only comparable within one answer.
	Score float64
}

// Answer is the result of a search.
type Answer struct {
	// Hits are sorted by score, the best first, and then by id.
	Hits []Hit
	// Weight is the weight of the ranking by meaning, from 0 to 1; the ranking by words has weight 1. A self-test of the index chooses it.
	Weight float64
	// Degraded says why the ranking by meaning was not used although there is an Embedder, why its vectors are not kept on disk, or why the
	// index is incomplete. It is nil if none of these applies.
	Degraded error
}

// Category is a group of servers.
type Category struct {
	Name string `json:"name"`
	// About says what the tools are for, on one line: the description in [Options], or foreign text, which is the title of each server, or the
	// beginning of its instructions, or else the names of its first tools.
	About string `json:"about"`
	// Servers are the keys of its servers, sorted.
	Servers []string `json:"servers"`
	// Tools is the number of their tools together.
	Tools int `json:"tools"`
}

// Is reports whether name is this category's name, ignoring case and separators.
func (c Category) Is(name string) bool { return ident.Fold(c.Name) == ident.Fold(name) }

// New builds the index of a catalog, which must not change afterwards.
func New(cat *catalog.Catalog, opt *Options) *Index {
	x := &Index{}
	if opt != nil {
		x.opts = *opt
	}
	x.docs, x.members, x.categories = read(cat, &x.opts)
	x.words = newVocabulary(x.docs)
	for i := range x.docs {
		x.docs[i].text = nil // the vocabulary now has what is needed
	}
	if x.opts.Embedder != nil {
		x.vectors = newVectors(x.opts)
	}
	return x
}

// Categories returns all categories, sorted by name.
func (x *Index) Categories() []Category { return x.categories }

// Search returns the hits of [Index.Answer].
func (x *Index) Search(ctx context.Context, q Query) ([]Hit, error) {
	a, err := x.Answer(ctx, q)
	return a.Hits, err
}

// Answer finds tools. A query without any word finds all tools that the filters leave, sorted by id. The id of a tool finds only this tool.
// The errors are *[UnknownError], and the context's.
func (x *Index) Answer(ctx context.Context, q Query) (Answer, error) {
	scope, err := x.scope(q)
	if err != nil {
		return Answer{}, err
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, context.Cause(ctx)
	}
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(limit, MaxLimit)
	found, inWords := x.read(q, scope)
	switch {
	case found == nil:
		return Answer{Hits: x.hits(x.all(scope), limit), Degraded: x.opts.Incomplete}, nil
	case x.vectors == nil || len(inWords) == 0:
		return Answer{Hits: x.hits(x.fuse(found...), limit), Degraded: x.opts.Incomplete}, nil
	}
	byWords := x.fuse(found...)
	near, weight, degraded := x.vectors.rank(ctx, x, inWords, scope, len(byWords) == 0)
	if ctx.Err() != nil {
		return Answer{}, context.Cause(ctx)
	}
	if degraded != nil && x.opts.Degraded != nil {
		x.opts.Degraded(degraded)
	}
	return Answer{Hits: x.hits(x.merge(byWords, near, weight), limit), Weight: weight, Degraded: errors.Join(x.opts.Incomplete, degraded)}, nil
}

// read ranks the tools for each wording of a query that contains a word. It returns nil if none does. inWords are the wordings that are not
// ids.
func (x *Index) read(q Query, s scope) (found [][]ranked, inWords []string) {
	texts := append([]string{q.Text}, q.Also...)
	for _, text := range texts[:min(MaxWordings, len(texts))] {
		text = ident.Head(text, MaxText)
		if i := slices.IndexFunc(x.docs, func(d doc) bool { return d.tool.ID == strings.TrimSpace(text) && s.has(&d) }); i >= 0 {
			found = append(found, []ranked{{int32(i), 1}})
		} else if asked := x.words.question(text); !asked.empty() {
			found, inWords = append(found, x.byWords(asked, s)), append(inWords, text)
		}
	}
	return found, inWords
}

// hits returns the first of ranked, in which deprecated tools are moved down. It changes the list.
func (x *Index) hits(list []ranked, limit int) []Hit {
	moved := false
	for i, r := range list {
		if x.docs[r.doc].deprecated {
			list[i].score, moved = deprecatedShare*r.score, true
		}
	}
	if moved {
		x.sort(list)
	}
	out := make([]Hit, 0, min(limit, len(list)))
	for _, r := range list[:min(limit, len(list))] {
		out = append(out, x.docs[r.doc].hit(r.score))
	}
	return out
}

// Hit returns the tool with an id, with a score of 0. It reports whether the tool is in the index.
func (x *Index) Hit(id string) (Hit, bool) {
	i := slices.IndexFunc(x.docs, func(d doc) bool { return d.tool.ID == id })
	if i < 0 {
		return Hit{}, false
	}
	return x.docs[i].hit(0), true
}
