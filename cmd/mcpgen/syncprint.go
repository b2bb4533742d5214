package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
)

// syncPrinter prints a report: what was found and done on stdout, what is wrong on stderr.
type syncPrinter struct {
	app    *cli.App
	opts   *syncOptions
	report *gen.Report
}

func (p *syncPrinter) print() error {
	p.troubles()
	switch {
	case p.opts.json:
		return p.app.JSON(newSyncJSON(p))
	case p.opts.diff:
		_, err := io.WriteString(p.app.Stdout, cli.Clean(string(p.report.Diff)))
		if err == nil && p.opts.check {
			err = p.summary()
		}
		return err
	}
	return p.summary()
}

// troubles prints warnings and failures. With --json they are in the object too, but a person may be watching.
func (p *syncPrinter) troubles() {
	style := p.app.ErrStyle()
	say := func(label, place, message string) {
		_, _ = fmt.Fprintf(p.app.Stderr, "%s %s: %s\n", label, cli.CleanLine(place), cli.CleanLine(message))
	}
	if len(p.report.Servers) == 0 {
		say(style.Yellow("warning:"), filepath.Base(p.report.Config), "it lists no servers")
	}
	for _, w := range p.report.Warnings {
		say(style.Yellow("warning:"), w.Place, w.Message)
	}
	for _, path := range p.report.Kept {
		say(style.Yellow("warning:"), path, "it is no longer generated, but was changed by hand; it stays")
	}
	for _, s := range p.report.Failures() {
		message := strings.TrimPrefix(s.Err.Error(), fmt.Sprintf("server %q: ", s.Key))
		if s.Tools > 0 {
			message += fmt.Sprintf(" (what the tree has of it stays: %s)", cli.Count(s.Tools, "tool"))
		}
		say(style.Red("error:"), s.Key, message)
		for _, hint := range cli.Hints(s.Err) {
			say(style.Bold("hint:"), s.Key, hint)
		}
	}
	if p.opts.strict && p.report.Dropped() {
		say(style.Red("error:"), "--strict", "tools could not be generated; nothing was written")
	}
}

// summary is the report for people.
func (p *syncPrinter) summary() error {
	var out strings.Builder
	writing := p.report.Written
	p.changes(&out)
	if !writing {
		p.files(&out)
	}
	out.WriteString(p.verdict())
	_, err := io.WriteString(p.app.Stdout, out.String())
	return err
}

// changes lists what servers say now, grouped by server.
func (p *syncPrinter) changes(out *strings.Builder) {
	style := p.app.OutStyle()
	server := ""
	for _, c := range p.report.Changes {
		if c.Server != server {
			server = c.Server
			fmt.Fprintf(out, "%s\n", style.Bold(cli.CleanLine(server)))
		}
		sign, paint := "~", style.Yellow
		switch {
		case strings.HasSuffix(string(c.Kind), "-added"):
			sign, paint = "+", style.Green
		case strings.HasSuffix(string(c.Kind), "-removed"):
			sign, paint = "-", style.Red
		}
		name := cli.CleanLine(c.Tool)
		if name == "" {
			name = "server"
		}
		kind := strings.TrimPrefix(strings.TrimPrefix(string(c.Kind), "tool-"), "server-")
		if c.Kind == "server-added" || c.Kind == "server-removed" {
			fmt.Fprintf(out, "  %s\n", paint(fmt.Sprintf("%s %s: %s with %s", sign, name, kind, toolList(c.Details))))
			continue
		}
		if len(c.Details) == 1 {
			fmt.Fprintf(out, "  %s %s\n", paint(sign+" "+name+": "+kind), cli.CleanLine(c.Details[0]))
			continue
		}
		fmt.Fprintf(out, "  %s\n", paint(sign+" "+name+": "+kind))
		for _, detail := range c.Details {
			fmt.Fprintf(out, "      %s\n", cli.CleanLine(detail))
		}
	}
}

// toolList names tools, but not thousands of them.
func toolList(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "no tools"
	}
	list := strings.Join(names[:min(most, len(names))], ", ")
	if len(names) > most {
		list += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return cli.CleanLine(cli.Count(len(names), "tool") + ": " + list)
}

// files lists what is not as it should be.
func (p *syncPrinter) files(out *strings.Builder) {
	if !p.report.Drift() {
		return
	}
	words := map[string]string{"create": "missing", "update": "differs", "delete": "stale"}
	fmt.Fprintf(out, "%s\n", p.app.OutStyle().Bold("files in "+p.outName()))
	for _, f := range p.report.Files {
		fmt.Fprintf(out, "  %s  %s\n", words[string(f.Action)], cli.CleanLine(f.Path))
	}
}

// verdict is the last line or two.
func (p *syncPrinter) verdict() string {
	r, style := p.report, p.app.OutStyle()
	of := fmt.Sprintf("%s from %s", cli.Count(r.Tools(), "tool"), cli.Count(r.InTree(), "server"))
	if failed := len(r.Failures()); failed > 0 {
		of += fmt.Sprintf(", %d not asked", failed)
	}
	took := style.Dim(fmt.Sprintf("(%s)", r.Duration.Round(10*time.Millisecond)))
	switch {
	case r.Written && !r.Drift():
		return fmt.Sprintf("%s is up to date: %s, %s %s\n", p.outName(), of, cli.Count(r.Unchanged, "file"), took)
	case r.Written:
		count := map[string]int{}
		for _, f := range r.Files {
			count[string(f.Action)]++
		}
		return fmt.Sprintf("%s: %s; files: %d created, %d updated, %d deleted, %d unchanged %s\n", p.outName(), of,
			count["create"], count["update"], count["delete"], r.Unchanged, took)
	case r.Drift() && (p.opts.check || p.opts.diff):
		return fmt.Sprintf("%s is out of date. To repair it, run:\n  %s\n", p.outName(), p.repair())
	case r.Drift():
		return "nothing was written\n"
	case len(r.Failures()) > 0 && r.Tools() == 0:
		return "no server could be asked; nothing was written\n"
	}
	return fmt.Sprintf("%s is up to date: %s, %s %s\n", p.outName(), of, cli.Count(r.Unchanged, "file"), took)
}

// outName is the tree's folder as a person would type it.
func (p *syncPrinter) outName() string {
	if rel, err := filepath.Rel(p.app.Dir, p.report.Out); err == nil && !strings.HasPrefix(rel, "..") {
		return cli.CleanLine(filepath.ToSlash(rel))
	}
	return cli.CleanLine(p.report.Out)
}

// repair is the command that makes this check pass.
func (p *syncPrinter) repair() string {
	args := []string{"mcpgen", "sync"}
	if p.opts.place.config != "" {
		args = append(args, "--config", quoteArg(p.opts.place.config))
	}
	if p.opts.place.out != "" {
		args = append(args, "--out", quoteArg(p.opts.place.out))
	}
	if p.opts.offline {
		args = append(args, "--offline")
	}
	for _, s := range p.opts.servers {
		args = append(args, "--server", quoteArg(s))
	}
	return strings.Join(args, " ")
}

// quoteArg quotes an argument for a POSIX shell where it needs that.
func quoteArg(s string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// showProgress tells a terminal about one server.
func showProgress(p *cli.Progress, style cli.Style, e gen.Event) {
	switch {
	case !e.Done:
		p.Start(e.Server)
	case e.Err != nil:
		p.Done(e.Server, style.Red("✗ ")+cli.CleanLine(e.Server)+style.Dim(" "+e.Duration.Round(10*time.Millisecond).String()))
	default:
		p.Done(e.Server, fmt.Sprintf("%s%s  %s%s", style.Green("✓ "), cli.CleanLine(e.Server), cli.Count(e.Tools, "tool"),
			style.Dim(" "+e.Duration.Round(10*time.Millisecond).String())))
	}
}
