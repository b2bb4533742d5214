package audits

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/audit"
)

type proveCommand struct {
	recordCommand
	outputFlag
}

func newProveCmd(app *cli.App) *cobra.Command {
	o := &proveCommand{recordCommand: recordCommand{app: app}}
	cmd := &cobra.Command{
		Use: "prove RUN|ROW", Short: "Prove to others that a row is in the record",
		Long: `Writes a proof that the signed record has a row, with the row: that of a run with its result, or the one with a
number. Others check it with mcprun audit check-proof and the public key, without the record. The form is that
of c2sp.org/tlog-proof.`,
		Example: `  mcprun audit prove run-4KXQ2M7ZB3TA -o run.tlog-proof
  mcprun audit prove 1207 > row.tlog-proof`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.recordCommand.bind(cmd.Flags())
	o.outputFlag.bind(cmd.Flags())
	return cmd
}

func (o *proveCommand) run(cmd *cobra.Command, of string) error {
	rec, err := o.openRecord(cmd)
	if err != nil {
		return err
	}
	defer rec.Close()
	index, err := strconv.ParseInt(of, 10, 64)
	if err != nil {
		if index, err = audit.RowOfRun(cmd.Context(), rec, of); err != nil {
			return err
		}
	}
	proof, err := audit.Prove(cmd.Context(), rec, index)
	if err != nil {
		return err
	}
	return o.write(o.app, func(w io.Writer) error { _, err := w.Write(proof); return err })
}

type checkProofCommand struct {
	app *cli.App
	key string
}

func newCheckProofCmd(app *cli.App) *cobra.Command {
	o := &checkProofCommand{app: app}
	cmd := &cobra.Command{
		Use: "check-proof FILE --key KEY", Short: "Check a proof, without the record",
		Long: `Checks a proof of mcprun audit prove with the operator's public key, and prints the row that it proves. It needs neither
the record nor a network. The exit code is 1 if the proof is not valid.`,
		Example: "  mcprun audit check-proof run.tlog-proof --key operator.key",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(_ *cobra.Command, args []string) error { return o.run(args[0]) },
	}
	cmd.Flags().Var(flags.Text(&o.key, "key"), "key", "the operator's public key, or a file with it; see mcprun audit key")
	return cmd
}

func (o *checkProofCommand) run(file string) error {
	if o.key == "" {
		return flags.Usage("name the operator's public key with --key: a proof is only worth something with a key that does not come with it")
	}
	key, err := readVerifier(o.app, o.key)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(o.app.Path(file))
	if err != nil {
		return err
	}
	p, err := audit.CheckProof(text, key)
	if err != nil {
		return &invalidProofError{fmt.Errorf("%s proves nothing: %w", cli.EscapeLine(file), err)}
	}
	row := ident.EscapeJSON(bytes.Clone(p.Content), func(_, r rune) bool { return !ident.Shows(r) })
	fmt.Fprintf(o.app.Stderr, "%s row %d of a record of %s, signed by %s\n", o.app.ErrStyle().Green("proven:"), p.Index, cli.Count(int(p.Rows), "row"), cli.EscapeLine(key.Name()))
	_, err = fmt.Fprintf(o.app.Stdout, "%s\n", row)
	return err
}

// invalidProofError says why a proof proves nothing.
type invalidProofError struct{ error }

// ExitCode is that of a record that was changed.
func (e *invalidProofError) ExitCode() int { return exit.Failed }
