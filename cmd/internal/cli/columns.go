package cli

import (
	"os"

	"golang.org/x/term"
)

// Columns is the width of the terminal that Stdout is, or 0 when it is none.
func (a *App) Columns() int {
	f, ok := a.Stdout.(*os.File)
	if !ok || !a.Terminal.Stdout {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
