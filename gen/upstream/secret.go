package upstream

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config"
)

// maxQuoted is how many times over a secret may be quoted, as JSON in a text of JSON is, and still be found.
const maxQuoted = 3

// forms are the ways in which a secret is written besides as it is: quoted, in an address, and encoded.
func forms(secret string) []string {
	out := []string{url.QueryEscape(secret), url.PathEscape(secret)}
	for _, quote := range []func(string) string{quoteGo, quoteASCII, quoteJSON} {
		text := secret
		for range maxQuoted {
			text = quote(text)
			out = append(out, text)
		}
	}
	if len(secret) < minConcealed { // encoded it is so short that it may be anything
		return out
	}
	digits := hex.EncodeToString([]byte(secret))
	out = append(out, digits, strings.ToUpper(digits))
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		out = append(out, enc.EncodeToString([]byte(secret)))
		raw := enc.WithPadding(base64.NoPadding)
		for before := range 3 { // in the midst of something, as in user:password
			text := raw.EncodeToString(append(make([]byte, before), secret...))
			if (before+len(secret))%3 != 0 {
				text = text[:len(text)-1] // it has bits of what follows, too
			}
			out = append(out, text[(before*8+5)/6:])
		}
	}
	return out
}

func quoteGo(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

func quoteASCII(s string) string {
	quoted := strconv.QuoteToASCII(s)
	return quoted[1 : len(quoted)-1]
}

func quoteJSON(s string) string {
	quoted, _ := json.Marshal(s) // a string: cannot fail
	return string(quoted[1 : len(quoted)-1])
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

// credential is what stands behind the scheme in a header such as Authorization; empty where there is none.
func credential(header string) string {
	_, token, _ := strings.Cut(header, " ") // "Bearer TOKEN"
	return token
}

// eachLiteral goes through what a configuration has under a name that says it is a secret: in env and headers, in flags,
// and in addresses wherever they stand. With references to variables in them they are none.
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

// inAddress finds the secrets in an address: its password, and parameters that are named like one.
func inAddress(address, name string, found func(value, name string)) {
	if !strings.Contains(address, "://") {
		return
	}
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	if password, ok := u.User.Password(); ok {
		found(password, name)
	}
	for parameter, values := range u.Query() {
		for _, value := range values {
			if namesSecret(parameter) {
				found(value, parameter)
			}
		}
	}
}
