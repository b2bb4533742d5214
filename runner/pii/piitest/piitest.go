// Package piitest opens vaults for tests of other packages.
package piitest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// Vault returns a function that opens a vault, which is empty at first. Each call opens it as a new process does.
func Vault(t testing.TB) func() (*pii.Vault, error) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return func() (*pii.Vault, error) { return pii.OpenVault(context.Background(), s, "", make([]byte, 32), "") }
}
