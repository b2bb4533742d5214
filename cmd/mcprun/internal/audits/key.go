package audits

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/runner/audit"
)

type keyCommand struct{ recordCommand }

func newKeyCmd(app *cli.App) *cobra.Command {
	o := &keyCommand{recordCommand{app: app}}
	cmd := &cobra.Command{
		Use: "key", Short: "Print the public key with which others verify the record",
		Long: `Prints the public key of the operator, who signs the heads of the record. Give it to those who verify the record or
check proofs, on a way that nobody can change who can change the record.`,
		Example: "  mcprun audit key > operator.key",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.bind(cmd.Flags())
	return cmd
}

func (o *keyCommand) run(cmd *cobra.Command) error {
	key, err := o.key(cmd)
	if errors.Is(err, fs.ErrNotExist) {
		return cli.WithHint(errors.New("there is no key for this record yet"), "the first recorded run makes it; audit.key in mcpgen.yaml names another")
	}
	if err == nil {
		_, err = fmt.Fprintln(o.app.Stdout, key.Verifier())
	}
	return err
}

// key returns the key that signs heads of the record. The error matches fs.ErrNotExist if none was made.
func (o *recordCommand) key(cmd *cobra.Command) (*audit.Key, error) {
	cfg, place, err := o.locate(cmd)
	if err != nil {
		return nil, err
	}
	if cfg != nil && cfg.Settings.Audit.Key != nil {
		if !o.project.Agreed(o.app, cfg) {
			return nil, cli.WithHint(errors.New("audit.key is not read, because nobody has agreed to this configuration yet"), "run mcpgen trust, or name the public key with --key")
		}
		return state.ConfiguredKey(cmd.Context(), o.app, &cfg.Settings)
	}
	path, _, err := state.KeyFiles(o.app, place)
	if err != nil {
		return nil, err
	}
	return audit.ReadKey(path)
}

// readVerifier returns the public key that a text is, or that the file it names holds.
func readVerifier(app *cli.App, text string) (note.Verifier, error) {
	if key, err := note.NewVerifier(strings.TrimSpace(text)); err == nil {
		return key, nil
	}
	content, err := os.ReadFile(app.Path(text))
	if err != nil {
		return nil, flags.Usage("--key is neither a public key, as mcprun audit key prints it, nor a file with one: %w", err)
	}
	key, err := note.NewVerifier(strings.TrimSpace(string(content)))
	if err != nil {
		return nil, flags.Usage("--key: %s has no public key, as mcprun audit key prints it: %w", text, err)
	}
	return key, nil
}

func keyNames(keys []note.Verifier) string {
	var names []string
	for _, k := range keys {
		names = append(names, fmt.Sprintf("%s+%08x", k.Name(), k.KeyHash()))
	}
	return strings.Join(names, " or ")
}
