// Command proof counts the tokens of tasks that a scripted model does in three ways: by calling tools with every
// definition in its context, by searching for a tool and then calling it, and by a script that uses a generated tree. The
// demo servers do the tasks with their own data, in catalogs of different sizes, filled up with recorded tools of public
// servers. The result of each task is checked, and the first wrong one ends the run. Proof prints tables in Markdown, or puts
// them into a page if a flag says so.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
)

func main() {
	backends.RunChild() // never returns in a child
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr, os.Getenv)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

// flags are the flags of the command.
type flags struct {
	catalogs, sizes, tasks, mcpdemo, mcprun, page string
	quiet                                         bool
}

func parse(args []string, out io.Writer, env func(string) string) (*flags, error) {
	f := &flags{}
	set := flag.NewFlagSet("proof", flag.ContinueOnError)
	set.SetOutput(out)
	set.StringVar(&f.catalogs, "catalogs", env("PROOF_CATALOGS"), "folder of recorded tool lists, one server a file, as {\"id\", \"tools\"} (default ../shared/corpus, else testdata/golden; also PROOF_CATALOGS)")
	set.StringVar(&f.sizes, "sizes", cmp.Or(env("PROOF_SIZES"), "20,50,500,all"), "numbers of tools, the demo tools among them (also PROOF_SIZES)")
	set.StringVar(&f.tasks, "tasks", "", "names of tasks, with commas (default all)")
	set.StringVar(&f.mcpdemo, "mcpdemo", "bin/mcpdemo", "the program of the demo servers")
	set.StringVar(&f.mcprun, "mcprun", "bin/mcprun", "the program whose serve is measured; empty: none")
	set.StringVar(&f.page, "page", "", "put the tables between the markers of this Markdown file")
	set.BoolVar(&f.quiet, "quiet", false, "no progress on standard error")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("there are no arguments, only flags: %q", set.Args())
	}
	return f, nil
}

func run(ctx context.Context, args []string, out, progress io.Writer, env func(string) string) error {
	f, err := parse(args, progress, env)
	if err != nil {
		return err
	}
	if f.quiet {
		progress = io.Discard
	}
	o, closing, err := f.options(ctx, progress)
	if err != nil {
		return err
	}
	defer closing()
	p, err := prove(ctx, *o)
	if err != nil {
		return err
	}
	r := newReport(p)
	return errors.Join(f.write(r, out), r.missed())
}

// write prints the report, and writes the page that a flag names.
func (f *flags) write(r *report, out io.Writer) error {
	if err := r.print(out); err != nil {
		return err
	}
	if f.page != "" {
		return r.intoPage(f.page)
	}
	return nil
}

// options converts the flags, and finds the sandboxes that work on this machine. The returned function closes them; the caller
// must call it.
func (f *flags) options(ctx context.Context, progress io.Writer) (*options, func(), error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	o := &options{root: root, progress: progress, ways: ways(), mcpdemo: f.mcpdemo, catalogs: f.catalogs}
	if o.mcpdemo, err = filepath.Abs(f.mcpdemo); err != nil {
		return nil, nil, err
	}
	if f.mcprun != "" {
		if o.mcprun, err = filepath.Abs(f.mcprun); err != nil {
			return nil, nil, err
		}
	}
	if o.catalogs == "" {
		if o.catalogs = catalogsOf(root); o.catalogs == "" {
			o.catalogs = filepath.Join(root, "testdata", "golden")
			fmt.Fprintln(progress, "recorded lists of public servers are not beside the repository; the golden ones are used, and the page is not written")
			f.page = ""
		}
	}
	if o.sizes, err = sizes(f.sizes); err != nil {
		return nil, nil, err
	}
	if o.tasks, err = chosen(strings.FieldsFunc(f.tasks, func(r rune) bool { return r == ',' })); err != nil {
		return nil, nil, err
	}
	list, err := backends.List(backends.Options{LookupEnv: os.LookupEnv})
	if err != nil {
		return nil, nil, err
	}
	for _, be := range list {
		if be.Name() == "embedded" && be.Probe(ctx).Usable {
			o.typed = be
		}
	}
	closing := func() {
		for _, be := range list {
			_ = be.Close()
		}
	}
	if o.typed == nil {
		closing()
		return nil, nil, errors.New("the embedded sandbox does not work here; mcprun doctor says why")
	}
	return o, closing, nil
}

// catalogsOf returns the folder of recorded tool lists beside the repository, or "" if it does not exist.
func catalogsOf(root string) string {
	beside := filepath.Join(root, "..", "shared", "corpus")
	if _, err := os.Stat(beside); err != nil {
		return ""
	}
	return beside
}

// sizes parses numbers of tools.
func sizes(list string) ([]int, error) {
	var out []int
	for _, word := range strings.Split(list, ",") {
		if word == "all" {
			out = append(out, 0)
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < len(few()) {
			return nil, fmt.Errorf("size %q: it must be a number of at least %d, or all", word, len(few()))
		}
		out = append(out, n)
	}
	return out, nil
}
