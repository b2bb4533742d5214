package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen"
)

const (
	// phrasesLimit is the default number of tools in one prompt for phrases. The answer then fits into one reply of a model.
	phrasesLimit = 50
	// maxPhrasesAnswer bounds an answer, in bytes.
	maxPhrasesAnswer = 4 << 20
)

// phrases prints the prompt for phrases, or stores the phrases of an answer.
func (o *searchOptions) phrases(cmd *cobra.Command, args []string) error {
	if len(args) > 0 || len(o.also) > 0 || o.category != "" {
		return cli.Usage(cmd, "--phrases takes no query and no category; --answer names the file of an answer")
	}
	if err := o.checkLimit(cmd); err != nil {
		return err
	}
	tree, err := gen.Open(o.place.options(o.app))
	if err != nil {
		return err
	}
	if o.answer != "" {
		return o.addPhrases(tree)
	}
	limit := o.limit
	if !cmd.Flags().Changed("limit") {
		limit = phrasesLimit
	}
	request, err := tree.RequestPhrases(o.server, limit)
	switch {
	case err != nil:
		return err
	case request.Asked == 0:
		_, err := fmt.Fprintln(o.app.Stderr, "all tools have phrases")
		return err
	}
	if _, err := io.WriteString(o.app.Stdout, cli.Escape(request.Prompt)); err != nil {
		return err
	}
	more := ""
	if request.Left > 0 {
		more = fmt.Sprintf("; then ask again for the other %d", request.Left)
	}
	_, err = fmt.Fprintf(o.app.Stderr, "a prompt for the phrases of %s; give the answer to: mcpgen search --phrases --answer FILE%s\n", cli.Count(request.Asked, "tool"), more)
	return err
}

// addPhrases stores the phrases of an answer.
func (o *searchOptions) addPhrases(tree *gen.Tree) error {
	in := o.app.Stdin
	if o.answer != "-" {
		f, err := os.Open(o.app.Path(o.answer))
		if err != nil {
			return cli.WithHint(fmt.Errorf("read the answer: %w", err), "give a file, or - for standard input")
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxPhrasesAnswer+1))
	switch {
	case err != nil:
		return fmt.Errorf("read the answer: %w", err)
	case len(text) > maxPhrasesAnswer:
		return cli.WithHint(fmt.Errorf("read the answer: it is larger than %d MiB", maxPhrasesAnswer>>20), "ask for fewer tools with --limit or --server")
	}
	report, err := tree.AddPhrases(text)
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(report)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: phrases of %s written; %d without\n", cli.EscapeLine(filepath.Join(filepath.Base(tree.Dir), report.File)), cli.Count(report.Tools, "tool"), report.Left)
	if report.Refused > 0 {
		fmt.Fprintf(&b, "  %s left out: a tool can have %d, each a text of at most %d bytes\n", cli.Count(report.Refused, "phrase"), gen.MaxPhrases, gen.MaxPhrase)
	}
	if len(report.Unknown) > 0 {
		fmt.Fprintf(&b, "  no tool has the id: %s\n", cli.EscapeLine(strings.Join(report.Unknown, ", ")))
	}
	_, err = io.WriteString(o.app.Stdout, b.String())
	return err
}
