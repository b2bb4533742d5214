package customers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// vaultFolder is where the vaults of projects are, below the folder of what outlives a command, with the key of all.
const vaultFolder = "vaults"

// RoomTime bounds finding out how much room a customer has left.
const RoomTime = 20 * time.Second

// OpenVault opens the vault of a project, by the folder that its configuration is in; or that of a customer, if own is not
// nil, whose quota holds for it. workspace is where scripts write, if anywhere.
func OpenVault(app *cli.App, base string, own *customer.Customer, workspace string) (*pii.Vault, error) {
	vaults, err := vaultsFolder(app)
	if err != nil {
		return nil, err
	}
	path, owner := filepath.Join(vaults, projectName(base)+".vault"), ""
	if own != nil {
		path, owner = filepath.Join(own.Vault(), vaultFile), vaultOwner(own.ID())
	}
	for _, dir := range []string{vaults, filepath.Dir(path)} {
		if workspace != "" && project.IsBelow(dir, workspace) {
			return nil, cli.WithHint(fmt.Errorf("the folder of vaults %q is in the workspace %q, where scripts could change it", dir, workspace),
				"name another workspace, or another folder with XDG_STATE_HOME")
		}
	}
	key, err := vaultKey(app, vaults)
	if err != nil {
		return nil, err
	}
	v, err := pii.OpenVault(path, key, owner)
	if err == nil && own != nil {
		boundVault(v, own)
	}
	return v, err
}

const (
	// vaultFile is the vault's name in a customer's folder for it.
	vaultFile = "pii.vault"
	// keyFile is the key's in the folder of vaults, or a word that the keyring has it.
	keyFile = "key"
)

// vaultOwner is what a customer's vault is bound to. A project's is bound to nothing: the empty text is no customer's.
func vaultOwner(customer string) string { return "customer " + customer }

// vaultsFolder is where the vaults of projects are, and the key.
func vaultsFolder(app *cli.App) (string, error) {
	state, err := app.StateDir()
	if err != nil {
		return "", fmt.Errorf("find the vault of personal data: %w", err)
	}
	return filepath.Join(state, vaultFolder), nil
}

// vaultKey is the key of all vaults of the user.
func vaultKey(app *cli.App, vaults string) ([]byte, error) {
	var ring pii.Keyring
	if app.Keyring() {
		ring = oauth.System{}
	}
	return pii.LoadKey(filepath.Join(vaults, keyFile), ring)
}

// boundVault makes a customer's quota hold for the vault.
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

// projectName names a project by its folder, whatever way led there.
func projectName(base string) string {
	sum := sha256.Sum256([]byte(project.RealPath(base)))
	return hex.EncodeToString(sum[:16])
}
