package audits

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
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
reordered, inserted or cut off, it names the first of them, and the exit code is 1. Whoever can write only the
database cannot change the newest head, which is kept beside your key. Whoever has the key can: only a head that
was published elsewhere, in a file named with --head, shows that.`,
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
	v, with, err := o.verify(cmd, rec)
	if err != nil {
		return err
	}
	if o.json {
		err = o.app.JSON(v)
	} else {
		o.print(v, with, time.Since(began))
	}
	if err == nil && v.Finding != nil {
		return cli.Quiet(exit.Failed)
	}
	return err
}

// evidence is what a record was compared with.
type evidence struct {
	audit.VerifyOptions
	headFile  string // of Kept; it may not exist
	published string // the file of Heads; "": none is named
	missing   bool   // that file does not exist yet
}

// verify verifies the record.
func (o *verifyCommand) verify(cmd *cobra.Command, rec store.Record) (v *audit.Verification, with *evidence, err error) {
	with = &evidence{}
	if with.Keys, err = o.verifiers(cmd); err != nil {
		return nil, nil, err
	}
	if err := o.readKept(cmd, with); err != nil {
		return nil, nil, err
	}
	if with.published, err = o.published(); err != nil {
		return nil, nil, err
	}
	if with.published != "" {
		with.Heads, err = os.ReadFile(with.published)
		if with.missing = o.head == "" && errors.Is(err, fs.ErrNotExist); err != nil && !with.missing {
			return nil, nil, err
		}
	}
	v, err = audit.Verify(cmd.Context(), rec, with.VerifyOptions)
	return v, with, err
}

// readKept reads the newest head that this user has signed.
func (o *verifyCommand) readKept(cmd *cobra.Command, to *evidence) error {
	_, place, err := o.locate(cmd)
	if err != nil {
		return err
	}
	_, to.headFile, err = state.KeyFiles(o.app, place)
	if err == nil {
		to.Kept, err = os.ReadFile(to.headFile)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, state.ErrNoPlace) {
		return nil
	}
	return err
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

// published returns the file with published heads, or "".
func (o *verifyCommand) published() (string, error) {
	if o.head != "" {
		return o.app.Path(o.head), nil
	}
	cfg, err := o.project.Load(o.app)
	if err != nil || cfg == nil || cfg.Settings.Audit.Head == nil {
		return "", err
	}
	return cfg.Settings.Audit.Head.Path(cfg.Dir), nil
}

func (o *verifyCommand) print(v *audit.Verification, with *evidence, took time.Duration) {
	w, style := o.app.Stdout, o.app.OutStyle()
	if f := v.Finding; f != nil {
		fmt.Fprintf(w, "%s %s\n", style.Red("changed:"), cli.EscapeLine(f.String()))
		if f.Kind != "" {
			fmt.Fprintf(w, "  row %d in the store: %s, %s %s\n", f.First, f.Time.Format(time.RFC3339Nano), cli.EscapeLine(string(f.Kind)), cli.EscapeLine(f.Run))
		}
		if with.Kept != nil && v.Kept == 0 {
			fmt.Fprintf(w, "  no further head is signed. If a backup was restored, or the power failed: note it for reviewers, and remove %s\n", cli.EscapeLine(with.headFile))
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
	case len(with.Keys) == 0:
		fmt.Fprintf(w, "signed: %s, with a key that was not verified: name the operator's with --key\n", cli.Count(int(v.Signed), "row"))
	default:
		fmt.Fprintf(w, "signed: %s, by %s\n", cli.Count(int(v.Signed), "row"), cli.EscapeLine(keyNames(with.Keys)))
	}
	if with.Kept != nil {
		fmt.Fprintf(w, "kept: %s, in %s\n", cli.Count(int(v.Kept), "row"), cli.EscapeLine(with.headFile))
	} else {
		fmt.Fprintln(w, "kept: this user has signed no head of it, and so whoever can write the database may have changed what no published head covers")
	}
	switch {
	case with.published == "":
		fmt.Fprintln(w, "published: no heads were compared, and so whoever has the key may have changed the record: see audit.head, and --head")
	case with.missing:
		fmt.Fprintf(w, "published: no row, as there is no file %s yet\n", cli.EscapeLine(with.published))
	default:
		fmt.Fprintf(w, "published: %s, in %s\n", cli.Count(int(v.Published), "row"), cli.EscapeLine(with.published))
	}
	for _, name := range slices.Sorted(maps.Keys(v.Others)) {
		fmt.Fprintf(w, "  not compared there: %s of %s. If that was an earlier key of this record, name it with --key, too\n", cli.Count(v.Others[name], "head"), cli.EscapeLine(name))
	}
}
