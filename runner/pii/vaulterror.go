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
