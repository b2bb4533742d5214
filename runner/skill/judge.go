package skill

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// judging judges skills, each once. It needs no other program and reads no script, so that a list of all skills is quick:
// it goes by what was remembered when they were saved.
type judging struct {
	store  *Store
	byName map[string]*Skill             // nil: they are looked up
	checks map[string]map[string]checked // by folder
	done   map[*Skill]bool
}

func (s *Store) judging(byName map[string]*Skill) *judging {
	if byName == nil {
		byName = map[string]*Skill{}
	}
	return &judging{store: s, byName: byName, checks: map[string]map[string]checked{}, done: map[*Skill]bool{}}
}

func (s *Store) judge(k *Skill) { s.judging(nil).judge(k) }

func (j *judging) judge(k *Skill) {
	if j.done[k] {
		return
	}
	j.done[k] = true
	j.store.judgeTools(k)
	kept, ok := j.checks[k.dir.Path]
	if !ok {
		kept = readChecks(k.dir)
		j.checks[k.dir.Path] = kept
	}
	j.store.judgeKept(k, kept)
	j.used(k)
	sortReasons(k)
}

// used judges the skills that a skill uses, each once, so that it goes no deeper than there are skills. One that is part of a
// circle counts as it is known so far.
func (j *judging) used(k *Skill) {
	for _, name := range k.Skills {
		other, ok := j.byName[name]
		if !ok && kebab.MatchString(name) {
			if other, _ = j.store.find(name); other != nil {
				other.content.light()
			}
			j.byName[name] = other
		}
		if other == nil {
			k.Reasons = append(k.Reasons, Reason{Kind: KindSkill, Text: fmt.Sprintf("the skill %.80q that it uses is gone", name), Fatal: true})
			continue
		}
		j.judge(other)
		if len(other.Reasons) > 0 {
			k.Reasons = append(k.Reasons, Reason{Kind: KindSkill, Fatal: other.Fatal(), Text: fmt.Sprintf("the skill %s that it uses is broken: %s", other.Name, oneLine(other.Reason(), 500))})
		}
	}
}

func sortReasons(k *Skill) {
	slices.SortStableFunc(k.Reasons, func(a, b Reason) int {
		if a.Fatal != b.Fatal {
			if a.Fatal {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Tool, b.Tool)
	})
	k.Broken = len(k.Reasons) > 0
}

// judgeTools compares the tools that a skill remembers with the locked ones.
func (s *Store) judgeTools(k *Skill) {
	if s.tools == nil {
		return
	}
	for _, tool := range k.Tools {
		digest, ok := s.tools.digests[tool.ID]
		switch {
		case !ok:
			k.Reasons = append(k.Reasons, s.removed(tool.ID))
		case digest != tool.Digest:
			k.Reasons = append(k.Reasons, s.changed(k, tool))
		}
	}
}

// removed says that a tool is gone, and what may be there instead.
func (s *Store) removed(id string) Reason {
	r := Reason{Kind: KindRemoved, Tool: oneLine(id, 200), Fatal: true}
	r.Text = fmt.Sprintf("the tool %s that it uses is gone", r.Tool)
	if near := s.tools.near(id); len(near) > 0 {
		r.Text += "; there is " + strings.Join(near, ", ")
	}
	return r
}

// maxDetails bounds the lines that say how a tool has changed.
const maxDetails = 12

// changed says that a tool is another than it was, and how where its former definition was kept.
func (s *Store) changed(k *Skill, tool Tool) Reason {
	r := Reason{Kind: KindChanged, Tool: tool.ID, Text: fmt.Sprintf("the tool %s has changed since the skill was saved", tool.ID)}
	key, now := s.tools.definition(tool.ID)
	before := s.kept(k, tool.Digest)
	if now == nil || before == nil {
		return r
	}
	var kinds []string
	for _, c := range difference(key, before, now) {
		if !slices.Contains(kinds, string(c.Kind)) {
			kinds = append(kinds, string(c.Kind))
		}
		for _, line := range c.Lines() {
			if len(r.Details) < maxDetails {
				r.Details = append(r.Details, oneLine(string(c.Kind)+": "+line, 300))
			}
		}
	}
	if len(kinds) > 0 {
		r.Text += ": " + strings.Join(kinds, ", ")
	}
	return r
}

// difference compares two definitions of one tool.
func difference(key string, before, now []byte) []catalog.Change {
	catalogs := make([]*catalog.Catalog, 2)
	for i, raw := range [][]byte{before, now} {
		server, _ := catalog.NewServer(key, "", "", rawList(raw))
		c, err := catalog.New([]catalog.Server{server})
		if err != nil {
			return nil
		}
		catalogs[i] = c
	}
	return catalog.Diff(catalogs[0], catalogs[1])
}
