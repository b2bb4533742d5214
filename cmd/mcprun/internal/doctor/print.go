package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

const (
	nameWidth  = 10 // of the column of sandboxes' names
	labelWidth = 17 // of the column of labels in the lines below
)

// print prints a summary of one line for each sandbox, then the details.
func (o *command) print(ctx context.Context, findings []Finding) {
	backends := make([]sandbox.Backend, len(findings))
	for i := range findings {
		f := &findings[i]
		backends[i] = known{f.backend, *f}
		text := cli.Shorten(f.Detail, 90)
		if f.Usable {
			text = f.languages() + "; " + goodFor(f.GoodFor)
		}
		o.heading(f, text)
	}
	o.auto("selects " + choices(ctx, backends, risk.None))
	o.line("types", o.checkers())
	o.line("personal", customers.PIIWords(o.app, &o.pii))
	o.line("state", stateWords(o.state, time.Now()))
	if o.packages != "" {
		o.line("packages", o.packages)
	}
	if o.model != "" {
		o.line("model", o.model)
	}
	fmt.Fprintln(o.app.Stdout)
	for i := range findings {
		o.detail(&findings[i])
	}
	o.printAuto(ctx, backends)
}

// heading prints the line of a sandbox with its name.
func (o *command) heading(f *Finding, text string) {
	style := o.app.OutStyle()
	mark := style.Green("usable    ")
	if !f.Usable {
		mark = style.Red("not usable")
	}
	fmt.Fprintf(o.app.Stdout, "%s%s  %s\n", style.Bold(fmt.Sprintf("%-*s", nameWidth, f.Name)), mark, cli.EscapeLine(text))
}

// auto prints a line about the choice of a sandbox.
func (o *command) auto(text string) { o.line(runner.Auto, text) }

// line prints a line with a name before it.
func (o *command) line(name, text string) {
	fmt.Fprintf(o.app.Stdout, "%s%s\n", o.app.OutStyle().Bold(fmt.Sprintf("%-*s", nameWidth, name)), cli.EscapeLine(text))
}

// checkers describes which programs check the types of scripts.
func (o *command) checkers() string {
	var words []string
	lacks := false
	for _, lang := range sandbox.Languages() {
		c, err := o.places.Find(lang)
		switch missing, ok := errors.AsType[*check.MissingError](err); {
		case ok:
			words = append(words, missing.Error())
			if missing.NeedsNode() {
				words = append(words, missing.Hint())
			} else {
				lacks = true
			}
		case err != nil:
			words = append(words, err.Error())
		default:
			words = append(words, fmt.Sprintf("%s (%s)", c.Name, c.From))
		}
	}
	if lacks {
		words = append(words, "to install: mcprun tools install")
	}
	return strings.Join(words, "; ")
}

func (o *command) detail(f *Finding) {
	style, w := o.app.OutStyle(), o.app.Stdout
	o.heading(f, f.Detail)
	for i, m := range f.Missing {
		o.item(Labelled(i, "missing here:"), style.Yellow, m)
	}
	if f.Remedy != "" {
		for i, line := range strings.Split(f.Remedy, "\n") {
			o.item(Labelled(i, "do:"), style.Bold, line)
		}
	}
	if f.Usable {
		o.item("good for:", style.Dim, goodFor(f.GoodFor))
		o.item("runs:", style.Dim, f.languages())
	}
	for i, s := range f.Starts {
		o.item(Labelled(i, "takes:"), style.Dim, s.words())
	}
	for i, h := range f.Holds {
		o.item(Labelled(i, "protects:"), style.Green, h)
	}
	for i, l := range f.Lacks {
		o.item(Labelled(i, "limitations:"), style.Yellow, l)
	}
	fmt.Fprintln(w)
}

func (f *Finding) languages() string {
	words := make([]string, len(f.Languages))
	for i, l := range f.Languages {
		words[i] = string(l)
	}
	return strings.Join(words, ", ")
}

// Labelled returns the label for the first of several lines, and nothing for the others.
func Labelled(i int, label string) string {
	if i > 0 {
		return ""
	}
	return label
}

func (s start) words() string {
	if s.Error != "" {
		return fmt.Sprintf("%s: not measured: %s", s.Language, s.Error)
	}
	return fmt.Sprintf("%.0f ms for a one-line script in %s", s.MS, s.Language)
}

// goodFor lists the risks up to most.
func goodFor(most risk.Risk) string {
	var words []string
	for _, r := range risk.All() {
		words = append(words, r.String())
		if r == most {
			break
		}
	}
	if len(words) == 1 {
		return "code of low risk"
	}
	return "code of " + strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1] + " risk"
}

// item prints one line of a finding: a label and its text.
func (o *command) item(label string, style func(string) string, text string) {
	fmt.Fprintf(o.app.Stdout, "%*s%s %s\n", nameWidth, "", style(fmt.Sprintf("%-*s", labelWidth-1, label)), cli.EscapeLine(text))
}

// printAuto prints which sandbox a run without --sandbox gets, for each risk.
func (o *command) printAuto(ctx context.Context, backends []sandbox.Backend) {
	style := o.app.OutStyle()
	o.auto("what --sandbox auto selects here")
	for _, least := range append([]risk.Risk{risk.None}, risk.All()...) {
		label := "--risk " + least.String() + ":"
		if least == risk.None {
			label = "no --risk:"
		}
		o.item(label, style.Dim, choices(ctx, backends, least))
	}
}

// choices returns the sandbox chosen for each language, only once if it is the same for all.
func choices(ctx context.Context, backends []sandbox.Backend, least risk.Risk) string {
	var names, words []string
	for _, lang := range sandbox.Languages() {
		name := "none of these"
		if c, err := runner.Choose(ctx, backends, runner.Need{Name: runner.Auto, Language: lang, Risk: risk.Assessment{Set: least}}); err == nil {
			name = c.Backend.Name()
		}
		names, words = append(names, name), append(words, fmt.Sprintf("%s for %s", name, lang))
	}
	if names[0] == names[1] {
		return names[0]
	}
	return strings.Join(words, ", ")
}

// known is a sandbox that has been probed already.
type known struct {
	sandbox.Backend
	finding Finding
}

func (k known) Probe(context.Context) sandbox.Status {
	return sandbox.Status{Usable: k.finding.Usable, Languages: k.finding.Languages, Detail: k.finding.Detail, Remedy: k.finding.Remedy}
}
