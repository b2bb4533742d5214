// Package drive is the demo server for documents and sheets, kept as Markdown
// and CSV files with a small JSON description beside each. It comes with the
// transcript of a long sales workshop (about 50,000 tokens) and a sheet of
// 10,000 orders: results that nobody wants in a model's context. Start at [New].
package drive

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/seed"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

// owner is who owns what is created through the server.
const owner = "you@example.com"

// New returns the server for the documents and sheets in dir, which is created
// and filled if it does not exist.
func New(dir string) (*tool.Server, error) {
	if err := seed.Dir(dir, fill); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the drive: %w", err)
	}
	d := newDrive(root)
	s := tool.NewServer("mcpdemo-drive", "Drive",
		"Documents (Markdown) and sheets (typed tables). list_documents and list_sheets give the ids. Contents can be very large: process them in code and keep them out of the conversation.")
	s.OnClose(root.Close)
	d.addDocuments(s)
	d.addSheets(s)
	return s, nil
}

type drive struct {
	documents, sheets *store
	now               func() time.Time
}

func newDrive(root *os.Root) *drive {
	return &drive{
		documents: &store{root: root, folder: "documents", ext: ".md", kind: "document"},
		sheets:    &store{root: root, folder: "sheets", ext: ".csv", kind: "sheet"},
		now:       time.Now,
	}
}

// fill writes the first documents and sheets into an empty folder.
func fill(dir string) (err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	d := newDrive(root)
	for _, folder := range []string{d.documents.folder, d.sheets.folder} {
		if err := root.Mkdir(folder, 0o755); err != nil {
			return err
		}
	}
	return errors.Join(seedDocuments(d.documents), seedSheets(d.sheets))
}
