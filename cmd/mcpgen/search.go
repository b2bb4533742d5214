package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/internal/trust"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/search"
)

type searchOptions struct {
	app      *cli.App
	place    placeFlags
	also     []string
	server   string
	category string
	detail   string
	language string
	limit    int
	asks     bool   // --phrases
	answer   string // a file with a model's answer to the prompt
	json     bool
}

func newSearchCmd(app *cli.App) *cobra.Command {
	o := &searchOptions{app: app}
	cmd := &cobra.Command{
		Use:   "search QUERY...",
		Short: "Find tools of the tree by what they are for",
		Long: `search finds tools by a description of what you want to do, or by parts of their names. The best come first. Words of names
count more than words of descriptions; endings, common synonyms and misspellings are understood. It reads files only; no
server is asked.

--detail selects what is shown: name: ids; signature: also how to import and call the likely hits; description: ids and
the beginning of each description; full: the wrappers' source. Three or fewer hits always have their signatures.

--also gives the same query in other words, best in those that the service uses itself; tools that fit several wordings rank
higher.

--server and --category select the tools of one server, or of the servers that mcpgen.yaml puts into one category. With
either, QUERY may be left out. A server without a category is a category of its own.

--phrases prints a prompt that asks a model for phrases: what people say when they want a tool, in words that its texts lack.
--phrases --answer keeps the answer in .mcpgen/phrases.json in the tree, which you commit; you can also edit it by hand. Every
search uses it.

If mcpgen.yaml names an endpoint for embeddings, tools are also ranked by meaning. How much that counts is decided by a test
with the names of the tools. If the endpoint fails, search uses words alone and says so. See docs/reference/search.md.`,
		Example: `  mcpgen search close a pull request
  mcpgen search close a ticket --also "update issue state"
  mcpgen search "add rows" --server drive --detail full --language python
  mcpgen search --category "code hosting" --limit 100
  mcpgen search wether forecast --json
  mcpgen search --phrases >prompt.txt
  mcpgen search --phrases --answer answer.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.asks || o.answer != "" {
				return o.phrases(cmd, args)
			}
			return o.run(cmd, strings.Join(args, " "))
		},
	}
	o.place.bind(cmd)
	trust.Bind(cmd.Flags(), &o.place.trusted)
	f := cmd.Flags()
	f.StringArrayVar(&o.also, "also", nil, "the query in other `words`; may be given several times")
	f.StringVar(&o.server, "server", "", "only tools of the server of this `name`")
	f.StringVar(&o.category, "category", "", "only tools of servers in the category of this `name`")
	f.StringVar(&o.detail, "detail", string(search.DetailDescription), "the `detail` to show: name, signature, description or full")
	bindLanguage(cmd, &o.language, "imports, signatures and sources in this `language`: "+gen.LanguageNames()+" (default: the first that the tree has)")
	f.IntVar(&o.limit, "limit", search.DefaultLimit, fmt.Sprintf("show at most this `number` of tools, up to %d", search.MaxLimit))
	f.BoolVar(&o.asks, "phrases", false, fmt.Sprintf("print a prompt for the phrases of tools that have none, %d or --limit of them", phrasesLimit))
	f.StringVar(&o.answer, "answer", "", "with --phrases: keep the phrases of the answer in this `file` (- is standard input)")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	cli.CompleteFlag(cmd, "server", generatedServers(app, &o.place))
	cli.CompleteFlag(cmd, "detail", cli.FixedWords(details()...))
	return cmd
}

func details() []string {
	var out []string
	for _, d := range search.Details() {
		out = append(out, string(d))
	}
	return out
}

// searchJSON is the output of search --json.
type searchJSON struct {
	Hits []search.Result `json:"hits"`
	// Weight is the weight of the ranking by meaning. The ranking by words has 1.
	Weight float64 `json:"weight,omitempty"`
	// Degraded is why the ranking by meaning did not take part.
	Degraded string `json:"degraded,omitempty"`
}

// validate checks the flags and the query.
func (o *searchOptions) validate(cmd *cobra.Command, query string) error {
	if strings.TrimSpace(query) == "" && o.server == "" && o.category == "" {
		return cli.Usage(cmd, "say what to look for, or name a --server or --category")
	}
	if len(o.also) >= search.MaxWordings {
		return cli.Usage(cmd, "a query can have %d wordings, not %d", search.MaxWordings, 1+len(o.also))
	}
	if !slices.Contains(details(), o.detail) {
		return cli.Usage(cmd, "--detail is name, signature, description or full, not %q", o.detail)
	}
	if err := o.checkLimit(cmd); err != nil {
		return err
	}
	return checkLanguage(cmd, &o.language)
}

func (o *searchOptions) checkLimit(cmd *cobra.Command) error {
	if o.limit < 1 || o.limit > search.MaxLimit {
		return cli.Usage(cmd, "--limit is 1 to %d, not %d", search.MaxLimit, o.limit)
	}
	return nil
}

func (o *searchOptions) run(cmd *cobra.Command, query string) error {
	if err := o.validate(cmd, query); err != nil {
		return err
	}
	results, answer, err := o.find(cmd.Context(), query)
	if err != nil {
		return err
	}
	if answer.Degraded != nil {
		_, _ = fmt.Fprintf(o.app.Stderr, "note: %s\n", cli.EscapeLine(answer.Degraded.Error()))
	}
	if o.json {
		out := searchJSON{Hits: results, Weight: answer.Weight}
		if answer.Degraded != nil {
			out.Degraded = answer.Degraded.Error()
		}
		return o.app.JSON(out)
	}
	if len(results) == 0 {
		_, err := fmt.Fprintln(o.app.Stderr, "no tool fits; try other words, or see what there is with \"mcpgen list\"")
		return err
	}
	return o.print(results)
}

// find asks the index.
func (o *searchOptions) find(ctx context.Context, query string) (results []search.Result, answer search.Answer, err error) {
	tree, index, err := gen.OpenSearch(ctx, o.place.options(o.app), o.app.LookupEnv, o.app.CacheDir())
	if err != nil {
		return nil, answer, err
	}
	answer, err = index.Answer(ctx, search.Query{Text: query, Also: o.also, Server: o.server, Category: o.category, Limit: o.limit})
	if err != nil {
		return nil, answer, err
	}
	results, err = tree.Results(answer.Hits, search.Detail(o.detail), config.Language(o.language))
	return results, answer, err
}

func (o *searchOptions) print(results []search.Result) error {
	style := o.app.OutStyle()
	if o.detail == string(search.DetailSignature) {
		_, err := io.WriteString(o.app.Stdout, cli.Escape(search.Listing(results)))
		return err
	}
	if len(results) > search.Few && o.detail != string(search.DetailFull) {
		rows := make([][]string, len(results))
		for i, r := range results {
			rows[i] = []string{r.Tool, firstLine("", r.Description)}
		}
		return cli.Table(o.app.Stdout, style, nil, rows)
	}
	var out strings.Builder
	for i, r := range results {
		if i > 0 {
			out.WriteByte('\n')
		}
		if r.Source != "" { // as code, which names the tool
			fmt.Fprintf(&out, "%s\n%s\n", cli.EscapeLine(r.Import), cli.Escape(strings.TrimSpace(r.Source)))
			if len(r.UseCases) > 0 {
				fmt.Fprintln(&out, "Used for: "+cli.EscapeLine(strings.Join(r.UseCases, "; ")))
			}
			continue
		}
		fmt.Fprintln(&out, style.Bold(cli.EscapeLine(r.Tool)))
		for _, text := range []string{r.Description, r.Import, r.Signature} {
			if text = strings.TrimSpace(text); text != "" {
				fmt.Fprintln(&out, indent(cli.Escape(text)))
			}
		}
	}
	_, err := io.WriteString(o.app.Stdout, out.String())
	return err
}
