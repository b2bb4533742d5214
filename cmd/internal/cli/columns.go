package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Columns is the width of the terminal that Stdout is, or 0 when it is none.
func (a *App) Columns() int { return a.columns(a.Stdout, a.Terminal.Stdout) }

// ErrColumns is the width of the terminal that Stderr is, or 0 when it is none.
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
