package poison

import (
	"encoding/json"
	"slices"
)

// Finding is one piece of text that a person should look at.
type Finding struct {
	// Place is "server#/title", "server#/instructions", "server#/prompts/name/description", "server/tool#/name" or any JSON
	// pointer into the tool's definition, such as "server/tool#/inputSchema/properties/x/description". It contains
	// text from the server that is not escaped.
	Place string
	// Rule is the id of a [Rule].
	Rule string
	// Message describes the text and quotes the words, clipped and with invisible characters escaped.
	Message string
}

// scan collects the findings for one tool or prompt.
type scan struct {
	others  *otherNames // nil if there are no other servers
	matcher *matcher
	// allowed lists the ids of rules whose findings are left out. They do not count towards maxFindings, which would let
	// them hide other findings.
	allowed []string
	// known are texts that were checked before or are of no interest. It may be nil.
	known map[string]bool
	// old is the previous definition, and previous its text. Both are nil if there was none or only the present one matters.
	old      json.RawMessage
	previous *previousText
	found    []Finding
}

// add adds a finding, unless its rule is allowed or the bound is reached.
func (s *scan) add(place, rule, excerpt string) {
	if len(s.found) < maxFindings && !slices.Contains(s.allowed, rule) {
		s.found = append(s.found, Finding{place, rule, description(rule) + ": " + quote(excerpt)})
	}
}

// previousText is the previous text of a definition: its sentences, both as words and as they are written, its addresses, and its words that may
// be names.
type previousText struct {
	sentences, addresses, names map[string]bool
}

const (
	// maxFindings bounds the findings for one tool or prompt.
	maxFindings = 10
	// maxText bounds how much of one text is checked, in bytes.
	maxText = 256 << 10
	// maxServer bounds how much text of one server's tools, and of its prompts, is checked, in bytes.
	maxServer = 32 << 20
)
