// Package drive is the demo server for documents and sheets, kept as Markdown
// and CSV files with a small JSON description beside each. It comes with the
// transcript of a long sales workshop (about 50,000 tokens) and a sheet of
// 10,000 orders, five of which are pending with an amount above 10,000: results
// that nobody wants in a model's context. Start at [New].
package drive

import (
	"embed"
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

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/seed"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

// firstFiles are the first documents and sheets. Examples and benchmarks use
// their ids; renaming them breaks those.
//
//go:embed files
var firstFiles embed.FS

// owner owns everything that is created through the server.
const owner = "you@example.com"

// New returns the server for the documents and sheets in dir, which is created
// and filled if it does not exist.
func New(dir string) (*tool.Server, error) {
	files, err := fs.Sub(firstFiles, "files")
	if err != nil {
		return nil, err
	}
	if err := seed.Dir(dir, func(tmp string) error { return os.CopyFS(tmp, files) }); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the drive: %w", err)
	}
	s := tool.NewServer("mcpdemo-drive", "Drive",
		"Documents (Markdown) and sheets (typed tables). list_documents and list_sheets give the ids. Contents can be very large: process them in code and keep them out of the conversation.")
	s.OnClose(root.Close)
	addDocuments(s, &store{root: root, folder: "documents", ext: ".md"})
	addSheets(s, &store{root: root, folder: "sheets", ext: ".csv"})
	return s, nil
}

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

// get reads an item's description and content.
func (s *store) get(id string) (meta, string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.load(id)
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

func (s *store) has(id string) bool {
	_, err := s.root.Stat(path.Join(s.folder, id+".json"))
	return err == nil
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

func (m *meta) matches(in listInput) bool {
	if in.Label != "" && !slices.ContainsFunc(m.Labels, func(l string) bool { return strings.EqualFold(l, in.Label) }) {
		return false
	}
	text := strings.ToLower(m.ID + "\n" + m.Title + "\n" + strings.Join(m.Labels, "\n"))
	return strings.Contains(text, strings.ToLower(in.Query))
}
