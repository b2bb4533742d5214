package syncview

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
)

const (
	// summaryBytes bounds the file of a job summary: GitHub drops files larger than a MiB.
	summaryBytes = 1<<20 - 1<<16
	// cellChars bounds the text of one cell.
	cellChars = 1000
)

// AppendSummary appends the report in Markdown to a file.
func (v *View) AppendSummary(path string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	s := summary{View: v, room: summaryBytes - int(min(info.Size(), summaryBytes))}
	s.write()
	if _, err := f.WriteString(s.out.String()); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// summary is a report in GitHub's Markdown. Foreign text must be added with mark or change.
type summary struct {
	*View
	out  strings.Builder
	room int
	full bool
}

// add appends a whole block, or a note that there is more.
func (s *summary) add(format string, args ...any) {
	const note = "\n\n*There is more to say than fits into a summary; `mcpgen sync --check` lists all.*\n"
	text := fmt.Sprintf(format, args...)
	switch {
	case s.full:
	case s.out.Len()+len(text)+len(note) > s.room:
		s.full = true
		if s.out.Len()+len(note) <= s.room {
			s.out.WriteString(note)
		}
	default:
		s.out.WriteString(text)
	}
}

func (s *summary) write() {
	r := s.Report
	s.add("## mcpgen: %s\n\n", s.headline())
	if r.Drift() && !r.Written {
		s.add("%s %s\n\n", map[bool]string{true: "To accept it, run", false: "To repair it, run"}[r.Outcome() == gen.Unpinned], mark(s.Repair))
	}
	servers := r.ByServer()
	s.servers(servers)
	for _, changed := range servers {
		s.changes(changed)
	}
	if len(r.Files) > 0 && !r.Written {
		s.fileTable()
	}
	if len(r.Warnings) > 0 {
		s.add("<details><summary>%s</summary>\n\n", cli.Count(len(r.Warnings), "warning"))
		s.add("| place | warning |\n|---|---|\n")
		for _, w := range r.Warnings {
			message := w.Message
			if w.Note {
				message = "note: " + message
			}
			s.add("| %s | %s |\n", mark(w.Place), mark(message))
		}
		s.add("\n</details>\n\n")
	}
}

func (s *summary) headline() string {
	name := mark(s.outName())
	switch s.Report.Outcome() {
	case gen.Unpinned:
		return name + ": the lock pins other definitions"
	case gen.Updated:
		return name + " was brought up to date"
	case gen.OutOfDate:
		return name + " is out of date"
	}
	if len(s.Report.Failures()) > 0 {
		return name + ": not all servers could be asked"
	}
	return name + " is up to date"
}

func (s *summary) servers(changed []gen.ServerChanges) {
	s.add("| server | tools | changed | renamed | added | removed | breaking | |\n|---|--:|--:|--:|--:|--:|--:|---|\n")
	byServer := map[string]gen.ServerChanges{}
	for _, c := range changed {
		byServer[c.Server] = c
	}
	for _, srv := range s.Report.Servers {
		note := ""
		if srv.Err != nil {
			note = "could not be asked: " + mark(strings.TrimPrefix(srv.Err.Error(), fmt.Sprintf("server %q: ", srv.Key)))
		}
		c := byServer[srv.Key]
		s.add("| %s | %d | %s | %s | %s | %s | %s | %s |\n", mark(srv.Key), srv.Tools, some(c.Changed), some(c.Renamed), some(c.Added), some(c.Removed), some(c.Breaking), note)
	}
	s.add("\n")
}

func some(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func (s *summary) changes(of gen.ServerChanges) {
	s.add("### %s\n\n", mark(of.Server))
	s.add("| tool | where | change | |\n|---|---|---|---|\n")
	for _, tool := range of.Tools {
		name := mark(tool.Tool)
		if name == "" {
			name = "*the server*"
		}
		for _, c := range tool.Changes {
			switch c.Kind {
			case diff.ServerAdded, diff.ServerRemoved:
				s.add("| %s | | %s: %s | |\n", name, strings.TrimPrefix(string(c.Kind), "server-"), mark(toolList(c.Tools)))
			case diff.ToolAdded, diff.ToolRemoved:
				s.add("| %s | | **%s** %s | %s |\n", name, strings.TrimPrefix(string(c.Kind), "tool-"), mark(c.Summary), impact(c.Impact, c.Important))
			case diff.ToolRenamed:
				s.add("| %s | | **renamed** from %s | %s |\n", name, mark(c.OldTool), impact(c.Impact, c.Important))
			}
			for _, line := range s.Policy.Lines(&c) {
				s.add("| %s | policy | %s | |\n", name, mark(line))
			}
			for _, i := range c.Items {
				s.add("| %s | %s | %s | %s |\n", name, mark(c.Label(i)), change(i), impact(i.Impact, i.Important))
			}
			if c.More > 0 {
				s.add("| %s | | and %d more | |\n", name, c.More)
			}
			if c.Why != "" {
				s.add("| %s | | %s | |\n", name, mark(c.Why))
			}
		}
		if word := strings.Trim(verdict(tool), " ()"); word == string(diff.Harmless) || word == string(diff.Undecided) {
			s.add("| %s | verdict | %s | |\n", name, word)
		}
	}
	s.add("\n")
}

func impact(i diff.Impact, important bool) string {
	switch {
	case i == diff.Breaking:
		return "**breaking**"
	case important:
		return "**important**"
	case i == diff.Compatible:
		return "compatible"
	}
	return ""
}

// change returns one item: its text with what was removed and added.
func change(i diff.Item) string {
	if i.Edits == nil || i.Old == "" || i.New == "" {
		return mark(i.Message)
	}
	var out strings.Builder
	for _, e := range i.Edits {
		text := entities(cli.Shorten(e.Text, cellChars))
		switch e.Op {
		case diff.Drop:
			out.WriteString("<del>" + text + "</del>")
		case diff.Add:
			out.WriteString("<ins>" + text + "</ins>")
		case diff.Skip:
			out.WriteString("…")
		default:
			out.WriteString(text)
		}
	}
	return "<code>" + out.String() + "</code>"
}

func (s *summary) fileTable() {
	words := map[string]string{"create": "missing", "update": "differs", "delete": "stale"}
	s.add("<details><summary>%s</summary>\n\n| file | |\n|---|---|\n", cli.Count(len(s.Report.Files), "file")+": "+s.fileCounts())
	for i, f := range s.Report.Files {
		if i == 10*mostFiles {
			s.add("| and %d more | |\n", len(s.Report.Files)-i)
			break
		}
		s.add("| %s | %s |\n", mark(f.Path), words[string(f.Action)])
	}
	s.add("\n</details>\n\n")
}

// mark escapes foreign text for a cell or a heading.
func mark(s string) string {
	if s == "" {
		return ""
	}
	return "<code>" + entities(cli.Shorten(s, cellChars)) + "</code>"
}

// entities writes everything but letters, digits and spaces as character references. Markdown does not treat these as markup, nor
// HTML as tags, and inside <code> GitHub does not turn them into links or mentions.
func entities(s string) string {
	var out strings.Builder
	for _, r := range cli.EscapeLine(s) {
		switch {
		case r == ' ' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80:
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, "&#%d;", r)
		}
	}
	return out.String()
}
