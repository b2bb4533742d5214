package oauth

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// How a client is known to an authorization server.
const (
	byDocument     = "document"
	byConfig       = "configured"
	byRegistration = "dynamic"
)

// record is the part of a stored login that is not secret.
type record struct {
	// Name and Origin are for people.
	Name   string `json:"server"`
	Origin string `json:"origin"`

	Issuer             string `json:"issuer"`
	TokenEndpoint      string `json:"tokenEndpoint"`
	RevocationEndpoint string `json:"revocationEndpoint,omitempty"`
	Resource           string `json:"resource"`
	ClientID           string `json:"clientId"`
	// ClientKnown is byDocument, byConfig or byRegistration; AuthMethod how the client proves itself (RFC 7591).
	ClientKnown string `json:"clientKnown"`
	AuthMethod  string `json:"authMethod"`

	// Scopes were granted; Wanted were missing when the server was last used.
	Scopes []string `json:"scopes,omitempty"`
	Wanted []string `json:"wanted,omitempty"`
	// Since is when the person logged in. Refreshing does not change it.
	Since time.Time `json:"since,omitzero"`
}

// fingerprint tells one login from another. It stays the same while the login is refreshed.
func (r *record) fingerprint() string { return hash(r.Issuer, r.ClientID, r.Since.String()) }

// tokens are the secrets of a login.
type tokens struct {
	Access  string `json:"access,omitempty"`
	Refresh string `json:"refresh,omitempty"`
	// ClientSecret is that of a client registered dynamically. One from the configuration stays there.
	ClientSecret string `json:"clientSecret,omitempty"`
	// Obtained and Expiry bound the time in which the access token is valid; Expiry is zero if it is not known.
	Obtained time.Time `json:"obtained"`
	Expiry   time.Time `json:"expiry,omitzero"`
}

// maxLeeway is how long before its expiry an access token is refreshed.
const maxLeeway = 30 * time.Second

// valid reports whether the access token probably works now.
func (t *tokens) valid(now time.Time) bool {
	if t.Access == "" || t.Expiry.IsZero() {
		return t.Access != ""
	}
	return now.Before(t.Expiry.Add(-min(maxLeeway, t.Expiry.Sub(t.Obtained)/4)))
}

// login is a whole stored login.
type login struct {
	record
	tokens
}

// String shows nothing of the login, which must not appear in logs.
func (l *login) String() string { return "login" }

// GoString is [login.String].
func (l *login) GoString() string { return l.String() }

// StoredLogin is a stored login, without its secrets.
type StoredLogin struct {
	// Server is the name under which it was made, Origin scheme and host of its address, Issuer who gave the tokens.
	Server, Origin, Issuer string
	// Scopes were granted.
	Scopes []string
	// InKeyring says that the system's keyring has the tokens.
	InKeyring bool
	// Err says why the stored login cannot be read; all other fields are then empty.
	Err error
}

// List returns all stored logins, by name. It does not touch the keyring.
func (s *Store) List() ([]StoredLogin, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, &StoreError{Path: s.dir, Err: cause(err), remedy: "make it a folder that only you can read"}
	}
	var out []StoredLogin
	for _, e := range entries {
		id, isRecord := strings.CutSuffix(filepath.Base(e.Name()), ".json")
		if !isRecord {
			continue
		}
		f, err := s.read(id)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed at this moment
		case err != nil:
			out = append(out, StoredLogin{Err: err})
		default:
			r := &f.Data
			out = append(out, StoredLogin{Server: r.Name, Origin: r.Origin, Issuer: r.Issuer, Scopes: r.Scopes, InKeyring: f.Secret == nil})
		}
	}
	slices.SortFunc(out, func(a, b StoredLogin) int {
		return strings.Compare(a.Server+"\x00"+a.Origin, b.Server+"\x00"+b.Origin)
	})
	return out, nil
}
