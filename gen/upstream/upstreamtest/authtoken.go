package upstreamtest

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// token answers the token endpoint.
func (a *Auth) token(w http.ResponseWriter, r *http.Request) {
	switch a.Mode {
	case AuthToken500:
		http.Error(w, "<h1>"+strings.Repeat("oops ", 1000)+"</h1>", http.StatusInternalServerError)
		return
	case AuthTokenRedirect:
		http.Redirect(w, r, a.Elsewhere, http.StatusTemporaryRedirect)
		return
	case AuthHuge:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"`+strings.Repeat("x", 64<<20))
		return
	case AuthNoJSON:
		_, _ = io.WriteString(w, "<html>log in</html>")
		return
	}
	client, ok := a.client(r)
	if !ok {
		sendJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	switch r.FormValue("grant_type") {
	case "authorization_code":
		a.note("code")
		a.fromCode(w, r, client)
	case "refresh_token":
		a.note("refresh")
		a.fromRefresh(w, r, client)
	default:
		sendJSON(w, http.StatusBadRequest, map[string]string{"error": "unsupported_grant_type"})
	}
}

// client returns who asks, if the proof is right.
func (a *Auth) client(r *http.Request) (string, bool) {
	id, secret := r.FormValue("client_id"), r.FormValue("client_secret")
	if user, password, basic := r.BasicAuth(); basic {
		id, _ = url.QueryUnescape(user)
		secret, _ = url.QueryUnescape(password)
	}
	if a.ClientID != "" && id == a.ClientID {
		return id, secret == a.ClientSecret
	}
	if a.Documents && strings.HasPrefix(id, "https://") {
		return id, true
	}
	want, known := a.clients[id]
	return id, known && secret == want
}

func (a *Auth) fromCode(w http.ResponseWriter, r *http.Request, client string) {
	code, ok := a.codes[r.FormValue("code")]
	delete(a.codes, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	good := ok && code.client == client && code.redirect == r.FormValue("redirect_uri") && code.resource == r.FormValue("resource") &&
		code.challenge == base64.RawURLEncoding.EncodeToString(sum[:])
	if !good || a.Mode == AuthToken400 {
		sendJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "no such code"})
		return
	}
	a.grant(w, authToken{family: a.name("family"), client: client, resource: code.resource, scopes: code.scopes})
}

func (a *Auth) fromRefresh(w http.ResponseWriter, r *http.Request, client string) {
	old := r.FormValue("refresh_token")
	t, live := a.refresh[old]
	if family, used := a.used[old]; used {
		a.note("reuse")
		a.revoke(family)
		live = false
	}
	if !live || t.client != client || r.FormValue("resource") != t.resource {
		sendJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "no such refresh token"})
		return
	}
	delete(a.refresh, old)
	a.used[old] = t.family
	a.grant(w, t)
}

// revoke makes all tokens of a login worthless.
func (a *Auth) revoke(family string) {
	for _, tokens := range []map[string]authToken{a.access, a.refresh} {
		for name, t := range tokens {
			if t.family == family {
				delete(tokens, name)
			}
		}
	}
}

func (a *Auth) grant(w http.ResponseWriter, t authToken) {
	lifetime := a.Lifetime
	if lifetime == 0 {
		lifetime = time.Hour
	}
	t.expires = time.Now().Add(lifetime)
	access, refresh := a.name("access"), a.name("refresh")
	body := map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": lifetime.Seconds(), "refresh_token": refresh, "scope": strings.Join(t.scopes, " "),
	}
	switch a.Mode {
	case AuthBadToken:
		body["access_token"] = "two\r\nlines: of it"
	case AuthMAC:
		body["token_type"] = "mac"
	case AuthNoRefresh:
		delete(body, "refresh_token")
	default:
		a.refresh[refresh] = t
	}
	a.access[access] = t
	sendJSON(w, http.StatusOK, body)
}
