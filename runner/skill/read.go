package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/poison"
	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/skill/internal/frontmatter"
)

// read reads a skill from a folder. The error matches fs.ErrNotExist if the skill does not exist; what is wrong with its content is in its
// reasons. All files come from one version, even if the skill is saved at the same time: the folder must still be in place after they were
// read.
func (s *Store) read(d Dir, name string) (*Skill, error) {
	fsys, leave, err := d.open()
	if err != nil {
		return nil, err
	}
	defer leave()
	for try := 1; ; try++ {
		before, beforeErr := fs.Stat(fsys, name)
		found, err := s.readOnce(fsys, d, name)
		after, afterErr := fs.Stat(fsys, name)
		switch {
		case d.FS != nil || try == 50 || beforeErr == nil && afterErr == nil && sameFolder(before, after):
			return found, err
		case beforeErr != nil && afterErr != nil:
			if _, err := fs.Stat(fsys, versionsDir+"/"+name); err != nil || try > 5 {
				return nil, fs.ErrNotExist
			}
		}
		time.Sleep(time.Millisecond) // a save moves the old folder away before it moves the new one into place
	}
}

// sameFolder reports whether a folder is still in place. Its time is compared too: a new folder may get the inode of a removed one.
func sameFolder(before, after fs.FileInfo) bool {
	return os.SameFile(before, after) && before.ModTime().Equal(after.ModTime())
}

func (s *Store) readOnce(fsys fs.FS, d Dir, name string) (*Skill, error) {
	for _, of := range []struct {
		name string
		kind fs.FileMode
	}{{name, fs.ModeDir}, {name + "/" + File, 0}} { // links are not followed
		if info, err := fs.Lstat(fsys, of.name); err != nil || info.Mode().Type() != of.kind {
			return nil, fs.ErrNotExist
		}
	}
	found := &Skill{Name: name, Path: "shipped:" + name, Shipped: d.Shipped, dir: d, ReadOnly: !d.Writable || d.FS != nil}
	if d.FS == nil {
		found.Path = filepath.Join(d.Path, name)
	}
	c, err := readContent(fsys, name)
	var large *SizeError
	switch {
	case errors.As(err, &large):
		found.content, found.front = newContent(nil), frontmatter.New("")
		found.fail(KindFormat, large.Error())
		return found, nil
	case err != nil:
		return nil, fmt.Errorf("read skill %q: %w", name, err)
	}
	found.take(c)
	return found, nil
}

// take sets the fields of a skill from its files.
func (s *Skill) take(c *content) {
	s.content, s.Languages, s.Version = c, c.languages(), c.version()
	f, err := frontmatter.Parse(c.files[File])
	if err != nil {
		s.front = frontmatter.New("")
		s.fail(KindFormat, fmt.Sprintf("%s: %v", File, err))
		return
	}
	s.front, s.Description, s.Author, s.Given, s.Tools = f, oneLine(f.Description, MaxDescription), oneLine(f.Metadata[keyAuthor], 200), oneLine(f.Metadata[keyGiven], MaxName), toolsIn(f.Metadata)
	s.Skills = strings.Fields(oneLine(f.Metadata[keySkills], 2000))
	s.Taint = taintIn(f.Metadata)
	for _, t := range f.Triggers[:min(len(f.Triggers), maxTriggers)] {
		if t = oneLine(strings.TrimSpace(t), maxTrigger); t != "" {
			s.Triggers = append(s.Triggers, t)
		}
	}
	saved := f.Metadata[keyVersion]
	s.Edited = saved != "" && saved != s.Version
	s.Suspicious = s.suspicious()
	switch {
	case f.Name != s.Name:
		s.fail(KindFormat, fmt.Sprintf("%s: its name is %.80q, but its folder is named %.80q", File, f.Name, s.Name))
	case !kebab.MatchString(s.Name) || len(s.Name) > MaxName:
		s.fail(KindFormat, fmt.Sprintf("its folder's name %.80q is not the name of a skill: words of a-z and 0-9 separated by -", s.Name))
	case f.Description == "":
		s.fail(KindFormat, File+": it has no description")
	default:
		if _, err := frontmatter.CleanDescription(f.Description); err != nil {
			s.fail(KindFormat, File+": "+err.Error())
		}
	}
}

// taintIn returns the servers whose data a skill with that metadata may hold.
func taintIn(metadata map[string]string) (servers []string) {
	text := metadata[keyTaint]
	if json.Unmarshal([]byte(text), &servers) != nil && text != "" {
		return []string{text}
	}
	return servers
}

// Taint returns the servers whose data the skills in a folder may hold, by the skills' names. Earlier versions are included under their
// folders.
func Taint(dir string) (map[string][]string, error) {
	root, err := safeopen.Root(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the skills: %w", err)
	}
	defer root.Close()
	out, fsys := map[string][]string{}, safeopen.FS(root)
	for _, pattern := range []string{"*/" + File, versionsDir + "/*/*/" + File} {
		files, err := fs.Glob(fsys, pattern)
		if err != nil {
			return nil, fmt.Errorf("read the skills: %w", err)
		}
		for _, file := range files {
			text, err := fs.ReadFile(fsys, file)
			if err != nil {
				continue // it is gone
			}
			if f, err := frontmatter.Parse(text); err == nil && len(taintIn(f.Metadata)) > 0 {
				out[path.Dir(file)] = taintIn(f.Metadata)
			}
		}
	}
	return out, nil
}

// fail adds a fatal reason.
func (s *Skill) fail(kind Kind, text string) {
	s.Broken = true
	s.Reasons = append(s.Reasons, Reason{Kind: kind, Text: text, Fatal: true})
}

// toolsIn returns the tools recorded in metadata, sorted by id.
func toolsIn(metadata map[string]string) []Tool {
	var all []Tool
	for key, digest := range metadata {
		if id, ok := strings.CutPrefix(key, keyTool); ok && id != "" {
			all = append(all, Tool{ID: id, Digest: digest, Learned: metadata[keyLearned+id]})
		}
	}
	slices.SortFunc(all, func(a, b Tool) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// oneLine converts a foreign text to one line of at most max characters, without invisible characters.
func oneLine(text string, max int) string {
	return ident.Shorten(ident.CleanLine(text), max)
}

// maxSuspicious limits the lines of [Skill.Suspicious].
const maxSuspicious = 5

// suspicious describes what in a skill tries to instruct whoever reads it, by the rules for texts of servers: models read
// its description, instructions and code.
func (s *Skill) suspicious() []string {
	var lines []string
	read := func(place, text string, isName bool) {
		for _, f := range poison.Text(place, text, isName) {
			if f.Rule != poison.TooLong && len(lines) < maxSuspicious {
				lines = append(lines, f.Place+": the text "+f.Message)
			}
		}
	}
	read("its name", s.Name, true)
	read("the name it was saved under", s.Given, true)
	read("its description", s.front.Description, false)
	read("its triggers", strings.Join(s.Triggers, "\n"), false)
	read(File, s.front.Body, false)
	for _, name := range slices.Sorted(maps.Keys(s.content.files)) {
		if sandbox.LanguageOf(name) != "" {
			read(oneLine(name, 200), string(s.content.files[name]), false)
		}
	}
	return lines
}
