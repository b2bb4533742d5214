package skill

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/skill/internal/frontmatter"
)

// Draft is a skill that is to be saved.
type Draft struct {
	Name        string           // in any style
	Description string           // what it does and when to use it; empty: from SKILL.md, the previous version or the code
	Language    sandbox.Language // of Code; empty: detected
	Code        string           // the main script; empty: it is in Files, or there is none
	// Files are further files, by their paths below the skill's folder. SKILL.md is generated if it is missing.
	Files map[string][]byte
	// Author is AuthorScript, AuthorAgent, or empty for a person. Scripts and agents may only replace each other's skills.
	Author string
	// Taint lists the servers whose data the skill may hold. The servers of the skill that it replaces are added, unless a
	// person saves it.
	Taint []string
	// Force saves a skill even if it cannot work.
	Force bool
}

// DraftError reports why a skill cannot be saved.
type DraftError struct {
	Name string // of the skill
	Why  string
	hint string
}

func (e *DraftError) Error() string { return fmt.Sprintf("save skill %.80q: %s", e.Name, e.Why) }

// Hint returns what to do instead. It may be empty.
func (e *DraftError) Hint() string { return e.hint }

// complete returns the files of the skill and its front matter without our record. before is the skill that it replaces, or
// nil.
func (d *Draft) complete(name string, before *Skill) (files map[string][]byte, f *frontmatter.Front, warnings []string, err error) {
	refuse := func(format string, args ...any) (map[string][]byte, *frontmatter.Front, []string, error) {
		return nil, nil, nil, &DraftError{Name: d.Name, Why: fmt.Sprintf(format, args...)}
	}
	files = map[string][]byte{}
	for p, data := range d.Files {
		if err := storable(p); err != nil {
			return refuse("file %.100q: %v", p, err)
		}
		files[p] = slices.Clone(data)
	}
	if d.Code != "" {
		p, err := d.mainPath(files)
		if err != nil {
			return refuse("%v", err)
		}
		files[p] = []byte(d.Code)
	}
	if err := d.checkSize(files); err != nil {
		return refuse("%v", err)
	}
	c := newContent(files)
	given := strings.TrimSpace(d.Description)
	if text, ok := files[File]; ok {
		if f, err = frontmatter.Parse(text); err != nil {
			return refuse("%s: %v", File, err)
		}
		given = cmp.Or(given, f.Description)
	}
	if given == "" && before != nil {
		given = before.Description
	}
	if given == "" {
		if given = described(c); given == "" {
			given = "The script " + name + "."
			warnings = append(warnings, "it has no description; describe what it does and when to use it, so that it can be found")
		}
	}
	description, err := frontmatter.CleanDescription(given)
	if err != nil {
		return refuse("%v", err)
	}
	if f == nil {
		f = frontmatter.New(usage(name, description, c))
	}
	f.Set("name", name)
	f.Set("description", description)
	return files, f, warnings, nil
}

// mainPath returns the path of the main script.
func (d *Draft) mainPath(files map[string][]byte) (string, error) {
	p := "scripts/main.ts"
	switch lang := cmp.Or(d.Language, script.DetectLanguage(d.Code)); lang {
	case sandbox.LangPython:
		p = "scripts/main.py"
	case sandbox.LangTypeScript:
	default:
		return "", fmt.Errorf("the language %.40q is neither typescript nor python", d.Language)
	}
	if _, ok := files[p]; ok {
		return "", fmt.Errorf("%s is given twice", p)
	}
	return p, nil
}

// checkSize refuses a skill that is empty or too large.
func (d *Draft) checkSize(files map[string][]byte) error {
	maxFiles, maxSize := MaxFiles, MaxSize
	if d.Author != "" {
		maxFiles, maxSize = MaxSavedFiles, MaxSavedSize
		if _, ok := files[File]; ok {
			return errors.New(File + " is generated and cannot be given")
		}
	}
	size, seen := 0, map[string]string{}
	for p, data := range files {
		size += len(data)
		lower := strings.ToLower(p)
		if other, ok := seen[lower]; ok {
			return fmt.Errorf("files %q and %q differ only in case, which some file systems ignore", min(p, other), max(p, other))
		}
		seen[lower] = p
		if sandbox.LanguageOf(p) == "" {
			continue
		}
		switch {
		case len(data) > script.MaxSize:
			return fmt.Errorf("%s has %d bytes; a script has at most %d", p, len(data), script.MaxSize)
		case !utf8.Valid(data) || slices.Contains(data, 0):
			return fmt.Errorf("%s is not UTF-8 text", p)
		}
	}
	switch {
	case len(files) == 0:
		return errors.New("it is empty; give code or files")
	case len(files) > maxFiles:
		return fmt.Errorf("it has %d files; at most %d are allowed", len(files), maxFiles)
	case size > maxSize:
		return fmt.Errorf("it has %d bytes; at most %d are allowed", size, maxSize)
	}
	return nil
}

var storableName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._ @+-]*$`)

// storable refuses a path that could lead outside the skill's folder, or that some systems cannot store.
func storable(p string) error {
	if !fs.ValidPath(p) || p == "." || strings.ContainsAny(p, `\:`) {
		return errors.New("it is not a path below the skill's folder")
	}
	if len(p) > 200 || strings.Count(p, "/") > 5 {
		return errors.New("its path is too long, or too deep")
	}
	for part := range strings.SplitSeq(p, "/") {
		base, _, _ := strings.Cut(part, ".")
		switch {
		case ignored(part):
			return errors.New("names that begin with a dot, __pycache__ and node_modules are not part of a skill")
		case !storableName.MatchString(part) || strings.HasSuffix(part, ".") || strings.HasSuffix(part, " "):
			return errors.New("its name has characters that some systems cannot store")
		case ident.ReservedFile(base):
			return errors.New("its name is a device name on Windows")
		}
	}
	if strings.EqualFold(p, File) && p != File {
		return fmt.Errorf("it must be written %s", File)
	}
	return nil
}

var (
	docComment = regexp.MustCompile(`^(?:#![^\n]*\n)?\s*(?:/\*\*?((?s:.*?))\*/|((?:\s*//[^\n]*\n?)+)|"""((?s:.*?))"""|((?:\s*#[^\n]*\n?)+))`)
	markers    = regexp.MustCompile(`(?m)^\s*(?:\*|//+|#+)\s?`)
	exported   = regexp.MustCompile(`(?m)^export\s+(?:async\s+)?(?:function\*?|const|let|class)\s+([A-Za-z_$][\w$]*)`)
	defined    = regexp.MustCompile(`(?m)^(?:async\s+)?def\s+([A-Za-z]\w*)`)
)

// described returns the first paragraph of the comment at the beginning of the main script.
func described(c *content) string {
	for _, lang := range []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython} {
		m := docComment.FindStringSubmatch(string(c.files[mainOf(c, lang)]))
		if m == nil {
			continue
		}
		text := strings.TrimSpace(markers.ReplaceAllString(m[1]+m[2]+m[3]+m[4], ""))
		text, _, _ = strings.Cut(text, "\n\n")
		if text = oneLine(text, MaxDescription); text != "" {
			return text
		}
	}
	return ""
}

// usage returns the text of a generated SKILL.md: how to import the skill's scripts.
func usage(name, description string, c *content) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n# %s\n\n%s\n", name, description)
	for _, lang := range []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython} {
		main := mainOf(c, lang)
		if main == "" {
			continue
		}
		fmt.Fprintf(&b, "\n```%s\n%s\n```\n", map[sandbox.Language]string{sandbox.LangPython: "python", sandbox.LangTypeScript: "ts"}[lang], importOf(name, string(c.files[main]), lang))
	}
	for _, info := range c.infos {
		if path.Dir(info.Path) != "scripts" && sandbox.LanguageOf(info.Path) == "" && info.Path != File {
			fmt.Fprintf(&b, "\n- `%s`\n", info.Path)
		}
	}
	return b.String()
}
