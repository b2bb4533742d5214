// Package drift judges whether calls of a tool may go on after its definition has changed: a [diff.Verdict]. Start with [Judge] and
// [Definitions].
//
// A change is harmless if every input that was valid still is and has the same defaults, outputs stay within what they were, hints take no assurance back, and
// new texts are not suspicious. For schemas that has to be shown, by rules over their keywords that are one-sided: what they cannot
// show, or do not know, is undecided. The time for one tool is bounded, and less than a millisecond for those that servers have.
//
// Package diff says what changed; this package decides.
package drift

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/poison"
)

// Texts finds suspicious texts of a definition that the former one does not have. *[poison.Checker] implements it.
type Texts interface {
	New(server string, old, new json.RawMessage) []poison.Finding
}

// Definitions returns how one tool of a server differs between two definitions, judged. It is nil if one of them is malformed.
func Definitions(server string, old, new json.RawMessage, texts Texts) []diff.Change {
	a, errA := single(server, old)
	b, errB := single(server, new)
	if errA != nil || errB != nil {
		return nil
	}
	changes := diff.Catalogs(a, b)
	Judge(changes, a, b, texts)
	return changes
}

// single returns a catalog with one tool.
func single(server string, raw json.RawMessage) (*catalog.Catalog, error) {
	s, _ := catalog.NewServer(server, "", "", []json.RawMessage{raw})
	return catalog.New([]catalog.Server{s})
}

// Worst returns the worst verdict of changes. Without changes it is empty.
func Worst(changes []diff.Change) diff.Verdict {
	var worst diff.Verdict
	for _, c := range changes {
		worst = worst.Worse(c.Verdict)
	}
	return worst
}

// Judge sets the verdicts of the changes between two catalogs. The impact of a change of schemas follows: one that was shown to be
// harmless breaks nothing, and any other may.
func Judge(changes []diff.Change, old, new *catalog.Catalog, texts Texts) {
	j := judge{texts: texts, before: byServer(old), now: byServer(new), read: map[*catalog.Tool]bool{}, from: map[[2]string]string{}}
	for _, c := range changes {
		if c.Kind == diff.ToolRenamed {
			j.from[[2]string{c.Server, c.Tool}] = c.OldTool
		}
	}
	for i := range changes {
		j.change(&changes[i])
	}
}

type judge struct {
	texts       Texts
	before, now map[string]server
	read        map[*catalog.Tool]bool // new tools whose texts were checked
	from        map[[2]string]string   // former names, by server and tool
}

type server struct {
	*catalog.Server
	tools map[string]*catalog.Tool
}

func byServer(c *catalog.Catalog) map[string]server {
	all := map[string]server{}
	if c == nil {
		return all
	}
	for i := range c.Servers {
		s := server{&c.Servers[i], map[string]*catalog.Tool{}}
		for i := range s.Tools {
			s.tools[s.Tools[i].Name] = &s.Tools[i]
		}
		all[s.Key] = s
	}
	return all
}

// change sets the verdict of one change.
func (j *judge) change(c *diff.Change) {
	c.Verdict = diff.Harmless
	old, now := j.before[c.Server].tools[cmp.Or(j.from[[2]string{c.Server, c.Tool}], c.Tool)], j.now[c.Server].tools[c.Tool]
	switch c.Kind {
	case diff.ServerRemoved, diff.ToolRemoved, diff.ToolRenamed:
		c.Verdict = diff.BreakingVerdict
		return
	case diff.ServerAdded:
		for _, t := range j.now[c.Server].tools {
			j.suspicious(c, nil, t.Raw)
		}
		return
	case diff.ToolAdded:
		j.suspicious(c, nil, now.Raw)
		return
	case diff.ServerText:
		before, now := j.before[c.Server], j.now[c.Server]
		j.suspicious(c, texted(before.Title, before.Instructions), texted(now.Title, now.Instructions))
		return
	case diff.Resources, diff.Prompts:
		if c.Impact == diff.Breaking {
			c.Verdict = diff.BreakingVerdict
		}
		for _, p := range j.now[c.Server].Prompts {
			j.suspicious(c, nil, p.Raw)
		}
		return
	case diff.Input:
		j.schema(c, old.Input, now.Input, true, "some inputs that were valid may be invalid now")
	case diff.Output:
		switch {
		case old.Output == nil: // anything could come
		case now.Output == nil:
			c.Verdict = diff.BreakingVerdict
		default:
			j.schema(c, now.Output, old.Output, false, "outputs may no longer match the old schema")
		}
	case diff.HintsChanged:
		c.Verdict = hints(c)
	case diff.Definition:
		c.Verdict = rest(c)
	}
	if !j.read[now] {
		j.read[now] = true
		j.suspicious(c, old.Raw, now.Raw)
	}
}

// suspicious makes a harmless change undecided if a definition has new texts that are suspicious.
func (j *judge) suspicious(c *diff.Change, old, new json.RawMessage) {
	found := j.texts.New(c.Server, old, new)
	if len(found) == 0 {
		return
	}
	c.Why = "suspicious text at " + found[0].Place + ": " + found[0].Message
	if c.Verdict == diff.Harmless {
		c.Verdict = diff.Undecided
	}
}

func texted(texts ...string) json.RawMessage {
	raw, _ := json.Marshal(texts) // strings can always be marshalled
	return raw
}

// schema judges a change of a schema: whether the values that fit narrow fit wide.
func (j *judge) schema(c *diff.Change, narrow, wide json.RawMessage, input bool, why string) {
	n, errN := catalog.Decode(narrow)
	w, errW := catalog.Decode(wide)
	if shown := errN == nil && errW == nil && covers(n, w, input); shown && input && !sameDefaults(n, w) {
		c.Verdict, c.Impact = diff.Undecided, diff.Breaking
		c.Why = "a default has changed; a call that omits the value may behave differently"
		return
	} else if shown {
		c.Impact = diff.NoImpact
		for i := range c.Items {
			if c.Items[i].Impact == diff.Breaking {
				c.Items[i].Impact = diff.Compatible
			}
			c.Impact = c.Impact.Worse(c.Items[i].Impact)
		}
		return
	}
	c.Verdict = diff.Undecided
	for _, i := range c.Items {
		if i.Impact == diff.Breaking && (i.Op != diff.Changed || i.Keyword == "type" || i.Keyword == "enum") { // these lost a value and gained one
			c.Verdict = diff.BreakingVerdict
		}
	}
	if c.Impact != diff.Breaking {
		c.Impact, c.Why = diff.Breaking, why
	}
}

// hints judges a change of hints: an assurance that was taken back is not harmless. Retries rely on idempotentHint.
func hints(c *diff.Change) diff.Verdict {
	for _, i := range c.Items {
		if i.Important || i.Keyword == "idempotentHint" && i.Old == "true" {
			return diff.BreakingVerdict
		}
	}
	return diff.Harmless
}

// rest judges a change of what no other comparison looks at. Pictures and a server's own notes do nothing.
func rest(c *diff.Change) diff.Verdict {
	for _, i := range c.Items {
		switch key, _, _ := strings.Cut(strings.TrimPrefix(i.Path, "#/"), "/"); {
		case i.Op == diff.Respelled, key == "icons", key == "_meta", i.Path == "#/annotations/title":
		case key == "annotations" && titleOnly(i.Old) && titleOnly(i.New):
		case key == "execution" && !strings.Contains(i.New, "required") && len(i.New) < 40: // taskSupport: calls without a task go on
		default:
			return diff.Undecided
		}
	}
	if c.More > 0 {
		return diff.Undecided
	}
	return diff.Harmless
}

// titleOnly reports whether the JSON text of annotations, of which hints were taken out, has nothing but a title.
func titleOnly(annotations string) bool {
	var all map[string]any
	if annotations == "" {
		return true
	}
	if json.Unmarshal([]byte(annotations), &all) != nil {
		return false
	}
	delete(all, "title")
	return len(all) == 0
}
