// Package drive is the demo server for documents and sheets, kept as Markdown
// and CSV files with a small JSON description beside each. It comes with the
// transcript of a long sales workshop (about 50,000 tokens) and a sheet of
// 10,000 orders, five of which are pending with an amount above 10,000: results
// that nobody wants in a model's context. Start at [New].
package drive

import (
	"embed"
	"fmt"
	"io/fs"
	"os"

	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/seed"
	"github.com/mcpgen/mcpgen/cmd/mcpdemo/internal/tool"
)

// firstFiles are the first documents and sheets. Examples and benchmarks use
// their ids; renaming them breaks those.
//
//go:embed files
var firstFiles embed.FS

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
