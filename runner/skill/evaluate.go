package skill

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/poison"
)

// evaluation finds out which skills are broken, each once. It runs no other program and reads no script, so that a list of all
// skills is fast: it relies on what was recorded when they were saved.
type evaluation struct {
	store  *Store
	byName map[string]*Skill             // skills that were read
	checks map[string]map[string]checked // by folder
	done   map[*Skill]bool
}

func (s *Store) newEvaluation(byName map[string]*Skill) *evaluation {
	if byName == nil {
		byName = map[string]*Skill{}
	}
	return &evaluation{store: s, byName: byName, checks: map[string]map[string]checked{}, done: map[*Skill]bool{}}
}

// evaluate sets the reasons why a skill is broken.
func (s *Store) evaluate(k *Skill) { s.newEvaluation(nil).evaluate(k) }

func (e *evaluation) evaluate(k *Skill) {
	if e.done[k] {
		return
	}
	e.done[k] = true
	e.store.compareTools(k)
	kept, ok := e.checks[k.dir.Path]
	if !ok {
		kept = readChecks(k.dir)
		e.checks[k.dir.Path] = kept
	}
	e.store.addTypeErrors(k, kept)
	e.store.mark(k, kept)
	e.used(k)
	sortReasons(k)
}

// used evaluates the skills that a skill uses, each once, so the recursion is limited by their number. In a cycle, a skill
// counts with the reasons found so far.
func (e *evaluation) used(k *Skill) {
	for _, name := range k.Skills {
		other, ok := e.byName[name]
		if !ok && kebab.MatchString(name) {
			if other, _ = e.store.find(name); other != nil {
				other.content.drop()
			}
			e.byName[name] = other
		}
		if other == nil {
			k.Reasons = append(k.Reasons, Reason{Kind: KindSkill, Text: fmt.Sprintf("the skill %.80q that it uses does not exist", name), Fatal: true})
			continue
		}
		e.evaluate(other)
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

// compareTools compares the tools that a skill uses with those in the lock file.
func (s *Store) compareTools(k *Skill) {
	if s.tools == nil {
		return
	}
	for _, tool := range k.Tools {
		digest, ok := s.tools.digests[tool.ID]
		switch {
		case !ok:
			k.Reasons = append(k.Reasons, s.removed(tool.ID))
		case digest != tool.Digest:
			reason, verdict := s.changed(tool)
			if verdict == diff.Harmless {
				k.Drifted = append(k.Drifted, reason)
			} else {
				k.Reasons = append(k.Reasons, reason)
			}
		}
	}
}

// mark notes the tools whose results have another learned type than when the skill was saved, unless its types were checked since.
func (s *Store) mark(k *Skill, kept map[string]checked) {
	if s.tools == nil || len(k.Languages) == 0 {
		return
	}
	if c, ok := kept[k.Name]; ok && c.Version == k.Version && c.Against == s.against(k.Tools) {
		return
	}
	for _, tool := range k.Tools {
		now := s.tools.learned[tool.ID]
		text := "was learned since the skill was saved"
		switch {
		case now == tool.Learned:
			continue
		case now == "":
			text = "is no longer learned"
		case tool.Learned != "":
			text = "was learned again since the skill was saved"
		}
		k.Marked = append(k.Marked, Reason{Kind: KindLearned, Tool: tool.ID, Text: fmt.Sprintf("the type of what %s returns %s; run mcprun skill check", oneLine(tool.ID, 200), text)})
	}
}

// removed returns the reason that a tool does not exist, with similar tools.
func (s *Store) removed(id string) Reason {
	r := Reason{Kind: KindRemoved, Tool: oneLine(id, 200), Fatal: true}
	r.Text = fmt.Sprintf("the tool %s that it uses does not exist", r.Tool)
	if near := s.tools.near(id); len(near) > 0 {
		r.Text += "; there is " + strings.Join(near, ", ")
	}
	return r
}

// maxDetails limits the details of a reason.
const maxDetails = 12

// changed returns the reason that a tool has changed. If its earlier definition was kept, the reason says how; otherwise there is no
// verdict.
func (s *Store) changed(tool Tool) (Reason, diff.Verdict) {
	r := Reason{Kind: KindChanged, Tool: tool.ID, Text: fmt.Sprintf("the tool %s has changed since the skill was saved", tool.ID)}
	key, now := s.tools.definition(tool.ID)
	before := s.definition(tool.Digest)
	if now == nil || before == nil {
		return r, ""
	}
	changes := diff.Definitions(key, before, now, s.tools.texts())
	var kinds []string
	for _, c := range changes {
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
	return r, diff.Worst(changes)
}

// tools are the tools in the lock file of a tree.
type tools struct {
	catalog  *catalog.Catalog // may be nil
	digests  map[string]string
	learned  map[string]string // digests of learned types of results, by id
	wrappers map[string]string // ids by file names of wrappers
	ids      []string
	texts    func() *poison.Checker // finds suspicious texts in what changed
}

func newTools(lock *catalog.Lock, cat *catalog.Catalog) *tools {
	t := &tools{catalog: cat, digests: map[string]string{}, wrappers: map[string]string{}}
	t.texts = sync.OnceValue(func() *poison.Checker {
		if cat == nil {
			return poison.NewChecker(nil, nil)
		}
		return poison.NewChecker(cat.Servers, nil)
	})
	for _, server := range lock.Servers {
		for _, tool := range server.Tools {
			t.digests[tool.ID] = tool.Digest
			t.ids = append(t.ids, tool.ID)
			for _, names := range tool.Names {
				t.wrappers[names.File] = tool.ID
			}
		}
	}
	return t
}

// readLearned reads which types of results of tools were learned.
func (t *tools) readLearned(tree string) error {
	t.learned = map[string]string{}
	if tree == "" || t.catalog == nil {
		return nil
	}
	known, err := catalog.ReadLearned(tree)
	if err != nil {
		return err
	}
	for _, server := range t.catalog.Servers {
		for _, tool := range server.Tools {
			if one, ok := known[server.Key][tool.Name]; ok && tool.Output == nil {
				var schema bytes.Buffer
				_ = json.Compact(&schema, one.Schema) // it was just read as JSON
				t.learned[tool.ID] = fmt.Sprintf("%x", sha256.Sum256(schema.Bytes()))[:16]
			}
		}
	}
	return nil
}

// definition returns the current definition of a tool. It is nil if it is unknown.
func (t *tools) definition(id string) (server string, raw []byte) {
	if t.catalog == nil {
		return "", nil
	}
	s, tool, ok := t.catalog.Lookup(id)
	if !ok {
		return "", nil
	}
	return s.Key, tool.Raw
}

// near returns similar ids, at most three.
func (t *tools) near(id string) []string { return ident.Nearest(id, t.ids, 3) }
