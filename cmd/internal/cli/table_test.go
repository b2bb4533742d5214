package cli

import (
	"bytes"
	"strings"
	"testing"
)

func TestTableFitsTerminal(t *testing.T) {
	for columns, want := range map[int]string{0: "longer than the terminal", 35: "a title that is longe…", 10: "a title that is lon…"} {
		out := &bytes.Buffer{}
		app := &App{Stdout: out, Stderr: out, Terminal: Terminal{Stdout: columns > 0, Columns: columns}}
		if err := app.Table([]string{"A", "B", "TITLE"}, [][]string{{"12345678", "1", "a title that is longer than the terminal"}}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("Table() in %d columns = %q, want %q in it", columns, out, want)
		}
	}
}
