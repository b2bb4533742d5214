package customers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// vaultFolder holds the key of all vaults, and the vaults of projects of an earlier version; it is below the state folder.
const vaultFolder = "vaults"

// RoomTime bounds the measurement of how much of its quota a customer has left.
const RoomTime = 20 * time.Second

// OpenVault opens the vault of the customer own in the project's state. It counts towards the customer's quota. If own is nil, it opens the
// project's vault. workspace is where scripts write; it may be empty. What an earlier version kept in a file is moved to the state; say gets
// a line about it.
func OpenVault(app *cli.App, p *project.Project, own *customer.Customer, workspace string, say func(line string)) (*pii.Vault, error) {
	vaults, err := vaultsFolder(app)
	if err != nil {
		return nil, err
	}
	if err := outside(vaults, workspace); err != nil {
		return nil, err
	}
	key, err := Key(app)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	state, err := p.State(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the vault of personal data: %w", err)
	}
	old, id, owner := filepath.Join(vaults, cli.ProjectName(p.Base)+".vault"), "", ""
	if own != nil {
		old, id, owner = filepath.Join(own.Vault(), vaultFile), own.ID(), vaultOwner(own.ID())
	}
	v, err := pii.OpenVault(ctx, state, id, key, owner)
	if err != nil {
		return nil, err
	}
	moved, err := v.MoveFile(ctx, old)
	if err != nil {
		return nil, err
	}
	if moved {
		say(fmt.Sprintf("the vault of personal data has moved from %s to %s", cli.EscapeLine(old), cli.EscapeLine(state.Place())))
	}
	if own != nil {
		boundVault(v, own)
	}
	return v, nil
}

// outside returns an error if a folder of vaults is in the workspace.
func outside(dir, workspace string) error {
	if workspace == "" || !project.IsBelow(dir, workspace) {
		return nil
	}
	return cli.WithHint(fmt.Errorf("the folder of vaults %q is in the workspace %q, where scripts could change it", dir, workspace),
		"name another workspace, or another folder with XDG_STATE_HOME")
}

// OpenUsedVault is OpenVault for a vault that may have tokens. If there is no key, no vault has any: then the error wraps [fs.ErrNotExist], and
// neither the key nor the state is made.
func OpenUsedVault(app *cli.App, p *project.Project, own *customer.Customer, workspace string, say func(line string)) (*pii.Vault, error) {
	vaults, err := vaultsFolder(app)
	if err == nil {
		_, err = os.Lstat(filepath.Join(vaults, keyFile))
	}
	if err != nil {
		return nil, err
	}
	return OpenVault(app, p, own, workspace, say)
}

const (
	// vaultFile is the name of a customer's vault of an earlier version.
	vaultFile = "pii.vault"
	// keyFile holds the key, or a word which says that the keyring has it.
	keyFile = "key"
)

// vaultOwner returns the name that a customer's vault is bound to. A project's vault is bound to the empty name.
func vaultOwner(customer string) string { return "customer " + customer }

// vaultsFolder returns the folder with the key.
func vaultsFolder(app *cli.App) (string, error) {
	state, err := app.StateDir()
	if err != nil {
		return "", fmt.Errorf("find the vault of personal data: %w", err)
	}
	return filepath.Join(state, vaultFolder), nil
}

// keyPlace returns the folder of the key if the key is there, or can be kept there. It makes the folder.
func keyPlace(app *cli.App) (string, error) {
	vaults, err := vaultsFolder(app)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(filepath.Join(vaults, keyFile)); err == nil {
		return vaults, nil
	}
	if err := os.MkdirAll(vaults, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(vaults, "try-*")
	if err != nil {
		return "", err
	}
	return vaults, errors.Join(f.Close(), os.Remove(f.Name()))
}

// Key returns the user's secret: the key of all vaults. Other keys are derived from it, each under a name of its own.
func Key(app *cli.App) ([]byte, error) {
	vaults, err := vaultsFolder(app)
	if err != nil {
		return nil, err
	}
	var ring pii.Keyring
	if system, ok := Keyring(app); ok {
		ring = system
	}
	return pii.LoadKey(filepath.Join(vaults, keyFile), ring)
}

// KeyFor is Key, if the user's secret is outside the workspace of a run, which may be empty.
func KeyFor(app *cli.App, workspace string) ([]byte, error) {
	vaults, err := vaultsFolder(app)
	if err == nil {
		err = outside(vaults, workspace)
	}
	if err != nil {
		return nil, err
	}
	return Key(app)
}

// Keyring returns the system's keyring, unless it is switched off.
func Keyring(app *cli.App) (ring oauth.System, ok bool) { return oauth.System{}, app.Keyring() }

// boundVault makes the vault count towards the customer's quota.
func boundVault(v *pii.Vault, c *customer.Customer) {
	v.Limit(func(more int64) error {
		ctx, cancel := context.WithTimeout(context.Background(), RoomTime)
		defer cancel()
		free, err := c.Room(ctx)
		if err != nil {
			return err
		}
		if more > free {
			return &customer.QuotaError{Customer: c.ID(), Quota: c.Quota(), Free: free, For: "the vault of personal data"}
		}
		return nil
	})
}
