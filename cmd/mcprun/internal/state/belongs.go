package state

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/store"
)

// Documents about the state itself.
var (
	projectKey = store.Key{Kind: "state", Name: "project"} // the name of the project that has it
	secretKey  = store.Key{Kind: "state", Name: "key"}     // what is derived from the secret of its users
)

// checkProject returns an error if the state belongs to a project with another name. It belongs to the first that used it: counts, schedules,
// tasks and vaults of two projects would mix.
func checkProject(ctx context.Context, s store.Store, name string) error {
	owner, err := first(ctx, s, projectKey, []byte(name))
	if err != nil || string(owner) == name {
		return err
	}
	return cli.WithHint(fmt.Errorf("the state at %s belongs to the project %q, not to %q", s.Place(), owner, name),
		fmt.Sprintf("name another database, or another schema of it (?search_path=…); if this is the same project in another folder, write name: %q into %s", owner, config.SettingsName))
}

// first keeps a value under a key if there is no value yet, and returns the one that is there.
func first(ctx context.Context, s store.Documents, k store.Key, value []byte) ([]byte, error) {
	doc, err := s.Document(ctx, k)
	if errors.Is(err, store.ErrNotFound) {
		if _, err = s.SetDocument(ctx, &store.Document{Key: k, Value: value}); !errors.Is(err, store.ErrConflict) {
			return value, err
		}
		doc, err = s.Document(ctx, k)
	}
	if err != nil {
		return nil, err
	}
	return doc.Value, nil
}

// CheckKey returns an error if other machines that share the state use another secret, which was the first to be used there: they could not
// read what this one keeps.
func (s *Shared) CheckKey(ctx context.Context, secret []byte) error {
	if !s.IsShared() {
		return nil
	}
	kept, err := s.Open(ctx)
	if err != nil {
		return err
	}
	mark, err := hkdf.Key(sha256.New, secret, nil, "mcprun state", 16)
	if err != nil {
		return err
	}
	used, err := first(ctx, kept, secretKey, mark)
	if err != nil {
		return err
	}
	if !bytes.Equal(used, mark) {
		return cli.WithHint(fmt.Errorf("the state at %s is encrypted with another key than that of this user", kept.Place()),
			"copy vaults/key in mcpgen's state folder from the machine that used the state first, and set MCPGEN_KEYRING=off on both; or name another database with --state")
	}
	return nil
}
