package drive

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// meta is the part that documents and sheets share; it is kept in ID.json.
type meta struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Owner     string    `json:"owner"`
	Labels    []string  `json:"labels"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// Words is the number of words of a document.
	Words int `json:"words,omitzero"`
	// Columns and Rows describe a sheet.
	Columns []Column `json:"columns,omitzero"`
	Rows    int      `json:"rows,omitzero"`
}

// store keeps one kind of item in one folder: ID.json beside ID.md or ID.csv.
// The content is written before its description, and both by renaming, so an
// item is listed only when all of it is there.
type store struct {
	root   *os.Root
	folder string // documents or sheets
	ext    string // of the content
	kind   string // for errors
	// mu orders writes within the process. Other processes may write too: then
	// the last one wins, as with any file.
	mu sync.Mutex
}

// idPattern is what an id looks like; it keeps every path inside the folder.
var idPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func (s *store) path(id, ext string) string { return path.Join(s.folder, id+ext) }

func (s *store) notFound(id string) error {
	return fmt.Errorf("there is no %s with id %q; list_%ss shows the ids", s.kind, id, s.kind)
}

// meta reads an item's description.
func (s *store) meta(id string) (meta, error) {
	if !idPattern.MatchString(id) {
		return meta{}, s.notFound(id)
	}
	raw, err := s.root.ReadFile(s.path(id, ".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return meta{}, s.notFound(id)
	}
	if err != nil {
		return meta{}, fmt.Errorf("read %s %q: %w", s.kind, id, err)
	}
	var m meta
	if err := json.Unmarshal(raw, &m); err != nil {
		return meta{}, fmt.Errorf("%s %q is damaged: %w", s.kind, id, err)
	}
	return m, nil
}

// content reads an item's text.
func (s *store) content(id string) (string, error) {
	raw, err := s.root.ReadFile(s.path(id, s.ext))
	if err != nil {
		return "", fmt.Errorf("read %s %q: %w", s.kind, id, err)
	}
	return string(raw), nil
}

// save writes an item's content and then its description.
func (s *store) save(m meta, content string) error {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := s.replace(s.path(m.ID, s.ext), []byte(content)); err != nil {
		return fmt.Errorf("write %s %q: %w", s.kind, m.ID, err)
	}
	if err := s.replace(s.path(m.ID, ".json"), append(raw, '\n')); err != nil {
		return fmt.Errorf("write %s %q: %w", s.kind, m.ID, err)
	}
	return nil
}

func (s *store) replace(name string, content []byte) error {
	tmp := fmt.Sprintf("%s.%d.tmp", name, os.Getpid())
	if err := s.root.WriteFile(tmp, content, 0o644); err != nil {
		return errors.Join(err, s.root.Remove(tmp))
	}
	return s.root.Rename(tmp, name)
}

// remove deletes an item; its description goes first, so that a half-deleted
// item is not listed.
func (s *store) remove(id string) error {
	return errors.Join(s.root.Remove(s.path(id, ".json")), s.root.Remove(s.path(id, s.ext)))
}

// newID makes an id from a title that no item has yet. The caller holds mu.
func (s *store) newID(title string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(title)) {
		switch {
		case r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(r)
		case !unicode.Is(unicode.Mn, r): // drop accents, keep the letter
			b.WriteByte(' ')
		}
	}
	base := strings.Join(strings.Fields(b.String()), "-")
	if base = strings.Trim(base[:min(len(base), 80)], "-"); base == "" {
		base = s.kind
	}
	for id, n := base, 2; ; id, n = fmt.Sprintf("%s-%d", base, n), n+1 {
		if _, err := s.root.Lstat(s.path(id, ".json")); errors.Is(err, fs.ErrNotExist) {
			return id
		}
	}
}

// list returns a page of the descriptions that match, sorted by id.
func (s *store) list(in listInput) (page []meta, next *string, err error) {
	entries, err := fs.ReadDir(s.root.FS(), s.folder)
	if err != nil {
		return nil, nil, fmt.Errorf("list %ss: %w", s.kind, err)
	}
	for _, e := range entries {
		id, isMeta := strings.CutSuffix(e.Name(), ".json")
		if !isMeta || id <= in.Cursor {
			continue
		}
		m, err := s.meta(id)
		if err != nil || !m.matches(in) {
			continue // one damaged or just deleted item hides no others
		}
		if len(page) == in.Limit {
			return page, &page[len(page)-1].ID, nil
		}
		page = append(page, m)
	}
	return page, nil, nil
}

func (m *meta) matches(in listInput) bool {
	if in.Label != "" && !slices.ContainsFunc(m.Labels, func(l string) bool { return strings.EqualFold(l, in.Label) }) {
		return false
	}
	haystack := strings.ToLower(m.ID + "\x00" + m.Title + "\x00" + strings.Join(m.Labels, "\x00"))
	return strings.Contains(haystack, strings.ToLower(in.Query))
}
