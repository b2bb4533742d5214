package pii

import (
	"errors"
	"fmt"
)

var errNotJSON = errors.New("the value is no JSON")

// UnknownTokenError names a token that a vault did not give out.
type UnknownTokenError struct{ Token string }

func (e *UnknownTokenError) Error() string {
	return fmt.Sprintf("%s is no token of this workspace: nothing is known that it stands for", e.Token)
}

// FullError says that a vault has no room for a value more.
type FullError struct {
	Path          string
	Values, Bytes int // that it holds
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the vault %q is full: it holds %d values of %d bytes together", e.Path, e.Values, e.Bytes)
}

// Hint says what to do about it.
func (e *FullError) Hint() string {
	return "move the file away to begin a new vault; tokens of the old one can't be turned back then"
}

// ShareError says that somebody, such as one run, may add no more to a vault.
type ShareError struct{ Values, Bytes int } // that may be added

func (e *ShareError) Error() string {
	return fmt.Sprintf("a run may add at most %d values of %s together to the vault of personal data, and this one would add more: nothing of this text was kept", e.Values, sizeWords(e.Bytes))
}

// Hint says what to do about it.
func (e *ShareError) Hint() string {
	return "tokenize only what is to be shown, or the rest in another run; values that the vault knows have their tokens still"
}

// LimitError says that a text would be too large with its tokens turned back.
type LimitError struct{ Bytes int }

func (e *LimitError) Error() string {
	return fmt.Sprintf("with its tokens turned back the text has more than %d bytes", e.Bytes)
}

// VaultError is a vault's file, or its key's, that can't be used. It was left as it is.
type VaultError struct {
	Path   string
	Err    error
	remedy string
}

func (e *VaultError) Error() string {
	return fmt.Sprintf("vault of personal data %q: %v", e.Path, e.Err)
}

// Unwrap returns what was wrong.
func (e *VaultError) Unwrap() error { return e.Err }

// Hint says what to do about it.
func (e *VaultError) Hint() string { return e.remedy }

// ErrForeignKey is in the chain of a *VaultError for a file that another key sealed.
var ErrForeignKey = errors.New("it was sealed with another key")

// ErrForeignOwner is in the chain of a *VaultError for a file that was sealed for another owner.
var ErrForeignOwner = errors.New("it was sealed for another customer or project, and only they may have what its tokens stand for")

func sizeWords(bytes int) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
