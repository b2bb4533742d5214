package diff

import (
	"encoding/json"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog/drift"
	"github.com/mcpgen/mcpgen/gen/poison"
)

// Texts finds suspicious texts of a definition that the old definition does not have. *[poison.Checker] implements it.
type Texts interface {
	New(server string, old, new json.RawMessage) []poison.Finding
}

// Worst returns the worst verdict of changes. Without changes it is empty.
func Worst(changes []Change) Verdict {
	var worst Verdict
	for _, c := range changes {
		worst = worst.Worse(c.Verdict)
	}
	return worst
}

// suspicious makes a harmless change undecided if a definition has new texts that are suspicious.
func (d *differ) suspicious(c *Change, old, new json.RawMessage) {
	if d.texts == nil {
		return
	}
	found := d.texts.New(c.Server, old, new)
	if len(found) == 0 {
		return
	}
	c.Why = "suspicious text at " + found[0].Place + ": " + found[0].Message
	if c.Verdict == Harmless {
		c.Verdict = Undecided
	}
}

func texted(texts ...string) json.RawMessage {
	raw, _ := json.Marshal(texts) // strings can always be marshalled
	return raw
}

// judge sets the verdict of a change whose schemas, if it has any, were judged.
func (c *Change) judge() {
	switch c.Kind {
	case HintsChanged:
		c.Verdict = hints(c)
	case Definition:
		c.Verdict = leftover(c)
	case Resources, Prompts:
		if c.Impact == Breaking {
			c.Verdict = BreakingVerdict
		}
	}
	if c.Verdict == "" {
		c.Verdict = Harmless
	}
}

// settle sets the verdict and the impact of a change of a schema. A change breaks nothing only if it was shown to be harmless.
func (r *result) settle(old, new node, who role) {
	narrow, wide, why := old, new, "some inputs that were valid may be invalid now"
	if who == outputRole {
		narrow, wide, why = new, old, "outputs may no longer match the old schema"
	}
	switch shown := drift.Covers(narrow, wide, who == inputRole); {
	case shown && who == inputRole && !drift.SameDefaults(old, new):
		r.verdict, r.impact = Undecided, Breaking
		r.why = "a default has changed; a call that omits the value may behave differently"
	case shown:
		r.verdict, r.impact = Harmless, NoImpact
		for i := range r.items {
			if r.items[i].Impact == Breaking {
				r.items[i].Impact = Compatible
			}
			r.impact = r.impact.Worse(r.items[i].Impact)
		}
	default:
		r.verdict = Undecided
		for _, i := range r.items {
			if i.Impact == Breaking && (i.Op != Changed || i.Keyword == "type" || i.Keyword == "enum") { // these lost a value and gained one
				r.verdict = BreakingVerdict
			}
		}
		if r.impact != Breaking {
			r.impact, r.why = Breaking, why
		}
	}
}

// hints judges a change of hints: an assurance that was taken back is not harmless. Retries rely on idempotentHint.
func hints(c *Change) Verdict {
	for _, i := range c.Items {
		if i.Important || i.Keyword == "idempotentHint" && i.Old == "true" {
			return BreakingVerdict
		}
	}
	return Harmless
}

// leftover judges a change of the remaining parts of a definition. Icons and a server's own metadata have no effect.
func leftover(c *Change) Verdict {
	for _, i := range c.Items {
		switch key, _, _ := strings.Cut(strings.TrimPrefix(i.Path, "#/"), "/"); {
		case i.Op == Respelled, key == "icons", key == "_meta", i.Path == "#/annotations/title":
		case key == "annotations" && titleOnly(i.Old) && titleOnly(i.New):
		case key == "execution" && !strings.Contains(i.New, "required") && len(i.New) < 40: // taskSupport: calls without a task go on
		default:
			return Undecided
		}
	}
	if c.More > 0 {
		return Undecided
	}
	return Harmless
}

// titleOnly reports whether annotations, as JSON and without hints, contain at most a title.
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
