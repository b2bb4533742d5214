package gen

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/search"
)

// maxShown bounds the part of a description in a result, in bytes. A cut description ends with an ellipsis.
const maxShown = 300

// maxSignature bounds a signature, in bytes. The types of results come last, and are cut first.
const maxSignature = 1200

// Results returns hits with as much about each tool as detail asks for; "" means [search.DetailDescription]. If there are at most
// [search.Few] hits, each has its import and signature in any case. Imports, signatures and sources are in lang or, if lang is empty, in
// the first of [Languages] that the tree has. It is an error if the tree does not have a language, or if a wrapper cannot be read. Imports
// are also given in the languages in also for which the tool has wrappers.
func (t *Tree) Results(hits []search.Hit, detail search.Detail, lang config.Language, also ...config.Language) ([]search.Result, error) {
	out := make([]search.Result, 0, len(hits))
	likely := search.Likely(hits)
	for i, h := range hits {
		few := len(hits) <= search.Few || detail == search.DetailSignature && i < likely
		r := search.Result{Tool: ident.CleanLine(h.ID), Server: ident.CleanLine(h.Server.Key)}
		if h.Category != h.Server.Key {
			r.Category = ident.CleanLine(h.Category)
		}
		switch detail {
		case search.DetailName:
		case search.DetailSignature:
			if few {
				first, _, _ := strings.Cut(shown(h), ". ")
				r.Description = cut(first, maxShown/3)
			}
		default:
			r.Description = shown(h)
		}
		if !few && (detail == search.DetailName || detail == search.DetailSignature) {
			out = append(out, r)
			continue
		}
		names, language, err := t.names(h, lang)
		if err != nil {
			return nil, err
		}
		r.Import = ident.CleanLine(language.Import(h.Server.Dir, names.Function))
		for _, other := range also {
			if names, language, err := t.names(h, other); err == nil {
				r.OtherImports = append(r.OtherImports, ident.CleanLine(language.Import(h.Server.Dir, names.Function)))
			}
		}
		if few || detail == search.DetailFull {
			source, err := t.source(names.File)
			if err != nil {
				return nil, err
			}
			if detail == search.DetailFull {
				r.UseCases = h.UseCases
				r.Description, r.Source = "", ident.CleanText(lean(source)) // which contains the rest
			} else {
				r.Comment = language.Comment
				r.Signature = cut(ident.CleanText(language.Brief(source, names.Function)), maxSignature)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// names finds a tool's wrapper in a language or, if lang is empty, in the first that the tree has.
func (t *Tree) names(h search.Hit, lang config.Language) (catalog.LockNames, *Language, error) {
	have := t.Lock.Servers[h.Server.Key].Tools[h.Tool.Name].Names
	for _, l := range Languages() {
		if n, ok := have[l.Name]; ok && (lang == "" || string(lang) == l.Name) {
			return n, l, nil
		}
	}
	wanted := cmp.Or(string(lang), Languages()[0].Name)
	return catalog.LockNames{}, nil, &catalog.TreeError{Dir: t.Dir, Err: fmt.Errorf("it has no wrapper of %s in %s", h.ID, wanted)}
}

// lean returns a wrapper without its first lines: the header, directives for type checkers, and imports.
func lean(source string) string {
	for {
		line, rest, more := strings.Cut(source, "\n")
		switch {
		case !more:
			return source
		case line == "", strings.HasPrefix(line, "// "), strings.HasPrefix(line, "# "), strings.HasPrefix(line, "import "), strings.HasPrefix(line, "from "):
			source = rest
		default:
			return source
		}
	}
}

// shown returns the beginning of a tool's own description, on one line.
func shown(h search.Hit) string {
	text := strings.TrimSpace(ident.CleanText(h.Tool.Own(h.Server.Lead())))
	if text == "" {
		text = ident.CleanText(h.Tool.Title)
	}
	if first, _, _ := strings.Cut(text, ". "); h.Tool.Deprecated() && !strings.Contains(strings.ToLower(first), "deprecated") {
		text = "DEPRECATED: " + text
	}
	if paragraph, _, more := strings.Cut(text, "\n\n"); more && len(paragraph) >= maxShown/4 {
		text = paragraph + " …"
	}
	return cut(ident.CleanLine(text), maxShown)
}

// cut returns the beginning of a text longer than most bytes, up to a space, with an ellipsis.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = ident.Head(text, most)
	if i := strings.LastIndexByte(text, ' '); i > len(text)/2 {
		text = text[:i]
	}
	return text + " …"
}
