package upstream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
)

// TestCallThatNeedsALogin: the server is open until a tool is called. That the session is ended then, to which the server
// agrees, does not hide why.
func TestCallThatNeedsALogin(t *testing.T) {
	t.Parallel()
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		text, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(text, &m)
		result := `{}`
		switch {
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case r.Method == http.MethodDelete:
			return
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "1")
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`
		case m.Method == "tools/call":
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(fake.Close)
	s, err := Connect(testContext(t), config.Server{Key: "fake", Transport: config.TransportHTTP, URL: fake.URL}, &Options{Logins: NewLogins(t.TempDir(), false)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Call(testContext(t), "anything", json.RawMessage(`{}`), nil)
	wantLogin(t, err, "the server asks for a login (401 Unauthorized)")
}
