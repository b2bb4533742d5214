package models

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/model/modeltest"
)

// login answers as Entra ID does.
type login struct {
	t    *testing.T
	sent []string
}

func (l *login) Do(r *http.Request) (*http.Response, error) {
	answer := `{"token_type": "Bearer", "expires_in": 3600, "access_token": "token-of-entra-id"}`
	switch {
	case strings.Contains(r.URL.Path, "/discovery/instance"):
		answer = `{"tenant_discovery_endpoint": "https://login.microsoftonline.com/our-tenant/v2.0/.well-known/openid-configuration", "metadata": [{"preferred_network": "login.microsoftonline.com", "preferred_cache": "login.windows.net", "aliases": ["login.microsoftonline.com", "login.windows.net"]}]}`
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		at := "https://login.microsoftonline.com/our-tenant/"
		answer = `{"token_endpoint": "` + at + `oauth2/v2.0/token", "authorization_endpoint": "` + at + `oauth2/v2.0/authorize", "issuer": "` + at + `v2.0"}`
	default:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		l.sent = append(l.sent, r.URL.String()+" "+string(body))
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)), Request: r}, nil
}

// TestEntra checks that the token of Entra ID is got once, for Azure's services of models, and sent to the endpoint.
func TestEntra(t *testing.T) {
	for name, value := range map[string]string{
		"AZURE_TOKEN_CREDENTIALS": "EnvironmentCredential", "AZURE_TENANT_ID": "our-tenant", "AZURE_CLIENT_ID": "our-client", "AZURE_CLIENT_SECRET": "our-secret",
		"AZURE_AUTHORITY_HOST": "", "AZURE_CLIENT_CERTIFICATE_PATH": "", "AZURE_USERNAME": "",
	} {
		t.Setenv(name, value)
	}
	l := &login{t: t}
	token, err := entra(l)
	if err != nil {
		t.Fatal(err)
	}
	s := modeltest.New(t, modeltest.Answer{Text: "ok"}, modeltest.Answer{Echo: true})
	c, err := model.New(model.Options{Provider: model.Azure, Model: "gpt-4o", URL: s.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := try(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if _, err := try(t.Context(), c); err == nil || strings.Contains(err.Error(), "token-of-entra-id") {
		t.Errorf("error %v, want one without the token", err)
	}
	if len(l.sent) != 1 || !strings.Contains(l.sent[0], "cognitiveservices.azure.com%2F.default") || !strings.Contains(l.sent[0], "client_id=our-client") {
		t.Errorf("asked for tokens with %q, want one request for the scope of Azure's models", l.sent)
	}
	for _, r := range s.Requests() {
		if got := r.Header.Get("Authorization"); got != "Bearer token-of-entra-id" || r.Header.Get("Api-Key") != "" {
			t.Errorf("sent Authorization %q and api-key %q, want the token alone", got, r.Header.Get("Api-Key"))
		}
	}
}
