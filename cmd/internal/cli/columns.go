package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Columns returns the width of Stdout, or 0 if it is not a terminal.
func (a *App) Columns() int { return a.columns(a.Stdout, a.Terminal.Stdout) }

// ErrColumns returns the width of Stderr, or 0 if it is not a terminal.
func (a *App) ErrColumns() int { return a.columns(a.Stderr, a.Terminal.Stderr) }

func (a *App) columns(w io.Writer, terminal bool) int {
	f, ok := w.(*os.File)
	if !terminal {
		return 0
	}
	if !ok || a.Terminal.Columns > 0 {
		return a.Terminal.Columns
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
