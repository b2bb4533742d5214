package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

type exportCommand struct {
	customersCommand
	file string
}

func newWorkspaceExportCmd(app *cli.App) *cobra.Command {
	o := &exportCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "export CUSTOMER", Short: "Write all that is kept of a customer to a tar",
		Long: `Writes state, sessions, skills and vault of a customer as one tar. The vault stays sealed;
its key is not in the tar. Runs of the customer that begin meanwhile wait.`,
		Example: "  mcprun workspace export acme -o acme.tar\n  mcprun workspace export acme -o - | zstd >acme.tar.zst",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.bind(cmd)
	cmd.Flags().VarP(word{&o.file, "file"}, "output", "o", "the tar, which must not be there yet; - is standard output (default CUSTOMER.tar)")
	return cmd
}

func (o *exportCommand) run(cmd *cobra.Command, id string) error {
	root, c, err := o.openCustomer(cmd, id)
	if err != nil {
		return err
	}
	defer root.Close()
	if o.file == "-" {
		if o.app.Terminal.Stdout {
			return cli.Usage(cmd, "a tar is nothing for a terminal: name a file with -o")
		}
		_, err := c.Export(cmd.Context(), o.app.Stdout)
		return err
	}
	if o.file == "" {
		o.file = id + ".tar"
	}
	done, err := exportTo(cmd.Context(), c, o.app.Path(o.file))
	if err != nil {
		return err
	}
	return o.said(done, "wrote "+o.file)
}

// exportTo writes a new file that only its owner reads, whole or not at all.
func exportTo(ctx context.Context, c *workspace.Customer, path string) (done *workspace.Exported, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin the tar: %w", err)
	}
	done, err = c.Export(ctx, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return done, nil
}

// said tells what was exported or imported.
func (o *customersCommand) said(done *workspace.Exported, what string) error {
	if o.json {
		return o.app.JSON(done)
	}
	text := fmt.Sprintf("%s: %s, %s", cli.CleanLine(what), cli.Count(done.Files, "file"), byteCount(int(done.Bytes)))
	if done.Skipped > 0 {
		text += fmt.Sprintf("; %d left out (%s)", done.Skipped, cli.CleanLine(done.Example))
	}
	_, err := fmt.Fprintln(o.app.Stdout, text)
	return err
}

type importCommand struct {
	customersCommand
	as   string
	note string // of the vault
}

func newWorkspaceImportCmd(app *cli.App) *cobra.Command {
	o := &importCommand{customersCommand: customersCommand{app: app}}
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Make a customer from a tar that export wrote",
		Long: `Makes a customer from a tar of mcprun workspace export. There must be none of its id yet;
--as gives it another. A tar with links, devices, names that lead elsewhere or come twice,
or more than --quota, is refused whole; so is one whose vault of personal data belongs to
another customer than the tar says. With --as the vault is sealed again for the new id.`,
		Example: "  mcprun workspace import acme.tar\n  mcprun workspace import acme.tar --as acme-copy\n  zstd -dc acme.tar.zst | mcprun workspace import -",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.bind(cmd)
	cmd.Flags().Var(idWord{&o.as, "customer", "id"}, "as", "the customer's id (default the one in the tar)")
	return cmd
}

func (o *importCommand) run(cmd *cobra.Command, name string) error {
	from, what := io.Reader(o.app.Stdin), "standard input"
	if name != "-" {
		what = filepath.Base(name)
		f, err := os.Open(o.app.Path(name))
		if err != nil {
			return fmt.Errorf("open the tar: %w", err)
		}
		defer f.Close()
		from = f
	}
	root, err := o.openRoot(cmd, true)
	if err != nil {
		return err
	}
	defer root.Close()
	done, err := root.Import(cmd.Context(), from, &workspace.ImportOptions{As: o.as, Vault: o.vault})
	if err != nil {
		return err
	}
	if o.note != "" {
		fmt.Fprintf(o.app.Stderr, "mcprun: %s\n", o.note)
	}
	return o.said(done, fmt.Sprintf("customer %s from %s", done.Customer, what))
}

// vault makes sure that an imported vault is that of the customer in the tar, and binds it to the one that it becomes.
func (o *importCommand) vault(ctx context.Context, dir, from, to string) error {
	path := filepath.Join(dir, vaultFile)
	if info, err := os.Lstat(path + ".lock"); err == nil && !info.Mode().IsRegular() {
		return &workspace.ImportError{Entry: "vault/" + vaultFile + ".lock", Problem: "it is no file"}
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	vaults, err := vaultsFolder(o.app)
	if err != nil {
		return err
	}
	err = pii.ErrForeignKey
	if _, missing := os.Lstat(filepath.Join(vaults, keyFile)); missing == nil { // a new key would open nothing
		var key []byte
		if key, err = vaultKey(o.app, vaults); err == nil {
			err = pii.Rebind(ctx, path, key, vaultOwner(from), vaultOwner(to))
		}
	}
	switch {
	case errors.Is(err, pii.ErrForeignKey) && from != to:
		return &foreignVaultError{from: from, to: to, vaults: vaults}
	case errors.Is(err, pii.ErrForeignKey):
		o.note = fmt.Sprintf("its vault of personal data was sealed with another key: it can be used when that is in %s", vaults)
		return nil
	case err != nil:
		if bad, ok := errors.AsType[*pii.VaultError](err); ok && bad.Path == path { // which is gone in a moment
			err = &workspace.ImportError{Entry: "vault/" + vaultFile, Problem: bad.Err.Error()}
		}
		return err
	case from != to:
		o.note = fmt.Sprintf("the vault of personal data of %s was sealed again for %s, whose scripts can turn its tokens back", from, to)
	}
	return nil
}

// foreignVaultError says that a vault cannot be bound to another customer.
type foreignVaultError struct{ from, to, vaults string }

func (e *foreignVaultError) Error() string {
	return fmt.Sprintf("the vault of personal data of %s was sealed with a key that is not here, so it cannot be sealed again for %s", e.from, e.to)
}

// Hint says what to do about it.
func (e *foreignVaultError) Hint() string {
	return fmt.Sprintf("import it without --as, or put the key that it was made with into %s first", e.vaults)
}
