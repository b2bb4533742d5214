package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// vaultFolder is where the vaults of projects are, below the folder of what outlives a command, with the key of all.
const vaultFolder = "vaults"

// roomTime bounds finding out how much room a customer has left.
const roomTime = 20 * time.Second

// vaultReachError says that scripts could change what only the host may.
type vaultReachError struct{ vaults, workspace string }

func (e *vaultReachError) Error() string {
	return fmt.Sprintf("the folder of vaults %q is in the workspace %q, where scripts could change it", e.vaults, e.workspace)
}

// Hint says what to do about it.
func (e *vaultReachError) Hint() string {
	return "name another workspace, or another folder with XDG_STATE_HOME"
}

// openVault opens the vault of a project, by the folder that its configuration is in; or that of a customer, if own is not
// nil, whose quota holds for it. workspace is where scripts write, if anywhere.
func openVault(app *cli.App, base string, own *workspace.Customer, workspace string) (*pii.Vault, error) {
	vaults, err := vaultsFolder(app)
	if err != nil {
		return nil, err
	}
	path, owner := filepath.Join(vaults, projectName(base)+".vault"), ""
	if own != nil {
		path, owner = filepath.Join(own.Vault(), vaultFile), vaultOwner(own.ID())
	}
	for _, dir := range []string{vaults, filepath.Dir(path)} {
		if workspace != "" && isBelow(dir, workspace) {
			return nil, &vaultReachError{vaults: dir, workspace: workspace}
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
func boundVault(v *pii.Vault, c *workspace.Customer) {
	v.Limit(func(more int64) error {
		ctx, cancel := context.WithTimeout(context.Background(), roomTime)
		defer cancel()
		free, err := c.Room(ctx)
		if err != nil {
			return err
		}
		if more > free {
			return &workspace.QuotaError{Customer: c.ID(), Quota: c.Quota(), Free: free, For: "the vault of personal data"}
		}
		return nil
	})
}

// projectName names a project by its folder, whatever way led there.
func projectName(base string) string {
	sum := sha256.Sum256([]byte(realPath(base)))
	return hex.EncodeToString(sum[:16])
}

// realPath is a path without symbolic links; what is missing at its end stays as it is.
func realPath(path string) string {
	for dir, rest := path, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if isTop(dir) {
			return path
		}
	}
}

// isBelow tells whether a folder is another or in it.
func isBelow(dir, other string) bool {
	dir, other = realPath(dir), realPath(other)
	rel, err := filepath.Rel(other, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(os.PathSeparator))
}
