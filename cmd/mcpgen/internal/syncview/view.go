// Package syncview shows the report of a sync in one of three forms: text for people, JSON for programs, and the log and
// annotations of GitHub Actions. It also writes a summary in Markdown. All of them are created from [gen.Report].
package syncview

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcpgen/internal/permit"
	"github.com/mcpgen/mcpgen/gen"
)

// The forms of a report.
const (
	Text   = "text"
	JSON   = "json"
	GitHub = "github"
)

// View is a report with everything that is needed to show it.
type View struct {
	App    *cli.App
	Report *gen.Report
	// Repair is the command that brings the tree up to date.
	Repair string
	// Policy is what the policy says about the tools. May be nil.
	Policy *permit.Outlooks
	// Skills and Workflows are those that are broken, for JSON. May be nil.
	Skills, Workflows any
	// Migration is what was done to scripts, for JSON. May be nil.
	Migration any
	// ExitCode is the program's exit code, for JSON.
	ExitCode int
}

// problems prints warnings and failures. With --json they are in the object too, but a person may be watching.
func (v *View) problems() {
	style := v.App.ErrStyle()
	line := func(label, place, message string) {
		text := fmt.Sprintf("%s: %s", cli.EscapeLine(place), cli.EscapeLine(message))
		// In a log that GitHub reads for commands, the older form may be anywhere in a line.
		_, _ = fmt.Fprintf(v.App.Stderr, "%s %s\n", label, Disarm(text))
	}
	if len(v.Report.Servers) == 0 {
		line(style.Yellow("warning:"), filepath.Base(v.Report.Config), "it lists no servers")
	}
	for _, w := range v.Report.Warnings {
		label := style.Yellow("warning:")
		if w.Note {
			label = style.Bold("note:")
		}
		line(label, w.Place, w.Message)
	}
	for _, path := range v.Report.Kept {
		line(style.Yellow("warning:"), path, "it is no longer generated, but was changed by hand; it stays")
	}
	for _, s := range v.Report.Failures() {
		message := strings.TrimPrefix(s.Err.Error(), fmt.Sprintf("server %q: ", s.Key))
		if s.Tools > 0 {
			message += fmt.Sprintf(" (what the tree has of it stays: %s)", cli.Count(s.Tools, "tool"))
		}
		line(style.Red("error:"), s.Key, message)
		for _, hint := range cli.Hints(s.Err) {
			line(style.Bold("hint:"), s.Key, hint)
		}
	}
	if v.Report.Strict && v.Report.Dropped() {
		line(style.Red("error:"), "--strict", "tools could not be generated; nothing was written")
	}
	if v.Report.Strict && v.Report.Suspicious() {
		line(style.Red("error:"), "--strict", "texts look as if they were meant to steer a model; nothing was written")
	}
}

// ColourDiff returns a unified diff for a terminal, coloured as git does it.
func ColourDiff(style cli.Style, diff []byte) string {
	var out strings.Builder
	for line := range strings.Lines(cli.Escape(string(diff))) {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(text, "--- "), strings.HasPrefix(text, "+++ "):
			text = style.Bold(text)
		case strings.HasPrefix(text, "@@"):
			text = style.Cyan(text)
		case strings.HasPrefix(text, "-"):
			text = style.Red(text)
		case strings.HasPrefix(text, "+"):
			text = style.Green(text)
		}
		out.WriteString(text + "\n")
	}
	return out.String()
}

// outName returns the tree's folder as a person would type it.
func (v *View) outName() string {
	if rel, err := filepath.Rel(v.App.Dir, v.Report.Out); err == nil && !strings.HasPrefix(rel, "..") {
		return cli.EscapeLine(filepath.ToSlash(rel))
	}
	return cli.EscapeLine(v.Report.Out)
}
