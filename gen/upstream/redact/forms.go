package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
)

// maxQuoted is the deepest nesting of quotes, such as JSON in a JSON string, in which a secret is still found.
const maxQuoted = 3

// forms returns the ways in which a secret is written apart from its own bytes: quoted, in an address, and encoded.
func forms(secret string) []string {
	out := []string{url.QueryEscape(secret), url.PathEscape(secret)}
	for _, quote := range []func(string) string{strconv.Quote, strconv.QuoteToASCII, quoteJSON} {
		text := secret
		for range maxQuoted {
			text = quote(text)
			text = text[1 : len(text)-1]
			out = append(out, text)
		}
	}
	if len(secret) < minConcealed { // its encoded form is so short that it could be anything
		return out
	}
	digits := hex.EncodeToString([]byte(secret))
	out = append(out, digits, strings.ToUpper(digits))
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		out = append(out, enc.EncodeToString([]byte(secret)))
		raw := enc.WithPadding(base64.NoPadding)
		for before := range 3 { // in the middle of something, such as user:password
			text := raw.EncodeToString(append(make([]byte, before), secret...))
			if (before+len(secret))%3 != 0 {
				text = text[:len(text)-1] // its last character depends on what follows
			}
			out = append(out, text[(before*8+5)/6:])
		}
	}
	return out
}

func quoteJSON(s string) string {
	quoted, _ := json.Marshal(s) // a string always marshals
	return string(quoted)
}

// namesSecret reports whether a name says that its value is a secret.
func namesSecret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"key", "token", "secret", "pass", "pwd", "auth", "credential", "cookie", "session", "signature"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return strings.HasSuffix(name, "_pat")
}

// credential returns what follows the scheme in a header such as Authorization, or "".
func credential(header string) string {
	_, token, _ := strings.Cut(header, " ") // "Bearer TOKEN"
	return token
}

// eachLiteral visits what a configuration has under a name that says it is a secret: in env and headers, in flags, and
// in addresses wherever they are. Values that refer to variables are left out.
func eachLiteral(srv config.Server, visit func(value, name string)) {
	found := func(value, name string) {
		if value != "" && !strings.Contains(value, "${") {
			visit(value, name)
		}
	}
	for name, value := range srv.Env {
		if namesSecret(name) {
			found(value, name)
		}
		inAddress(value, name, found)
	}
	for name, value := range srv.Headers {
		if namesSecret(name) {
			found(value, name)
			found(credential(value), name)
		}
	}
	for i, arg := range srv.Args {
		name, value, assigned := strings.Cut(arg, "=")
		if flag := strings.TrimLeft(name, "-"); strings.HasPrefix(arg, "-") && namesSecret(flag) {
			if !assigned && i+1 < len(srv.Args) {
				value = srv.Args[i+1]
			}
			found(value, flag)
		}
		inAddress(arg, "argument", found)
	}
	inAddress(srv.URL, "url", found)
	if srv.OAuth != nil {
		found(srv.OAuth.ClientSecret, "client secret")
	}
}

// inAddress visits the secrets in an address: its password, and parameters whose name says that they are secrets.
func inAddress(address, name string, visit func(value, name string)) {
	if !strings.Contains(address, "://") {
		return
	}
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	if password, ok := u.User.Password(); ok {
		visit(password, name)
	}
	for parameter, values := range u.Query() {
		for _, value := range values {
			if namesSecret(parameter) {
				visit(value, parameter)
			}
		}
	}
}
