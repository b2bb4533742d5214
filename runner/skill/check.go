package skill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"slices"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// Report is the result of checking skills.
type Report struct {
	Skills   []*Skill // the skills that were checked, sorted by name
	Warnings []string // one line each
	// NotInstalled describes the type checkers that are not installed, one line each.
	NotInstalled []string
}

// Broken returns the skills that are broken.
func (r *Report) Broken() []*Skill {
	var all []*Skill
	for _, k := range r.Skills {
		if k.Broken {
			all = append(all, k)
		}
	}
	return all
}

// maxUnchecked is the number of failed type checks after which no more are attempted: each may have run into its timeout.
const maxUnchecked = 3

// Check checks the named skills, or all if none is named: whether their scripts can be bundled with the current tree and
// skills, and their types if Options.Check is set. Results of type checks are kept until the skill or one of its tools
// changes.
func (s *Store) Check(ctx context.Context, names ...string) (*Report, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		var wanted []*Skill
		for _, name := range names {
			k, err := s.Load(name)
			if err != nil {
				return nil, err
			}
			wanted = append(wanted, k)
		}
		all = wanted
	}
	r := &Report{Skills: all}
	kept := map[string]checked{}
	types, failed := s.opt.Check, 0
	for _, k := range all {
		for _, d := range k.Drifted {
			r.warn(oneLine(fmt.Sprintf("%s: %s, which is harmless; save it again to accept that", k.Name, d.Text), 500))
		}
		if k.front == nil || k.content == nil || k.Version == "" {
			continue
		}
		c, unchecked, err := s.check(ctx, k, types, r)
		if err != nil {
			return nil, err
		}
		if unchecked {
			failed++
		}
		if failed == maxUnchecked && types != nil {
			types = nil
			r.warn("types of further skills were not checked, because other checks failed")
		}
		if c != nil && k.dir.Writable {
			kept[k.Name] = *c
		}
	}
	d, err := s.writable()
	if err != nil {
		return r, nil // results are kept where skills are saved
	}
	if err := s.keepChecks(d, kept); err != nil && !errors.Is(err, fs.ErrPermission) {
		return r, err
	}
	return r, nil
}

// unchecked records why types could not be checked. A checker that is not installed is recorded once.
func (r *Report) unchecked(k *Skill, found *findings) {
	if found.unchecked == nil || len(r.Warnings) >= 100 {
		return
	}
	line := oneLine(fmt.Sprintf("%s: %v", k.Name, found.unchecked), 500)
	if missing, ok := errors.AsType[*check.MissingError](found.unchecked); ok {
		line = fmt.Sprintf("types were not checked: %v; %s", missing, missing.Hint())
		if errors.Is(missing, exec.ErrNotFound) {
			if !slices.Contains(r.NotInstalled, line) {
				r.NotInstalled = append(r.NotInstalled, line)
			}
			return
		}
	}
	r.warn(line)
}

func (r *Report) warn(line string) {
	if !slices.Contains(r.Warnings, line) {
		r.Warnings = append(r.Warnings, line)
	}
}

// check inspects the scripts of a skill and adds what it finds to the skill and the report. It returns the result of the
// type check, or nil, and whether the type check failed.
func (s *Store) check(ctx context.Context, k *Skill, types TypeCheck, r *Report) (result *checked, failed bool, err error) {
	known, ok := readChecks(k.dir)[k.Name]
	fresh := ok && known.Version == k.Version && known.Against == s.against(k.Tools)
	if fresh {
		types = nil
	}
	dir, skills := k.Path, k.dir.Path
	if k.dir.FS != nil {
		dir, skills = "", ""
	}
	c, err := k.load()
	if err != nil {
		return nil, false, err
	}
	found, err := s.inspect(ctx, k.Name, c, dir, skills, types)
	if err != nil {
		return nil, false, err
	}
	for _, reason := range found.reasons {
		if !slices.ContainsFunc(k.Reasons, func(o Reason) bool { return o.Tool != "" && o.Tool == reason.Tool && o.Kind == reason.Kind }) {
			k.Reasons = append(k.Reasons, reason)
		}
	}
	r.unchecked(k, found)
	if types != nil && found.unchecked == nil && k.dir.FS == nil && len(k.Languages) > 0 {
		k.Marked = nil
		result = &checked{Version: k.Version, Against: s.against(k.Tools), Types: found.types, More: found.moreTypes}
		if len(found.types) > 0 {
			k.Reasons = append(k.Reasons, typesReason(*result))
		}
	}
	sortReasons(k)
	_, missing := errors.AsType[*check.MissingError](found.unchecked)
	return result, found.unchecked != nil && !missing, nil
}

// checked is the result of a type check.
type checked struct {
	Version string   `json:"version"`
	Against string   `json:"against"`         // a digest of the tools it was checked with
	Types   []string `json:"types,omitempty"` // one line each
	More    int      `json:"more,omitempty"`
}

// against returns a digest of the current state of tools. Results of type checks are valid as long as it stays the same.
func (s *Store) against(all []Tool) string {
	h := sha256.New()
	for _, t := range all {
		digest, learned := "", ""
		if s.tools != nil {
			digest, learned = s.tools.digests[t.ID], s.tools.learned[t.ID]
		}
		fmt.Fprintf(h, "%q %q\n", t.ID, digest)
		if learned != "" {
			fmt.Fprintf(h, "learned %q\n", learned)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func readChecks(d Dir) map[string]checked {
	all := map[string]checked{}
	if d.FS != nil {
		return all
	}
	root, err := safeopen.Root(d.Path)
	if err != nil {
		return all
	}
	defer root.Close()
	f, err := safeopen.File(root, checksFile, os.O_RDONLY, 0)
	if err != nil {
		return all
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxChecks))
	if err != nil || json.Unmarshal(text, &all) != nil {
		return map[string]checked{} // the next check writes it again
	}
	return all
}

// keepChecks saves results of type checks. Results that another process saves at the same time may be lost; the next check
// finds them again.
func (s *Store) keepChecks(d Dir, found map[string]checked) error {
	if len(found) == 0 || d.FS != nil || !d.Writable {
		return nil
	}
	root, err := safeopen.Root(d.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := prepareDataDir(root); err != nil {
		return err
	}
	all := readChecks(d)
	maps.Copy(all, found)
	for name := range all {
		if _, err := root.Lstat(name + "/" + File); err != nil {
			delete(all, name)
		}
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(root, checksFile, append(text, '\n'))
}

// addTypeErrors adds the result of the last type check to a skill, if it was for the same skill and tools.
func (s *Store) addTypeErrors(k *Skill, kept map[string]checked) {
	c, ok := kept[k.Name]
	if !ok || c.Version != k.Version || c.Against != s.against(k.Tools) || len(c.Types) == 0 {
		return
	}
	k.Reasons = append(k.Reasons, typesReason(c))
}

func typesReason(c checked) Reason {
	r := Reason{Kind: KindTypes, Text: "its types do not match the tree: " + oneLine(c.Types[0], 300)}
	for _, line := range c.Types[:min(len(c.Types), maxDetails)] {
		r.Details = append(r.Details, oneLine(line, 300))
	}
	if n := len(c.Types) + c.More; n > 1 {
		r.Text += fmt.Sprintf(" (and %d more)", n-1)
	}
	return r
}
