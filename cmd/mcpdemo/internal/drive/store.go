package drive

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
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
type store struct {
	root   *os.Root // keeps every path inside the drive
	folder string   // documents or sheets
	ext    string   // of the content
	mu     sync.RWMutex
}

// create stores a new item with an id made from its title.
func (s *store) create(m meta, content string) (meta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	base := slug(m.Title, s.folder)
	m.ID = base
	for n := 2; s.has(m.ID); n++ {
		m.ID = fmt.Sprintf("%s-%d", base, n)
	}
	m.Owner, m.CreatedAt = owner, time.Now().UTC()
	if m.Labels == nil {
		m.Labels = []string{}
	}
	return s.save(m, content)
}

// get reads an item's description and content.
func (s *store) get(id string) (meta, string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.load(id)
}

// list returns a page of the descriptions that match, sorted by id.
func (s *store) list(in listInput) (page []meta, next *string, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	entries, err := fs.ReadDir(s.root.FS(), s.folder)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		id, isMeta := strings.CutSuffix(e.Name(), ".json")
		if !isMeta || id <= in.Cursor {
			continue
		}
		m, _, err := s.load(id)
		if err != nil {
			return nil, nil, err
		}
		if !m.matches(in) {
			continue
		}
		if len(page) == in.Limit {
			return page, &page[len(page)-1].ID, nil
		}
		page = append(page, m)
	}
	return page, nil, nil
}

// update changes an item; change is called while no other call writes.
func (s *store) update(id string, change func(m *meta, content *string) error) (meta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, content, err := s.load(id)
	if err != nil {
		return meta{}, err
	}
	if err := change(&m, &content); err != nil {
		return meta{}, err
	}
	return s.save(m, content)
}

func (m *meta) matches(in listInput) bool {
	if in.Label != "" && !slices.ContainsFunc(m.Labels, func(l string) bool { return strings.EqualFold(l, in.Label) }) {
		return false
	}
	text := strings.ToLower(m.ID + "\n" + m.Title + "\n" + strings.Join(m.Labels, "\n"))
	return strings.Contains(text, strings.ToLower(in.Query))
}

// owner owns everything that is created through the server.
const owner = "you@example.com"

// slug returns a title's ASCII letters and digits in lower case, without
// accents, with hyphens between words.
func slug(title, otherwise string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(strings.ToLower(title)) {
		switch {
		case r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			b.WriteRune(r)
		case !unicode.Is(unicode.Mn, r): // drop accents, keep the letter
			b.WriteByte(' ')
		}
	}
	if id := strings.Join(strings.Fields(b.String()), "-"); id != "" {
		return strings.TrimSuffix(id[:min(len(id), 80)], "-")
	}
	return otherwise
}

func (s *store) has(id string) bool {
	_, err := s.root.Stat(path.Join(s.folder, id+".json"))
	return err == nil
}

func (s *store) load(id string) (m meta, content string, err error) {
	raw, err := s.root.ReadFile(path.Join(s.folder, id+".json"))
	if err != nil {
		return meta{}, "", fmt.Errorf("there is no id %q in the %s; list_%s shows the ids", id, s.folder, s.folder)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return meta{}, "", fmt.Errorf("%s/%s.json is damaged: %w", s.folder, id, err)
	}
	raw, err = s.root.ReadFile(path.Join(s.folder, id+s.ext))
	return m, string(raw), err
}

// save writes the content first: an item is listed only when it is complete.
func (s *store) save(m meta, content string) (meta, error) {
	m.UpdatedAt = time.Now().UTC()
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return meta{}, err
	}
	if err := s.root.WriteFile(path.Join(s.folder, m.ID+s.ext), []byte(content), 0o644); err != nil {
		return meta{}, err
	}
	return m, s.root.WriteFile(path.Join(s.folder, m.ID+".json"), append(raw, '\n'), 0o644)
}
