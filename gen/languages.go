package gen

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/python"
	"github.com/mcpgen/mcpgen/gen/render/typescript"
	"github.com/mcpgen/mcpgen/gen/verify"
)

// Language is a target language of the tree: its printer, and an independent reader for the printed files.
type Language struct {
	*render.Language
	VerifyWrapper func(want verify.Wrapper, source []byte) error
	VerifyIndex   func(want verify.Index, source []byte) error
	// VerifyModule reads a module for what a server offers besides tools.
	VerifyModule func(want verify.Offer, source []byte) error
}

// Languages returns the target languages. Where any language will do, the first one that the tree has is used. All code that depends on the
// target language reads this table. docs/design.md describes how to add one.
func Languages() []*Language {
	return []*Language{
		{typescript.Language(), verify.Wrapper.TypeScript, verify.Index.TypeScript, verify.Offer.TypeScript},
		{python.Language(), verify.Wrapper.Python, verify.Index.Python, verify.Offer.Python},
	}
}

// LanguageOf finds a language by its long or short name.
func LanguageOf(name string) (*Language, bool) {
	all := Languages()
	i := slices.IndexFunc(all, func(l *Language) bool { return l.Name == name || l.Short == name })
	if i < 0 {
		return nil, false
	}
	return all[i], true
}

// LanguageNames lists the names of the languages, and the other words that may be given, for messages: "typescript, python or all".
func LanguageNames(beside ...string) string {
	var names []string
	for _, l := range Languages() {
		names = append(names, l.Name)
	}
	names = append(names, beside...)
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// languagesOf returns the languages of the settings.
func languagesOf(names []config.Language) []*Language {
	return slices.DeleteFunc(Languages(), func(l *Language) bool { return !slices.Contains(names, config.Language(l.Name)) })
}

func printers(languages []*Language) []*render.Language {
	out := make([]*render.Language, len(languages))
	for i, l := range languages {
		out[i] = l.Language
	}
	return out
}
