package state

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner/store"
)

// Documents about the state itself.
var (
	foldersKey = store.Key{Kind: "state", Name: "folders"} // the names of the projects' folders, as a JSON array
	secretKey  = store.Key{Kind: "state", Name: "key"}     // what is derived from the secret of its users
)

// join notes that the project in a folder of this name uses the state. If only projects in folders of other names did so until now, it
// returns these names, once for each new name: the state is for one project, but a project may have another folder on each machine.
func join(ctx context.Context, s store.Documents, folder string) (others []string, err error) {
	for {
		doc, err := s.Document(ctx, foldersKey)
		if errors.Is(err, store.ErrNotFound) {
			doc, err = &store.Document{Key: foldersKey, Value: []byte("[]")}, nil
		}
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(doc.Value, &others); err != nil {
			return nil, fmt.Errorf("read which projects use the state: %w", err)
		}
		if slices.Contains(others, folder) {
			return nil, nil
		}
		if doc.Value, err = json.Marshal(append(slices.Clone(others), folder)); err != nil {
			return nil, err
		}
		if _, err = s.SetDocument(ctx, doc); !errors.Is(err, store.ErrConflict) {
			return others, err
		}
	}
}

// mixed returns the line that tells people which other projects use the state.
func mixed(place, folder string, others []string) string {
	return cli.EscapeLine(fmt.Sprintf("the state at %s was used by the project in a folder %s until now, and is used by that in %s from now on. If these are two projects, "+
		"name another database for one of them, or another schema (?search_path=…): counts, schedules, tasks and the vault of both would mix", place, strings.Join(others, ", "), folder))
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
	_, err = kept.SetDocument(ctx, &store.Document{Key: secretKey, Value: mark})
	if !errors.Is(err, store.ErrConflict) {
		return err
	}
	doc, err := kept.Document(ctx, secretKey)
	if err != nil {
		return err
	}
	if !bytes.Equal(doc.Value, mark) {
		return cli.WithHint(fmt.Errorf("the state at %s is encrypted with another key than that of this user", kept.Place()),
			"copy vaults/key in mcpgen's state folder from the machine that used the state first, and set MCPGEN_KEYRING=off on both; or name another database with --state")
	}
	return nil
}
