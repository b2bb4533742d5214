package upstreamtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// AuthMode is a way for an authorization server to behave.
type AuthMode string

const (
	// AuthNormal does everything right, rotates refresh tokens, and revokes all of a login when one is used twice.
	AuthNormal AuthMode = "normal"
	// AuthBadIss says in its answer to be somebody else, AuthNoIss leaves the promised issuer out.
	AuthBadIss AuthMode = "bad-iss"
	AuthNoIss  AuthMode = "no-iss"
	// AuthWrongState answers with another state first, and then with the right one.
	AuthWrongState AuthMode = "wrong-state"
	// AuthDenies answers with access_denied and a description that holds an escape sequence.
	AuthDenies AuthMode = "denies"
	// AuthOtherIssuer has metadata that name another issuer, AuthNoPKCE metadata without code challenge methods.
	AuthOtherIssuer AuthMode = "other-issuer"
	AuthNoPKCE      AuthMode = "no-pkce"
	// AuthPrivate has metadata whose token endpoint is in a private network, AuthPlain one without TLS, AuthScript an
	// authorization endpoint that is a script.
	AuthPrivate AuthMode = "private"
	AuthPlain   AuthMode = "plain"
	AuthScript  AuthMode = "script"
	// AuthToken400 refuses every code with invalid_grant, AuthToken500 answers with an error page.
	AuthToken400 AuthMode = "token-400"
	AuthToken500 AuthMode = "token-500"
	// AuthTokenRedirect redirects requests for tokens to the address in Auth.Elsewhere, AuthMetadataRedirect those for
	// metadata.
	AuthTokenRedirect    AuthMode = "token-redirect"
	AuthMetadataRedirect AuthMode = "metadata-redirect"
	// AuthHuge answers requests for tokens with 64 MiB, AuthBadToken with a token that is two lines, AuthMAC with one that
	// is no bearer token, AuthNoJSON with a web page.
	AuthHuge     AuthMode = "huge"
	AuthBadToken AuthMode = "bad-token"
	AuthMAC      AuthMode = "mac"
	AuthNoJSON   AuthMode = "no-json"
	// AuthNoClients takes no unknown clients, AuthRegistration400 refuses their registration.
	AuthNoClients       AuthMode = "no-clients"
	AuthRegistration400 AuthMode = "registration-400"
	// AuthNoRefresh gives no refresh tokens.
	AuthNoRefresh AuthMode = "no-refresh"
)

// Auth is an authorization server in the test: it logs in whoever asks, at once. Its fields may be changed before it is
// first used, unless they say otherwise.
type Auth struct {
	// URL is its issuer.
	URL  string
	Mode AuthMode
	// Lifetime is that of an access token, zero for 1 h.
	Lifetime time.Duration
	// Scopes are those it knows; offline_access is one like any other.
	Scopes []string
	// ClientID and ClientSecret are those of a client that it knows beforehand; Documents says that it takes addresses
	// of metadata documents for client ids.
	ClientID, ClientSecret string
	Documents              bool
	// Elsewhere is where the redirecting modes lead.
	Elsewhere string
	// RefreshDelay is how long it takes to answer a refresh.
	RefreshDelay time.Duration

	mu       sync.Mutex
	count    int
	clients  map[string]string // secret by id
	codes    map[string]authCode
	access   map[string]authToken
	refresh  map[string]authToken // the live ones
	used     map[string]string    // family by used refresh token
	seen     map[string]int
	requests []url.Values // of the authorization endpoint
	down     bool
}

type authCode struct {
	client, redirect, challenge, resource string
	scopes                                []string
}

type authToken struct {
	family, client, resource string
	scopes                   []string
	expires                  time.Time
}

// NewAuth starts an authorization server that ends with the test.
func NewAuth(t testing.TB, mode AuthMode) *Auth {
	t.Helper()
	a := &Auth{
		Mode: mode, clients: map[string]string{}, codes: map[string]authCode{}, access: map[string]authToken{},
		refresh: map[string]authToken{}, used: map[string]string{}, seen: map[string]int{},
	}
	srv := httptest.NewServer(a)
	a.URL = srv.URL
	t.Cleanup(srv.Close)
	return a
}

// Seen returns how often an endpoint was asked: metadata, register, authorize, code, refresh, reuse or revoke.
func (a *Auth) Seen(endpoint string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[endpoint]
}

// Requests returns the parameters of all requests to the authorization endpoint.
func (a *Auth) Requests() []url.Values {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

// Live returns the tokens that are good at the moment, the access tokens first.
func (a *Auth) Live() (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for token := range a.access {
		out = append(out, token)
	}
	for token := range a.refresh {
		out = append(out, token)
	}
	return out
}

// Forget makes every access token worthless; with refresh the refresh tokens too.
func (a *Auth) Forget(refresh bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.access)
	if refresh {
		clear(a.refresh)
	}
}

// SetDown makes every request fail with 503, or no longer.
func (a *Auth) SetDown(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

// check reports whether a bearer token is good for a resource, and which scopes it has.
func (a *Auth) check(token, resource string) (scopes []string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, known := a.access[token]
	return t.scopes, known && time.Now().Before(t.expires) && t.resource == resource
}

func (a *Auth) name(kind string) string {
	a.count++
	return fmt.Sprintf("%s-%06d-%s", kind, a.count, strings.Repeat("x", 20))
}

func (a *Auth) note(endpoint string) { a.seen[endpoint]++ }

// ServeHTTP answers one request.
func (a *Auth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.RefreshDelay > 0 && r.FormValue("grant_type") == "refresh_token" {
		time.Sleep(a.RefreshDelay)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		a.note("metadata")
		if a.Mode == AuthMetadataRedirect {
			http.Redirect(w, r, a.Elsewhere, http.StatusFound)
			return
		}
		sendJSON(w, http.StatusOK, a.metadata())
	case "/register":
		a.note("register")
		a.register(w, r)
	case "/authorize":
		a.note("authorize")
		a.authorize(w, r)
	case "/token":
		a.token(w, r)
	case "/revoke":
		a.note("revoke")
		family := a.refresh[r.FormValue("token")].family
		delete(a.access, r.FormValue("token"))
		a.revoke(family)
		w.WriteHeader(http.StatusOK)
	default:
		http.NotFound(w, r)
	}
}

func sendJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that is gone is the test's business
}

func (a *Auth) metadata() map[string]any {
	m := map[string]any{
		"issuer": a.URL, "authorization_endpoint": a.URL + "/authorize", "token_endpoint": a.URL + "/token",
		"registration_endpoint": a.URL + "/register", "revocation_endpoint": a.URL + "/revoke",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic"},
		"scopes_supported":                               a.Scopes,
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          a.Documents,
	}
	switch a.Mode {
	case AuthOtherIssuer:
		m["issuer"] = "https://issuer.invalid"
	case AuthNoPKCE:
		delete(m, "code_challenge_methods_supported")
	case AuthPrivate:
		m["token_endpoint"] = "https://169.254.169.254/token"
	case AuthPlain:
		m["token_endpoint"] = "http://auth.invalid/token"
	case AuthScript:
		m["authorization_endpoint"] = "file://localhost/etc/passwd"
	case AuthNoClients:
		delete(m, "registration_endpoint")
	}
	return m
}

func (a *Auth) register(w http.ResponseWriter, r *http.Request) {
	if a.Mode == AuthRegistration400 {
		sendJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_redirect_uri", "error_description": "no \x1b[31mway"})
		return
	}
	body, _ := io.ReadAll(r.Body)
	var m map[string]any
	if json.Unmarshal(body, &m) != nil {
		sendJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_client_metadata"})
		return
	}
	id := a.name("client")
	a.clients[id] = ""
	m["client_id"] = id
	sendJSON(w, http.StatusCreated, m)
}

func (a *Auth) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.requests = append(a.requests, q)
	_, registered := a.clients[q.Get("client_id")]
	known := registered || a.ClientID != "" && q.Get("client_id") == a.ClientID || a.Documents && strings.HasPrefix(q.Get("client_id"), "https://")
	back, err := url.Parse(q.Get("redirect_uri"))
	if !known || err != nil || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := a.name("code")
	a.codes[code] = authCode{
		client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), resource: q.Get("resource"),
		scopes: strings.Fields(q.Get("scope")),
	}
	answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {a.URL}}
	switch a.Mode {
	case AuthBadIss:
		answer.Set("iss", "https://issuer.invalid")
	case AuthNoIss:
		answer.Del("iss")
	case AuthDenies:
		answer.Del("code")
		answer.Set("error", "access_denied")
		answer.Set("error_description", "not \x1b[31mtoday")
	case AuthWrongState:
		wrong := *back
		wrong.RawQuery = url.Values{"code": {"stolen"}, "state": {"another"}, "iss": {a.URL}}.Encode()
		if resp, err := http.Get(wrong.String()); err == nil {
			_ = resp.Body.Close()
		}
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// Visit does what a browser would: it opens an address and goes where it is sent. It returns the address that it was
// sent to last.
func Visit(address string) (last string, err error) {
	resp, err := http.Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return resp.Request.URL.String(), nil
}
