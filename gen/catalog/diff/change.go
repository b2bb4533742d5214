package diff

import (
	"fmt"
	"strings"
)

// Kind is what a [Change] is about.
type Kind string

// The kinds of changes.
const (
	ServerAdded   Kind = "server-added"
	ServerRemoved Kind = "server-removed"
	ServerText    Kind = "server-text" // the server's title or instructions
	ToolAdded     Kind = "tool-added"
	ToolRemoved   Kind = "tool-removed"
	ToolRenamed   Kind = "tool-renamed"
	Title         Kind = "title"
	Description   Kind = "description"
	Input         Kind = "input"
	Output        Kind = "output"
	HintsChanged  Kind = "hints"
	Definition    Kind = "definition" // anything else in a tool's definition
	Resources     Kind = "resources"  // whether a server offers resources
	Prompts       Kind = "prompts"    // the prompts of a server: which there are, and what they take
)

// Impact is the effect of a change on code that was written for the old definition.
type Impact string

// The impacts, from the worst.
const (
	// Breaking: a call that was right may be refused, or a reply may hold what it could not before.
	Breaking Impact = "breaking"
	// Compatible: calls and replies that were right are right.
	Compatible Impact = "compatible"
	// NoImpact: it affects no value. Texts and hints are such changes, although a model may read them differently.
	NoImpact Impact = "none"
)

// Worse returns the worse of two impacts.
func (i Impact) Worse(j Impact) Impact {
	switch {
	case i == Breaking || j == Breaking:
		return Breaking
	case i == Compatible || j == Compatible:
		return Compatible
	}
	return NoImpact
}

// Verdict decides whether calls of a tool may continue after a change that nobody has reviewed.
type Verdict string

// The verdicts, from the worst.
const (
	// BreakingVerdict: a call that was right may be refused, a reply may hold what it could not before, or an assurance was taken back.
	BreakingVerdict Verdict = "breaking"
	// Undecided: it was not shown that the change is harmless.
	Undecided Verdict = "undecided"
	// Harmless: each input that was valid still is, outputs stay within what they were, and no new text is suspicious.
	Harmless Verdict = "harmless"
)

// Worse returns the worse of two verdicts. An empty one is better than any other.
func (v Verdict) Worse(w Verdict) Verdict {
	for _, worst := range []Verdict{BreakingVerdict, Undecided, Harmless} {
		if v == worst || w == worst {
			return worst
		}
	}
	return v
}

// Op is the kind of change of one item.
type Op string

// The ops. Widened and narrowed compare the sets of values that a schema accepts.
const (
	Added     Op = "added"
	Removed   Op = "removed"
	Widened   Op = "widened"   // accepts all it did, and more
	Narrowed  Op = "narrowed"  // accepts less than it did, and nothing new
	Changed   Op = "changed"   // anything else, or not known to be either
	Required  Op = "required"  // a property that could be left out no longer can
	Optional  Op = "optional"  // and the other way round
	Text      Op = "text"      // words that a person or a model reads
	Respelled Op = "respelled" // written differently, with the same meaning
)

// Change is one difference between two catalogs. All strings but the constants hold foreign text. Its JSON form is a
// promise to programs: fields are added to it, never changed.
type Change struct {
	Server string `json:"server"`
	// Dir is the server's folder in the new catalog, or in the old one when it is gone.
	Dir string `json:"dir"`
	// Tool is the server's own name for it; empty when the change is about the server.
	Tool string `json:"tool,omitempty"`
	ID   string `json:"id,omitempty"`
	// OldTool and OldID are the former names of a renamed tool; Tool and ID are its new ones.
	OldTool string `json:"oldTool,omitempty"`
	OldID   string `json:"oldId,omitempty"`
	Kind    Kind   `json:"kind"`
	// Impact is the worst one of Items.
	Impact Impact `json:"impact"`
	// Verdict decides whether calls may continue. Why is its reason, if Items do not show it.
	Verdict Verdict `json:"verdict,omitempty"`
	Why     string  `json:"why,omitempty"`
	// Important reports whether a server took back an assurance: a tool no longer claims to be read-only, or may destroy now.
	Important bool `json:"important"`
	// Summary is the first line of the description of a tool that came or went.
	Summary string `json:"summary,omitempty"`
	// Tools are the names of the tools of a server that came or went.
	Tools []string `json:"tools,omitempty"`
	// Items are the change itself; empty for what came or went.
	Items []Item `json:"items"`
	// More is the number of items left out.
	More int `json:"more,omitempty"`
}

// Lines describes the change, one line for each item.
func (c Change) Lines() []string {
	lines := []string{}
	switch c.Kind {
	case ServerAdded, ServerRemoved:
		return append(lines, c.Tools...)
	case ToolAdded, ToolRemoved:
		if c.Summary != "" {
			lines = append(lines, c.Summary)
		}
	case ToolRenamed:
		lines = append(lines, "renamed from "+c.OldTool)
	}
	for _, i := range c.Items {
		lines = append(lines, i.Line())
	}
	if c.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", c.More))
	}
	if c.Why != "" {
		lines = append(lines, c.Why)
	}
	return lines
}

// Label names the place of an item for people: "input.filters[].op".
func (c Change) Label(i Item) string {
	switch {
	case c.Kind == HintsChanged, c.Kind == ServerText:
		return i.Keyword
	case c.Kind == Definition:
		return strings.TrimPrefix(i.Place, "#/")
	case i.Place == "":
		return string(c.Kind)
	case strings.ContainsAny(i.Place[:1], "[{<"):
		return string(c.Kind) + i.Place
	}
	return string(c.Kind) + "." + i.Place
}

// Line describes the item in one line: "limit: narrowed: maximum 100 → 50".
func (i Item) Line() string {
	place := i.Place
	if place == "" && i.Op != Text && strings.HasSuffix(i.Keyword, "Hint") {
		place = i.Keyword
	}
	if place != "" {
		place += ": "
	}
	also := ""
	if len(i.Also) > 0 {
		also = " (also " + strings.Join(i.Also, ", ") + ")"
	}
	return place + i.Message + also
}

// Item is one thing in a [Change].
type Item struct {
	// Path is a JSON pointer (RFC 6901) with "#" before it: into the schema as it is with each $ref replaced by what
	// it stands for, or into the definition. Empty outside schemas.
	Path string `json:"path,omitempty"`
	// Place is the same for people: "filters[].name". Empty is the whole.
	Place string `json:"place,omitempty"`
	// Also are further Places of the same definition, which is used several times.
	Also []string `json:"also,omitempty"`
	// Keyword names what changed: a schema keyword, "property", "description", or a hint.
	Keyword   string `json:"keyword,omitempty"`
	Op        Op     `json:"op"`
	Impact    Impact `json:"impact"`
	Important bool   `json:"important,omitempty"`
	// Old and New are what was and what is there, shortened; empty where there is nothing. JSON, or a text's words.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// Edits are the words that changed, when Op is Text.
	Edits []Edit `json:"edits,omitempty"`
	// Message is the item in one line, without Place.
	Message string `json:"message"`
}

// Edit is one stretch of a text.
type Edit struct {
	// Op is "keep", "add", "remove", or "skip" for words on both sides that are left out.
	Op   string `json:"op"`
	Text string `json:"text,omitempty"`
}

// The values of [Edit.Op].
const (
	Keep = "keep"
	Add  = "add"
	Drop = "remove"
	Skip = "skip"
)
