package poison

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/ident"
)

// tool checks every string in the definition of a tool, including keys.
func (s *scan) tool(server string, t catalog.Tool) {
	s.definition(server+"/"+clip(t.Name)+"#", t.Raw)
}

// definition checks every string in a JSON value, including keys. It stops at a syntax error.
func (s *scan) definition(place string, raw json.RawMessage) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return
		}
		if token.Kind() != '"' {
			continue
		}
		text := token.String()
		if s.known[text] {
			continue
		}
		kind, length := dec.StackIndex(dec.StackDepth())
		isKey := kind == '{' && length%2 == 1
		if isKey && plainWord(text) {
			continue
		}
		pointer := string(dec.StackPointer())
		s.text(place+clip(pointer), text, isKey || pointer == "/name")
	}
}

// clip cuts a name or a pointer to 1,000 bytes.
func clip(s string) string { return ident.Clip(s, 1000) }

// plainWord reports whether a key is one short word of ASCII letters, which cannot be an instruction.
func plainWord(key string) bool {
	if len(key) > 24 {
		return false
	}
	for i := range len(key) {
		if c := key[i] | 0x20; (c < 'a' || c > 'z') && key[i] != '$' {
			return false
		}
	}
	return true
}

// text checks one text with all rules. isName is as for [Text].
func (s *scan) text(place, text string, isName bool) {
	if text == "" || len(s.found) >= maxFindings {
		return
	}
	if len(text) > maxText {
		s.add(place, TooLong, text[:40])
		text = text[:maxText]
	}
	s.characters(place, text)
	n := normalize(s.matcher, text, isName)
	last := ""
	for i := range s.matcher.rules {
		r := &s.matcher.rules[i]
		if r.id == last {
			continue // report each rule once
		}
		if excerpt := r.match(n); excerpt != "" {
			last = r.id
			s.add(place, r.id, excerpt)
		}
	}
	if strings.Contains(place, "/enum/") {
		return // a value may have any name
	}
	if excerpt := s.others.mention(n.plain); excerpt != "" {
		s.add(place, otherServer, excerpt)
	}
	if s.old != nil {
		s.added(place, text)
	}
}
