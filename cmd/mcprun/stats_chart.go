package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

const (
	plainWidth = 80  // of a chart that goes to no terminal
	leastWidth = 40  // of any chart
	mostWidth  = 120 // of a chart in a wide terminal
	leastBar   = 8
)

// chart draws tokens as bars, all to one scale: what was used, and behind it what was saved.
type chart struct {
	app   *cli.App
	width int
	lines []chartLine
}

// chartLine is a title, which has no bar, or a bar with its label.
type chartLine struct {
	label  string
	title  string // in words; a bar has none
	tokens workspace.Tokens
}

func newChart(app *cli.App) *chart {
	width := app.Columns()
	if width == 0 {
		width = plainWidth
	}
	return &chart{app: app, width: max(leastWidth, min(width, mostWidth))}
}

func (c *chart) title(name string, s *workspace.Stats) {
	words := fmt.Sprintf("%s, %s, %s", cli.Count(s.Runs, "run"), cli.Count(s.Calls, "call"), tokenWords(s))
	c.lines = append(c.lines, chartLine{label: name, title: words})
}

func (c *chart) bar(label string, t workspace.Tokens) {
	c.lines = append(c.lines, chartLine{label: cli.CleanLine(label), tokens: t})
}

// print prints the chart. The numbers at the end of a bar are what was used, and what part was saved.
func (c *chart) print() error {
	labels, most, numbers := 0, int64(1), 0
	for _, l := range c.lines {
		if l.title == "" {
			labels = max(labels, utf8.RuneCountInString(l.label))
			most = max(most, l.tokens.Used, l.tokens.Direct)
			numbers = max(numbers, utf8.RuneCountInString(barNumbers(l.tokens)))
		}
	}
	labels = min(labels, max(10, c.width-numbers-leastBar-6)) // two spaces before each column
	room := max(leastBar, c.width-labels-numbers-6)
	style, out := c.app.OutStyle(), &strings.Builder{}
	for i, l := range c.lines {
		if l.title != "" {
			if i > 0 {
				out.WriteByte('\n')
			}
			for j, line := range fold(l.label+": "+l.title, c.width) {
				if j == 0 {
					line = strings.Replace(line, l.label, style.Bold(l.label), 1)
				}
				out.WriteString(line + "\n")
			}
			continue
		}
		label := cli.Shorten(l.label, labels)
		label += strings.Repeat(" ", labels-utf8.RuneCountInString(label))
		used, rest := cells(l.tokens, most, room)
		bar := drawn(style.Cyan, "█", used) + drawn(style.Green, "░", rest) + strings.Repeat(" ", room-used-rest)
		fmt.Fprintf(out, "  %s  %s  %s\n", label, bar, barNumbers(l.tokens))
	}
	fmt.Fprintf(out, "\n%s used   %s saved, of what direct calls would have cost\n", style.Cyan("█"), style.Green("░"))
	_, err := c.app.Stdout.Write([]byte(out.String()))
	return err
}

// drawn is a part of a bar; nothing where it has no length.
func drawn(colour func(string) string, cell string, n int) string {
	if n == 0 {
		return ""
	}
	return colour(strings.Repeat(cell, n))
}

// cells is how long the parts of a bar are.
func cells(t workspace.Tokens, most int64, room int) (used, rest int) {
	scale := func(n int64) int { return int(float64(max(0, n)) / float64(most) * float64(room)) }
	used, whole := scale(t.Used), scale(max(t.Used, t.Direct))
	if t.Used > 0 {
		used = max(1, used)
	}
	return min(used, room), max(0, min(whole, room)-used)
}

func barNumbers(t workspace.Tokens) string {
	s := workspace.Stats{Tokens: t}
	return fmt.Sprintf("%8s %7s", short(t.Used), saved(&s))
}

// short writes a number of tokens in at most six characters.
func short(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// saved is the part that was saved, in words; nothing where nothing was counted.
func saved(s *workspace.Stats) string {
	if s.Tokens.Direct == 0 {
		return "-"
	}
	if part := s.SavedPercent(); part > -1000 {
		return fmt.Sprintf("%.1f %%", part)
	}
	return fmt.Sprintf("%.0f %%", s.SavedPercent())
}

// tokenWords says what was used and saved.
func tokenWords(s *workspace.Stats) string {
	t := s.Tokens
	if t.Direct == 0 {
		return fmt.Sprintf("%s tokens used", grouped(t.Used))
	}
	if t.Saved < 0 {
		return fmt.Sprintf("%s tokens used, %s more than direct calls", grouped(t.Used), grouped(-t.Saved))
	}
	return fmt.Sprintf("%s tokens used, %s saved (%.1f %%)", grouped(t.Used), grouped(t.Saved), s.SavedPercent())
}

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}
