package upstream

import (
	"net/http"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
)

// oauthServer describes an expanded server to package oauth.
func oauthServer(srv config.Server) oauth.Server {
	out := oauth.Server{Name: srv.Key, URL: srv.URL}
	if o := srv.OAuth; o != nil {
		out.ClientID, out.ClientSecret, out.ClientMetadataURL = o.ClientID, o.ClientSecret, o.ClientMetadataURL
		out.Scopes, out.Resource = o.Scopes, o.Resource
		out.ByClient, out.TokenEndpoint = o.Grant == config.GrantClient, o.TokenEndpoint
	}
	return out
}

// hasCredentials reports whether the configured headers hold credentials.
func hasCredentials(srv config.Server) bool {
	for name := range srv.Headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return true
		}
	}
	return false
}
