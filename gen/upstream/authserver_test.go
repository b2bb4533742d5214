package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
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

	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

// authServer is an authorization server in the test: it logs in whoever asks, at once. Its fields may be
// changed before it is first used.
type authServer struct {
	issuer string // its address
	// handlers answer in place of the server, by path, such as /token.
	handlers map[string]http.HandlerFunc
	// These change the metadata, what the browser brings back to an address, and the answer to a request for a token. Each
	// may be nil.
	changeMetadata func(m map[string]any)
	changeAnswer   func(address string, answer url.Values)
	changeGrant    func(answer map[string]any)
	lifetime       time.Duration // of an access token; zero for 1 h
	// clientID and clientSecret are those of a client that it knows beforehand; documents says that it takes addresses of
	// metadata documents for client ids.
	clientID, clientSecret string
	documents              bool

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

// newAuthServer starts an authorization server that ends with the test. It does everything right, rotates refresh tokens, and
// revokes all of a login when one is used twice.
func newAuthServer(t testing.TB) *authServer {
	t.Helper()
	a := &authServer{
		clients: map[string]string{}, codes: map[string]authCode{}, access: map[string]authToken{},
		refresh: map[string]authToken{}, used: map[string]string{}, seen: map[string]int{},
	}
	srv := httptest.NewServer(a)
	a.issuer = srv.URL
	t.Cleanup(srv.Close)
	return a
}

// timesSeen returns how often an endpoint was asked: metadata, register, authorize, code, refresh, client, reuse or revoke.
func (a *authServer) timesSeen(endpoint string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[endpoint]
}

// authorizations returns the parameters of all requests to the authorization endpoint.
func (a *authServer) authorizations() []url.Values {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

// live returns the tokens that are good at the moment, the access tokens first.
func (a *authServer) live() (out []string) {
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

// forget makes every access token worthless; with refresh the refresh tokens too.
func (a *authServer) forget(refresh bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.access)
	if refresh {
		clear(a.refresh)
	}
}

// setDown makes every request fail with 503, or no longer.
func (a *authServer) setDown(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

// check reports whether a bearer token is good for a resource, and which scopes it has.
func (a *authServer) check(token, resource string) (scopes []string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, known := a.access[token]
	return t.scopes, known && time.Now().Before(t.expires) && t.resource == resource
}

func (a *authServer) name(kind string) string {
	a.count++
	return fmt.Sprintf("%s-%06d-%s", kind, a.count, strings.Repeat("x", 20))
}

func (a *authServer) note(endpoint string) { a.seen[endpoint]++ }

// ServeHTTP answers one request.
func (a *authServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	if handle := a.handlers[r.URL.Path]; handle != nil {
		handle(w, r)
		return
	}
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		a.note("metadata")
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

func (a *authServer) metadata() map[string]any {
	m := map[string]any{
		"issuer": a.issuer, "authorization_endpoint": a.issuer + "/authorize", "token_endpoint": a.issuer + "/token",
		"registration_endpoint": a.issuer + "/register", "revocation_endpoint": a.issuer + "/revoke",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic"},
		"scopes_supported":                               []string{"read", "write"},
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          a.documents,
	}
	if a.changeMetadata != nil {
		a.changeMetadata(m)
	}
	return m
}

func (a *authServer) register(w http.ResponseWriter, r *http.Request) {
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

func (a *authServer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.requests = append(a.requests, q)
	_, registered := a.clients[q.Get("client_id")]
	known := registered || a.clientID != "" && q.Get("client_id") == a.clientID || a.documents && strings.HasPrefix(q.Get("client_id"), "https://")
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
	answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {a.issuer}}
	if a.changeAnswer != nil {
		a.changeAnswer(back.String(), answer)
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

// token answers the token endpoint.
func (a *authServer) token(w http.ResponseWriter, r *http.Request) {
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
	case "client_credentials":
		a.note("client")
		a.grant(w, authToken{family: a.name("family"), client: client, resource: r.FormValue("resource"), scopes: strings.Fields(r.FormValue("scope"))})
	default:
		sendJSON(w, http.StatusBadRequest, map[string]string{"error": "unsupported_grant_type"})
	}
}

// client returns who asks, if the proof is right.
func (a *authServer) client(r *http.Request) (string, bool) {
	id, secret := r.FormValue("client_id"), r.FormValue("client_secret")
	if user, password, basic := r.BasicAuth(); basic {
		id, _ = url.QueryUnescape(user)
		secret, _ = url.QueryUnescape(password)
	}
	if a.clientID != "" && id == a.clientID {
		return id, secret == a.clientSecret
	}
	if a.documents && strings.HasPrefix(id, "https://") {
		return id, true
	}
	want, known := a.clients[id]
	return id, known && secret == want
}

func (a *authServer) fromCode(w http.ResponseWriter, r *http.Request, client string) {
	code, ok := a.codes[r.FormValue("code")]
	delete(a.codes, r.FormValue("code"))
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	good := ok && code.client == client && code.redirect == r.FormValue("redirect_uri") && code.resource == r.FormValue("resource") &&
		code.challenge == base64.RawURLEncoding.EncodeToString(sum[:])
	if !good {
		sendJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "no such code"})
		return
	}
	a.grant(w, authToken{family: a.name("family"), client: client, resource: code.resource, scopes: code.scopes})
}

func (a *authServer) fromRefresh(w http.ResponseWriter, r *http.Request, client string) {
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
func (a *authServer) revoke(family string) {
	for _, tokens := range []map[string]authToken{a.access, a.refresh} {
		for name, t := range tokens {
			if t.family == family {
				delete(tokens, name)
			}
		}
	}
}

func (a *authServer) grant(w http.ResponseWriter, t authToken) {
	lifetime := a.lifetime
	if lifetime == 0 {
		lifetime = time.Hour
	}
	t.expires = time.Now().Add(lifetime)
	access, refresh := a.name("access"), a.name("refresh")
	body := map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": lifetime.Seconds(), "refresh_token": refresh, "scope": strings.Join(t.scopes, " "),
	}
	if a.changeGrant != nil {
		a.changeGrant(body)
	}
	a.refresh[refresh] = t
	a.access[access] = t
	sendJSON(w, http.StatusOK, body)
}

// visit does what a browser would: it opens an address and goes where it is sent. It returns the address that it was
// sent to last.
func visit(address string) (last string, err error) {
	resp, err := http.Get(address)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	return resp.Request.URL.String(), nil
}

const metadataPath = "/.well-known/oauth-protected-resource/mcp"

// protectedServer is a fake server that demands tokens.
type protectedServer struct {
	// scopes are what a token needs to list tools, callScopes to call one.
	scopes, callScopes []string
	// resource is what the protected resource metadata say they are about; empty: the server.
	resource string

	url  string
	auth *authServer
	fake *upstreamtest.HTTP
}

// start starts the server, which ends with the test.
func (p *protectedServer) start(t testing.TB, auth *authServer) {
	t.Helper()
	p.auth, p.fake = auth, upstreamtest.NewHTTP(t, upstreamtest.Normal, nil)
	srv := httptest.NewServer(p)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	p.url = srv.URL + "/mcp"
	if p.resource == "" {
		p.resource = p.url
	}
}

// ServeHTTP answers one request.
func (p *protectedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/mcp":
	case metadataPath:
		sendJSON(w, http.StatusOK, map[string]any{"resource": p.resource, "authorization_servers": []string{p.auth.issuer}, "scopes_supported": p.scopes})
		return
	default:
		http.NotFound(w, r)
		return
	}
	has, ok := p.auth.check(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), p.url)
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", resource_metadata="`+strings.TrimSuffix(p.url, "/mcp")+metadataPath+`"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(r.Body)
	var m struct{ Method string }
	if err == nil && json.Unmarshal(body, &m) == nil {
		for _, scope := range map[string][]string{"tools/list": p.scopes, "tools/call": p.callScopes}[m.Method] {
			if !slices.Contains(has, scope) {
				w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+scope+`"`)
				http.Error(w, "you may not", http.StatusForbidden)
				return
			}
		}
	}
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	p.fake.ServeHTTP(w, again)
}
