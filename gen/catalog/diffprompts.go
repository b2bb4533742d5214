package catalog

// offers compares what two servers offer beside tools.
func (d *differ) offers(a, b *Server) {
	of := Change{Server: b.Key, Dir: b.Dir}
	var r result
	switch {
	case a.Resources && !b.Resources:
		r.add(Item{Keyword: "resources", Op: Removed, Impact: Breaking, Message: "no longer offered"})
	case b.Resources && !a.Resources:
		r.add(Item{Keyword: "resources", Op: Added, Impact: Compatible, Message: "offered now"})
	}
	if len(r.items) > 0 {
		of.Kind = Resources
		d.changes = append(d.changes, r.change(of))
	}
	if r = diffPrompts(a, b); len(r.items) > 0 {
		of.Kind = Prompts
		d.changes = append(d.changes, r.change(of))
	}
}

// diffPrompts compares the prompts of a server. Which values their arguments take is known to nobody, only which
// arguments there are.
func diffPrompts(a, b *Server) result {
	var r result
	switch {
	case a.HasPrompts && !b.HasPrompts:
		r.add(Item{Keyword: "prompts", Op: Removed, Impact: Breaking, Message: "no longer offered"})
	case b.HasPrompts && !a.HasPrompts:
		r.add(Item{Keyword: "prompts", Op: Added, Impact: Compatible, Message: "offered now"})
	}
	x, y := promptsByName(a), promptsByName(b)
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

// prompt adds what changed of one prompt.
func (r *result) prompt(at string, a, b *Prompt) {
	place := displayName(b.Name)
	before := len(r.items) + r.more
	r.words("title", at+"/title", place, a.Title, b.Title)
	r.words("description", at+"/description", place, a.Description, b.Description)
	x, y := argumentsByName(a), argumentsByName(b)
	for _, name := range unionKeys(x, y) {
		r.argument(at+"/arguments/"+pointerEscape(name), place+"."+displayName(name), x[name], y[name])
	}
	if len(r.items)+r.more == before { // the digests differ, so something must be said
		r.add(Item{Path: at, Place: place, Op: Respelled, Impact: NoImpact, Message: "changed in a way that has no effect on its arguments"})
	}
}

// argument adds what changed of one argument of a prompt; nil is one that is not there.
func (r *result) argument(at, place string, a, b *PromptArgument) {
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

func promptsByName(s *Server) map[string]*Prompt {
	m := make(map[string]*Prompt, len(s.Prompts))
	for i := range s.Prompts {
		m[s.Prompts[i].Name] = &s.Prompts[i]
	}
	return m
}

func argumentsByName(p *Prompt) map[string]*PromptArgument {
	m := make(map[string]*PromptArgument, len(p.Arguments))
	for i := range p.Arguments {
		m[p.Arguments[i].Name] = &p.Arguments[i]
	}
	return m
}
