package pii

import (
	"errors"
	"fmt"
	"strings"
)

var errNotJSON = errors.New("the value is not JSON")

// FullError reports that a vault has no space for another value.
type FullError struct {
	Place         string
	Values, Bytes int // that the vault may hold
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the vault %q is full: it holds %d values of %d bytes together", e.Place, e.Values, e.Bytes)
}

// Hint returns what to do about it.
func (e *FullError) Hint() string {
	return "forget values that are no longer needed: mcprun pii forget; their tokens cannot be restored then"
}

// ShareError reports that a run may add no more to a vault.
type ShareError struct{ Values, Bytes int } // that the run may add

func (e *ShareError) Error() string {
	return fmt.Sprintf("a run may add at most %d values of %s together to the vault of personal data, and this one would add more: nothing of this text was kept", e.Values, sizeWords(e.Bytes))
}

// Hint returns what to do about it.
func (e *ShareError) Hint() string {
	return "tokenize only what will be shown, or tokenize the rest in another run; values in the vault keep their tokens"
}

// LimitError reports that a text would be too large with its tokens restored.
type LimitError struct{ Bytes int }

func (e *LimitError) Error() string {
	return fmt.Sprintf("with its tokens restored the text has more than %d bytes", e.Bytes)
}

// UnknownTokenError reports a token that stands for nothing.
type UnknownTokenError struct {
	Token     string // such as [EMAIL_9], or [EMAIL] in the place of a value that could not be kept
	Pointer   string // JSON pointer of the string with the token; "" in a text that is not JSON
	Forgotten bool   // it stood for a value that was forgotten
	Issued    string // the token that it was before it was changed: [EMAIL_9] for [email_9]
}

// Error names the token without its brackets, so that the text itself has no token.
func (e *UnknownTokenError) Error() string {
	bare := strings.Trim(e.Token, "[]")
	said := "unknown token " + bare
	if e.Pointer != "" {
		said += " at " + strings.ReplaceAll(e.Pointer, e.Token, bare)
	}
	switch {
	case e.Issued != "":
		return said + ": it was " + strings.Trim(e.Issued, "[]") + " before a program changed it"
	case e.Forgotten:
		return said + ": its value was forgotten"
	case tokenEnd(e.Token, 0) == 0:
		return said + ": the value in whose place it is could not be kept"
	}
	return said + ": it stands for no value"
}

// Hint returns what to do about it.
func (e *UnknownTokenError) Hint() string {
	return "use tokens exactly as results have them, or write the value itself"
}

// VaultError reports that a vault, or the file of its key, cannot be used. It is left as it is.
type VaultError struct {
	Place  string // of the database with the customer, or the path of a file
	Err    error
	remedy string
}

func (e *VaultError) Error() string {
	return fmt.Sprintf("vault of personal data %q: %v", e.Place, e.Err)
}

// Unwrap returns what was wrong.
func (e *VaultError) Unwrap() error { return e.Err }

// Hint returns what to do about it.
func (e *VaultError) Hint() string { return e.remedy }

// ErrForeignKey is wrapped in the *VaultError for what another key sealed.
var ErrForeignKey = errors.New("it was sealed with another key")

// ErrForeignOwner is wrapped in the *VaultError for what was sealed for another owner.
var ErrForeignOwner = errors.New("it was sealed for another customer or project, and only they may have what its tokens stand for")

func sizeWords(bytes int) string {
	if bytes >= 1<<20 && bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
