package filesystem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxEntries bounds what one tree or search returns or visits.
const maxEntries = 5000

type treeInput struct {
	Path     string `json:"path,omitempty" default:"." minlen:"1" maxlen:"1024" jsonschema:"The directory, relative to the served folder; the folder itself by default."`
	MaxDepth int    `json:"max_depth,omitempty" default:"5" min:"1" max:"20" jsonschema:"How many levels below the directory to show."`
}

type treeNode struct {
	Name      string       `json:"name"`
	Type      string       `json:"type"`
	SizeBytes *int64       `json:"size_bytes,omitempty"`
	Children  *[]*treeNode `json:"children,omitempty"`
}

type treeOutput struct {
	Root      *treeNode `json:"root"`
	Entries   int       `json:"entries"`
	Truncated bool      `json:"truncated"`
}

type searchInput struct {
	Path          string `json:"path,omitempty" default:"." minlen:"1" maxlen:"1024" jsonschema:"The directory to search below, relative to the served folder."`
	NamePattern   string `json:"name_pattern,omitempty" maxlen:"256" example:"*.md" jsonschema:"Only files whose name matches this glob (* and ? and [a-z]); a pattern with a slash is matched against the whole path."`
	Content       string `json:"content,omitempty" maxlen:"1000" example:"TODO" jsonschema:"Only files that contain this text."`
	Regexp        bool   `json:"regexp,omitempty" default:"false" jsonschema:"Treat content as a regular expression in RE2 syntax, matched line by line."`
	CaseSensitive bool   `json:"case_sensitive,omitempty" default:"false" jsonschema:"Match content with regard to case."`
	MaxResults    int    `json:"max_results,omitempty" default:"100" min:"1" max:"1000" jsonschema:"Stop after this many files."`
}

type lineMatch struct {
	Line int    `json:"line" min:"1" jsonschema:"The line number, from 1."`
	Text string `json:"text" jsonschema:"The line, cut after 300 characters."`
}

type searchMatch struct {
	Path      string      `json:"path" jsonschema:"The file, relative to the served folder."`
	SizeBytes int64       `json:"size_bytes" jsonschema:"The size of the file in bytes."`
	Matches   []lineMatch `json:"matches" jsonschema:"The first 20 matching lines; empty when only names were searched."`
}

type searchOutput struct {
	Files     []searchMatch `json:"files" jsonschema:"The files found, sorted by path."`
	Truncated bool          `json:"truncated" jsonschema:"True when max_results or the limit of 5,000 visited entries ended the search early."`
}

func newEntry(name string, info fs.FileInfo) entry {
	e := entry{Name: path.Base(name), Path: name, Type: kind(info.Mode()), Modified: info.ModTime().UTC()}
	if e.Type == "file" {
		e.SizeBytes = info.Size()
	}
	return e
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	}
	return "other"
}

// entries returns what a directory holds, sorted by name.
func (f *folder) entries(name string) ([]fs.DirEntry, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, explain(name, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("path %q is not a directory; use read_file or get_file_info", name)
	}
	list, err := fs.ReadDir(f.root.FS(), path.Clean(name))
	return list, explain(name, err)
}

func (f *folder) list(_ context.Context, in listInput) (listOutput, error) {
	list, err := f.entries(in.Path)
	if err != nil {
		return listOutput{}, err
	}
	out := listOutput{Path: path.Clean(in.Path), Entries: []entry{}}
	for _, e := range list {
		info, err := e.Info()
		if err != nil {
			continue // deleted since it was listed
		}
		out.Entries = append(out.Entries, newEntry(path.Join(in.Path, e.Name()), info))
	}
	switch in.SortBy {
	case "size":
		slices.SortStableFunc(out.Entries, func(a, b entry) int { return cmp.Compare(b.SizeBytes, a.SizeBytes) })
	case "modified":
		slices.SortStableFunc(out.Entries, func(a, b entry) int { return b.Modified.Compare(a.Modified) })
	}
	return out, nil
}

func (f *folder) tree(_ context.Context, in treeInput) (treeOutput, error) {
	out := treeOutput{Root: &treeNode{Name: path.Base(path.Clean(in.Path)), Type: "directory"}}
	err := f.grow(in.Path, out.Root, in.MaxDepth, &out)
	return out, err
}

// grow adds the children of a directory and goes on below them.
func (f *folder) grow(name string, node *treeNode, depth int, out *treeOutput) error {
	children := []*treeNode{}
	node.Children = &children
	list, err := f.entries(name)
	if err != nil {
		return err
	}
	if depth == 0 {
		out.Truncated = out.Truncated || len(list) > 0
		return nil
	}
	for _, e := range list {
		if out.Entries == maxEntries {
			out.Truncated = true
			return nil
		}
		out.Entries++
		child := &treeNode{Name: e.Name(), Type: kind(e.Type())}
		if info, err := e.Info(); err == nil && child.Type == "file" {
			size := info.Size()
			child.SizeBytes = &size
		}
		children = append(children, child)
		if e.IsDir() {
			if err := f.grow(path.Join(name, e.Name()), child, depth-1, out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *folder) search(_ context.Context, in searchInput) (searchOutput, error) {
	if in.NamePattern == "" && in.Content == "" {
		return searchOutput{}, errors.New("give name_pattern, content or both")
	}
	matcher, err := newMatcher(in)
	if err != nil {
		return searchOutput{}, err
	}
	if _, err := f.entries(in.Path); err != nil {
		return searchOutput{}, err // the walk would skip what it cannot read
	}
	out := searchOutput{Files: []searchMatch{}}
	visited := 0
	walkErr := fs.WalkDir(f.root.FS(), path.Clean(in.Path), func(name string, e fs.DirEntry, err error) error {
		if visited++; visited > maxEntries || len(out.Files) == in.MaxResults {
			out.Truncated = true
			return fs.SkipAll
		}
		if err != nil || !e.Type().IsRegular() || !nameMatches(in.NamePattern, name) {
			return nil // an unreadable file has no matches; that is no error
		}
		if found, ok := f.match(name, e, matcher); ok {
			out.Files = append(out.Files, found)
		}
		return nil
	})
	return out, walkErr
}

func nameMatches(pattern, name string) bool {
	pattern = strings.TrimPrefix(pattern, "**/")
	if !strings.Contains(pattern, "/") {
		name = path.Base(name)
	}
	ok, err := path.Match(pattern, name)
	return pattern == "" || ok && err == nil
}

// newMatcher returns the test for a line, or nil when content does not matter.
func newMatcher(in searchInput) (*regexp.Regexp, error) {
	if in.Content == "" {
		return nil, nil
	}
	expression := in.Content
	if !in.Regexp {
		expression = regexp.QuoteMeta(expression)
	}
	if !in.CaseSensitive {
		expression = "(?i)" + expression
	}
	matcher, err := regexp.Compile(expression)
	if err != nil {
		return nil, fmt.Errorf("content is not a regular expression: %w", err)
	}
	return matcher, nil
}

func (f *folder) match(name string, e fs.DirEntry, matcher *regexp.Regexp) (searchMatch, bool) {
	found := searchMatch{Path: name, Matches: []lineMatch{}}
	if info, err := e.Info(); err == nil {
		found.SizeBytes = info.Size()
	}
	if matcher == nil {
		return found, true
	}
	text, err := f.readText(name)
	if err != nil {
		return found, false
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if len(found.Matches) == 20 {
			break
		}
		if line = strings.TrimRight(line, "\r\n"); matcher.MatchString(line) {
			runes := []rune(line)
			found.Matches = append(found.Matches, lineMatch{number, string(runes[:min(len(runes), 300)])})
		}
	}
	return found, len(found.Matches) > 0
}
