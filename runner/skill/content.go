package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/skill/internal/frontmatter"
)

// content holds the files of a skill, by their paths with slashes.
type content struct {
	files map[string][]byte // nil after drop
	infos []FileInfo        // sorted by path
}

func newContent(files map[string][]byte) *content {
	c := &content{files: files}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		c.infos = append(c.infos, FileInfo{Path: name, Size: int64(len(files[name])), Digest: digestOf(files[name])})
	}
	return c
}

// drop releases the files' data, because all skills together may be larger than memory.
func (c *content) drop() { c.files = nil }

// data returns the data of a file. If it was dropped, it is read again, and must not have changed.
func (s *Skill) data(name string) ([]byte, error) {
	if data, ok := s.content.files[name]; ok {
		return data, nil
	}
	i := slices.IndexFunc(s.content.infos, func(f FileInfo) bool { return f.Path == name })
	if i < 0 {
		return nil, fmt.Errorf("skill %q has no file %q", s.Name, name)
	}
	info := s.content.infos[i]
	fsys, leave, err := s.dir.open()
	if err != nil {
		return nil, fmt.Errorf("read skill %q: %w", s.Name, err)
	}
	defer leave()
	data, err := readBounded(fsys, s.Name+"/"+name, info.Size)
	if err != nil {
		return nil, fmt.Errorf("read skill %q: %w", s.Name, err)
	}
	if digestOf(data) != info.Digest {
		return nil, fmt.Errorf("read skill %q: %s has just changed: try again", s.Name, name)
	}
	return data, nil
}

// load returns the skill's content including the files' data.
func (s *Skill) load() (*content, error) {
	if s.content.files != nil {
		return s.content, nil
	}
	c := &content{files: map[string][]byte{}, infos: s.content.infos}
	for _, info := range c.infos {
		data, err := s.data(info.Path)
		if err != nil {
			return nil, err
		}
		c.files[info.Path] = data
	}
	return c, nil
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// SizeError reports that a skill is too large.
type SizeError struct {
	Name string
	What string
}

func (e *SizeError) Error() string { return fmt.Sprintf("skill %q %s", e.Name, e.What) }

// readContent reads a skill's folder. It ignores links, special files, and names that begin with a dot.
func readContent(fsys fs.FS, dir string) (*content, error) {
	files, size := map[string][]byte{}, int64(0)
	seen := 0
	err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if seen++; seen > 10*MaxFiles {
			return &SizeError{dir, fmt.Sprintf("has more than %d files and folders", 10*MaxFiles)}
		}
		rel := strings.TrimPrefix(name, dir+"/")
		switch {
		case name == dir:
			return nil
		case d.IsDir() && (ignored(d.Name()) || strings.Count(rel, "/") >= 8):
			return fs.SkipDir
		case !d.Type().IsRegular() || ignored(d.Name()):
			return nil
		case len(files) == MaxFiles:
			return &SizeError{dir, fmt.Sprintf("has more than %d files", MaxFiles)}
		}
		data, err := readBounded(fsys, name, MaxSize-size)
		if err != nil {
			return err
		}
		if size += int64(len(data)); size > MaxSize {
			return &SizeError{dir, fmt.Sprintf("has more than %d bytes", MaxSize)}
		}
		files[rel] = data
		return nil
	})
	if err != nil {
		return nil, err
	}
	return newContent(files), nil
}

// ignored reports whether a file or folder is not a part of a skill.
func ignored(name string) bool {
	return name[0] == '.' || name == "__pycache__" || name == "node_modules"
}

// readBounded reads at most max+1 bytes of a file.
func readBounded(fsys fs.FS, name string, max int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, max+1))
}

// recordLines matches lines of front matter that hold what we record. The version does not depend on them.
var recordLines = regexp.MustCompile(`^(?:metadata:|\s+["']?(?:` + keyVersion + `|` + keyGiven + `|` + keySkills + `|` + keyTaint + `|` + keyAuthor + `|(?:` + keyTool + `|` + keyLearned + `)[^:]*)["']?:.*)$`)

// version returns the digest of all files, except what we record in SKILL.md.
func (c *content) version() string {
	h := sha256.New()
	for _, info := range c.infos {
		data := c.files[info.Path]
		if info.Path == File {
			data = withoutRecord(data)
		}
		fmt.Fprintf(h, "%d:%s%d:", len(info.Path), info.Path, len(data))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func withoutRecord(text []byte) []byte {
	head, body, err := frontmatter.Split(string(text))
	if err != nil {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(head) {
		if !recordLines.MatchString(strings.TrimRight(line, "\n")) {
			b.WriteString(line)
		}
	}
	return []byte("---\n" + b.String() + "---\n" + body)
}

// mainOf returns the path of the script that an import runs, or "".
func mainOf(c *content, lang sandbox.Language) string {
	names := make([]string, len(c.infos))
	for i, info := range c.infos {
		names[i] = info.Path
	}
	return script.MainScript(names, lang)
}

// scripts returns the paths of all scripts of a language, the main script first.
func (c *content) scripts(lang sandbox.Language) []string {
	main := mainOf(c, lang)
	var all []string
	if main != "" {
		all = append(all, main)
	}
	for _, info := range c.infos {
		if info.Path != main && sandbox.LanguageOf(info.Path) == lang {
			all = append(all, info.Path)
		}
	}
	return all
}

// languages returns the languages of the scripts, sorted.
func (c *content) languages() []sandbox.Language {
	found := []sandbox.Language{}
	for _, info := range c.infos {
		if l := sandbox.LanguageOf(info.Path); l != "" && !slices.Contains(found, l) {
			found = append(found, l)
		}
	}
	slices.Sort(found)
	return found
}
