package diff

import "github.com/mcpgen/mcpgen/gen/catalog"

// offers compares everything that two servers offer apart from tools.
func (d *differ) offers(a, b *catalog.Server) {
	of := Change{Server: b.Key, Dir: b.Dir}
	var r result
	switch {
	case a.Resources && !b.Resources:
		r.add(Item{Keyword: "resources", Op: Removed, Impact: Breaking, Message: "no longer offered"})
	case b.Resources && !a.Resources:
		r.add(Item{Keyword: "resources", Op: Added, Impact: Compatible, Message: "offered now"})
	}
	add := func(kind Kind, r result) {
		if len(r.items) == 0 {
			return
		}
		of.Kind = kind
		c := r.change(of)
		c.judge()
		for _, p := range b.Prompts {
			d.suspicious(&c, nil, p.Raw)
		}
		d.changes = append(d.changes, c)
	}
	add(Resources, r)
	add(Prompts, diffPrompts(a, b))
}

// diffPrompts compares the prompts of a server. MCP does not describe which values their arguments take, only
// which arguments there are.
func diffPrompts(a, b *catalog.Server) result {
	var r result
	switch {
	case a.HasPrompts && !b.HasPrompts:
		r.add(Item{Keyword: "prompts", Op: Removed, Impact: Breaking, Message: "no longer offered"})
	case b.HasPrompts && !a.HasPrompts:
		r.add(Item{Keyword: "prompts", Op: Added, Impact: Compatible, Message: "offered now"})
	}
	x, y := byName(a.Prompts, promptName), byName(b.Prompts, promptName)
	for _, name := range unionKeys(x, y) {
		at := "#/prompts/" + pointerEscape(name)
		p, q := x[name], y[name]
		switch {
		case p == nil:
			r.add(Item{Path: at, Place: displayName(name), Keyword: "prompt", Op: Added, Impact: Compatible, Message: "added"})
		case q == nil:
			r.add(Item{Path: at, Place: displayName(name), Keyword: "prompt", Op: Removed, Impact: Breaking, Message: "removed"})
		case p.Digest != q.Digest:
			r.prompt(at, p, q)
		}
	}
	return r
}

// prompt adds the changes of one prompt.
func (r *result) prompt(at string, a, b *catalog.Prompt) {
	place := displayName(b.Name)
	before := len(r.items) + r.more
	r.words("title", at+"/title", place, a.Title, b.Title)
	r.words("description", at+"/description", place, a.Description, b.Description)
	x, y := byName(a.Arguments, argumentName), byName(b.Arguments, argumentName)
	for _, name := range unionKeys(x, y) {
		r.argument(at+"/arguments/"+pointerEscape(name), place+"."+displayName(name), x[name], y[name])
	}
	if len(r.items)+r.more == before { // the digests differ, so something must be reported
		r.add(Item{Path: at, Place: place, Op: Respelled, Impact: NoImpact, Message: "changed in a way that has no effect on its arguments"})
	}
}

// argument adds the changes of one argument of a prompt; nil means that it does not exist.
func (r *result) argument(at, place string, a, b *catalog.PromptArgument) {
	item := Item{Path: at, Place: place, Keyword: "argument"}
	switch {
	case a == nil && b.Required:
		item.Op, item.Impact, item.Message = Added, Breaking, "added, required"
	case a == nil:
		item.Op, item.Impact, item.Message = Added, Compatible, "added, optional"
	case b == nil:
		item.Op, item.Impact, item.Message = Removed, Breaking, "removed"
	default:
		r.words("title", at+"/title", place, a.Title, b.Title)
		r.words("description", at+"/description", place, a.Description, b.Description)
		switch {
		case b.Required && !a.Required:
			item.Op, item.Impact, item.Message = Required, Breaking, "optional → required"
		case a.Required && !b.Required:
			item.Op, item.Impact, item.Message = Optional, Compatible, "required → optional"
		default:
			return
		}
	}
	r.add(item)
}

func (r *result) words(keyword, at, place, old, new string) {
	if old != new {
		r.add(textItem(keyword, at, place, old, new))
	}
}

func promptName(p *catalog.Prompt) string           { return p.Name }
func argumentName(a *catalog.PromptArgument) string { return a.Name }
