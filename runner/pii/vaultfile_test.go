package pii

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// What the files in testdata/vault hold, which an earlier version has written. [EMAIL_2] was forgotten.
const (
	oldTokens = "[EMAIL_1] [NAME_1] [CARD_1] [EMAIL_9] [EMAIL_2]"
	oldValues = "ann@example.com Ann Miller 4111111111111111 [EMAIL_9] [EMAIL_2]"
)

// oldFile copies a file of testdata/vault to a new folder.
func oldFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "vault", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func checkMoved(t *testing.T, v *Vault, path string) {
	t.Helper()
	if got, err := v.Restore(oldTokens); err != nil || got != oldValues {
		t.Errorf("Restore() = %s, %v, want %s", got, err, oldValues)
	}
	if got := mustTokenize(t, v, "bob@example.com 4111111111111111 Ann Miller"); got != "[EMAIL_3] [CARD_2] [NAME_1]" { // the card was a number
		t.Errorf(`Tokenize() = %s, want "[EMAIL_3] [CARD_2] [NAME_1]"`, got)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	if _, err := os.Lstat(path + movedSuffix); err != nil {
		t.Error(err)
	}
}

func TestMoveFile(t *testing.T) {
	v, path := newVault(t), oldFile(t, "acme.vault")
	v.Limit(func(more int64) error { return nil })
	if moved, err := v.MoveFile(t.Context(), path); !moved || err != nil {
		t.Fatalf("MoveFile() = %v, %v", moved, err)
	}
	checkMoved(t, v, path)
	for _, l := range lines(t, v) {
		if bytes.Contains(l.Value, []byte("example")) {
			t.Errorf("line %d can be read", l.Number)
		}
	}
	if moved, err := v.MoveFile(t.Context(), path); moved || err != nil {
		t.Errorf("MoveFile() = %v, %v without a file, want nothing", moved, err)
	}
	// Its content is in the log, but it was not renamed, because the process died; others have replaced the lines since.
	if err := os.Rename(path+movedSuffix, path); err != nil {
		t.Fatal(err)
	}
	if _, err := reopen(t, v).Forget(t.Context(), Forget{Values: []string{"[EMAIL_3]"}}); err != nil {
		t.Fatal(err)
	}
	if moved, err := reopen(t, v).MoveFile(t.Context(), path); !moved || err != nil {
		t.Errorf("MoveFile() = %v, %v of what was moved, want true", moved, err)
	}
	if got := mustTokenize(t, reopen(t, v), "carl@example.com"); got != "[EMAIL_4]" {
		t.Errorf(`got %s, want "[EMAIL_4]"`, got)
	}
}

// TestMoveFileErrors: a file that cannot be moved stays, and so does the log.
func TestMoveFileErrors(t *testing.T) {
	damage := func(change func(text []byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			text, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, change(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	flip := func(i int) func([]byte) []byte {
		return func(b []byte) []byte { b[(i+len(b))%len(b)] ^= 1; return b }
	}
	whole := func(b []byte) []byte { return b }
	for name, c := range map[string]struct {
		file   string
		change func(*testing.T, string)
		want   string
	}{
		"empty":         {"acme.vault", damage(func([]byte) []byte { return nil }), "its end is missing"},
		"short":         {"acme.vault", damage(func(b []byte) []byte { return b[:60] }), "its end is missing"},
		"cut":           {"acme.vault", damage(func(b []byte) []byte { return b[:len(b)-1] }), "its seal is broken"},
		"salt":          {"acme.vault", damage(flip(namesSize)), "its seal is broken"},
		"text":          {"acme.vault", damage(flip(-1)), "its seal is broken"},
		"key":           {"acme.vault", damage(flip(magicSize)), "sealed with another key"},
		"other version": {"acme.vault", damage(flip(magicSize - 2)), "version is unknown"},
		"owner":         {"project.vault", damage(whole), "for another customer"},
		"a folder": {"acme.vault", func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		}, "regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			v, path := newVault(t), oldFile(t, c.file)
			c.change(t, path)
			moved, err := v.MoveFile(t.Context(), path)
			bad, ok := errors.AsType[*VaultError](err)
			if moved || !ok || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) || bad.Hint() == "" {
				t.Errorf("MoveFile() = %v, %v, want %q", moved, err, c.want)
			}
			if _, err := os.Lstat(path); err != nil || len(lines(t, v)) > 0 {
				t.Errorf("it was moved: %v", err)
			}
		})
	}
	v, path := newVault(t), oldFile(t, "acme.vault")
	mustTokenize(t, v, "dora@example.com")
	if _, err := v.MoveFile(t.Context(), path); err == nil || !strings.Contains(err.Error(), "has other tokens already") {
		t.Errorf("MoveFile() = %v beside other tokens, want an error", err)
	}
	if got := mustTokenize(t, v, "dora@example.com"); got != "[EMAIL_1]" {
		t.Errorf(`got %s, want "[EMAIL_1]"`, got)
	}
}

// moveAndAdd moves a file, and adds a value of its own.
func moveAndAdd(place, path string) error {
	v, err := openVaultIn(place)
	if err != nil {
		return err
	}
	moved, err := v.MoveFile(context.Background(), path)
	if err != nil {
		return err
	}
	if moved {
		fmt.Println("moved")
	}
	_, _, err = v.Tokenize(fmt.Sprintf("p%d@example.com", os.Getpid()))
	return err
}

// TestMoveFileAtOnce: one of several processes moves the file, and the values that others add then are new.
func TestMoveFileAtOnce(t *testing.T) {
	place, path := filepath.Join(t.TempDir(), "state.db"), oldFile(t, "acme.vault")
	outs := make([]string, 4)
	var all sync.WaitGroup
	for i := range outs {
		all.Go(func() {
			out, err := helper(t, place, taskMove+path).CombinedOutput()
			if outs[i] = string(out); err != nil {
				t.Errorf("a helper: %v %s", err, out)
			}
		})
	}
	all.Wait()
	if got := strings.Join(outs, ""); got != "moved\n" {
		t.Errorf("the helpers printed %q, want that one has moved the file", got)
	}
	v, err := openIn(t, place)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(v.ledger.entries); n != 4+len(outs) {
		t.Errorf("the vault has %d values, want 4 and one of each process", n)
	}
	if got, err := v.Restore(oldTokens); err != nil || got != oldValues {
		t.Errorf("Restore() = %s, %v, want %s", got, err, oldValues)
	}
}
