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
)

// content is all files of a skill, by their paths with slashes.
type content struct {
	files map[string][]byte
	infos []FileInfo // sorted by path
}

func newContent(files map[string][]byte) *content {
	c := &content{files: files}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		c.infos = append(c.infos, FileInfo{Path: name, Size: int64(len(files[name])), Digest: digestOf(files[name])})
	}
	return c
}

// light leaves away what the files hold: of all skills together that may be more than memory has room for.
func (c *content) light() { c.files = nil }

// data is what a file of the skill holds. It is read where a list has left it away, and must be what it was then.
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
		return nil, fmt.Errorf("read skill %q: %s has just been changed: try again", s.Name, name)
	}
	return data, nil
}

// whole is the skill's content with what its files hold.
func (s *Skill) whole() (*content, error) {
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

// SizeError says that a skill has more than can be handled.
type SizeError struct {
	Name string
	What string
}

func (e *SizeError) Error() string { return fmt.Sprintf("skill %q %s", e.Name, e.What) }

// readContent reads a skill's folder. Links, special files and what begins with a dot are left out.
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
		case d.IsDir() && (leftOut(d.Name()) || strings.Count(rel, "/") >= 8):
			return fs.SkipDir
		case !d.Type().IsRegular() || leftOut(d.Name()):
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

func leftOut(name string) bool {
	return name[0] == '.' || name == "__pycache__" || name == "node_modules"
}

// readBounded reads a file, up to one byte more than most.
func readBounded(fsys fs.FS, name string, most int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// ourLines are lines of front matter that say what we remember, and that a version does not depend on.
var ourLines = regexp.MustCompile(`^(?:metadata:|\s+["']?(?:` + keyVersion + `|` + keyGiven + `|` + keySkills + `|` + keyAuthor + `|` + keyTool + `[^:]*)["']?:.*)$`)

// version is the digest of what a skill is: all of its files, but for what we remember of it.
func (c *content) version() string {
	h := sha256.New()
	for _, info := range c.infos {
		data := c.files[info.Path]
		if info.Path == File {
			data = withoutMarks(data)
		}
		fmt.Fprintf(h, "%d:%s%d:", len(info.Path), info.Path, len(data))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func withoutMarks(text []byte) []byte {
	head, body, err := splitFront(string(text))
	if err != nil {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(head) {
		if !ourLines.MatchString(strings.TrimRight(line, "\n")) {
			b.WriteString(line)
		}
	}
	return []byte("---\n" + b.String() + "---\n" + body)
}

// mainOf is the script that an import means. Empty: there is none.
func mainOf(c *content, lang sandbox.Language) string {
	names := make([]string, len(c.infos))
	for i, info := range c.infos {
		names[i] = info.Path
	}
	return script.MainScript(names, lang)
}

// scripts are all scripts of a language, the main one first.
func (c *content) scripts(lang sandbox.Language) []string {
	main := mainOf(c, lang)
	var all []string
	if main != "" {
		all = append(all, main)
	}
	for _, info := range c.infos {
		if info.Path != main && languageOf(info.Path) == lang {
			all = append(all, info.Path)
		}
	}
	return all
}

// languages are those of the scripts, sorted.
func (c *content) languages() []sandbox.Language {
	found := []sandbox.Language{}
	for _, info := range c.infos {
		if l := languageOf(info.Path); l != "" && !slices.Contains(found, l) {
			found = append(found, l)
		}
	}
	slices.Sort(found)
	return found
}
