package audits

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

type verifyCommand struct {
	recordCommand
	head string
	keys []string
	json bool
}

func newVerifyCmd(app *cli.App) *cobra.Command {
	o := &verifyCommand{recordCommand: recordCommand{app: app}}
	cmd := &cobra.Command{
		Use: "verify", Short: "Find out whether the record was changed",
		Long: `Computes all hashes of the record again, and compares them with its signed heads. If rows were edited, removed,
reordered, inserted or cut off, it names the first of them, and the exit code is 1. Whoever can write the
database and has the key can change both: only a head that was published elsewhere, in a file named with --head,
shows that.`,
		Example: `  mcprun audit verify
  mcprun audit verify --head /mnt/worm/audit-heads.txt
  mcprun audit verify --state copy.db --key mcprun/4f1c…+8f3a…+AZ…`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.bind(cmd.Flags())
	f := cmd.Flags()
	f.Var(flags.Text(&o.head, "file"), "head", "published heads (default: audit.head.file in mcpgen.yaml)")
	f.StringArrayVar(&o.keys, "key", nil, "a public key that may have signed heads, or a file with it; may be repeated (default: this user's own)")
	f.BoolVar(&o.json, "json", false, "print one JSON object")
	return cmd
}

func (o *verifyCommand) run(cmd *cobra.Command) error {
	rec, err := o.openRecord(cmd)
	if err != nil {
		return err
	}
	defer rec.Close()
	began := time.Now()
	v, keys, from, err := o.verify(cmd, rec)
	if err != nil {
		return err
	}
	if o.json {
		err = o.app.JSON(v)
	} else {
		o.print(v, keys, from, time.Since(began))
	}
	if err == nil && v.Finding != nil {
		return cli.Quiet(exit.Failed)
	}
	return err
}

// verify verifies the record. It also returns the keys and the file of published heads that it was compared with.
func (o *verifyCommand) verify(cmd *cobra.Command, rec store.Record) (v *audit.Verification, keys []note.Verifier, from string, err error) {
	opt := audit.VerifyOptions{}
	if opt.Keys, err = o.verifiers(cmd); err != nil {
		return nil, nil, "", err
	}
	if from, err = o.headFile(); err != nil {
		return nil, nil, "", err
	}
	if from != "" {
		if opt.Heads, err = os.ReadFile(from); err != nil {
			return nil, nil, "", err
		}
	}
	v, err = audit.Verify(cmd.Context(), rec, opt)
	return v, opt.Keys, from, err
}

// verifiers returns the keys of --key, or this user's own. There may be none.
func (o *verifyCommand) verifiers(cmd *cobra.Command) (keys []note.Verifier, err error) {
	for _, text := range o.keys {
		key, err := readVerifier(o.app, text)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if keys != nil {
		return keys, nil
	}
	own, err := o.key(cmd)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	key, err := note.NewVerifier(own.Verifier())
	return []note.Verifier{key}, err
}

// headFile returns the file with published heads, or "".
func (o *verifyCommand) headFile() (string, error) {
	if o.head != "" {
		return o.app.Path(o.head), nil
	}
	cfg, err := o.project.Load(o.app)
	if err != nil || cfg == nil || cfg.Settings.Audit.Head == nil {
		return "", err
	}
	return cfg.Settings.Audit.Head.Path(cfg.Dir), nil
}

func (o *verifyCommand) print(v *audit.Verification, keys []note.Verifier, from string, took time.Duration) {
	w, style := o.app.Stdout, o.app.OutStyle()
	if f := v.Finding; f != nil {
		fmt.Fprintf(w, "%s %s\n", style.Red("changed:"), cli.EscapeLine(f.String()))
		if f.Kind != "" {
			fmt.Fprintf(w, "  row %d in the store: %s, %s %s\n", f.First, f.Time.Format(time.RFC3339Nano), cli.EscapeLine(string(f.Kind)), cli.EscapeLine(f.Run))
		}
	} else {
		fmt.Fprintf(w, "%s %s in %s", style.Green("intact:"), cli.Count(int(v.Rows), "row"), took.Round(time.Millisecond))
		if v.Forgotten > 0 {
			fmt.Fprintf(w, ", of which %d have lost their content to retention", v.Forgotten)
		}
		fmt.Fprintln(w)
	}
	switch {
	case v.Signed == 0:
		fmt.Fprintln(w, "signed: no row")
	case len(keys) == 0:
		fmt.Fprintf(w, "signed: %s, with a key that was not verified: name the operator's with --key\n", cli.Count(int(v.Signed), "row"))
	default:
		fmt.Fprintf(w, "signed: %s, by %s\n", cli.Count(int(v.Signed), "row"), cli.EscapeLine(keyNames(keys)))
	}
	if from != "" {
		fmt.Fprintf(w, "published: %s, in %s\n", cli.Count(int(v.Published), "row"), cli.EscapeLine(from))
	} else {
		fmt.Fprintln(w, "published: no heads were compared, and so whoever has the key may have changed the record: see audit.head, and --head")
	}
}
