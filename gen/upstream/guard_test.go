package upstream

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/upstreamtest"
)

const token = "s3cret-t0ken-value"

// thief records what reaches it.
func thief(t *testing.T) (url string, visits *atomic.Int32) {
	visits = new(atomic.Int32)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visits.Add(1)
		if r.Header.Get("Authorization") != "" || r.Header.Get("X-Key") != "" {
			t.Errorf("the other origin got the headers %v", r.Header)
		}
		http.Error(w, "no", http.StatusNotFound)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, visits
}

func secretive(url string, kind config.Transport) config.Server {
	return config.Server{Key: "web", Transport: kind, URL: url, Headers: map[string]string{"Authorization": "Bearer ${TOKEN}", "X-Key": "${TOKEN}"}}
}

func secretiveOptions() *Options {
	opts := testOptions()
	opts.Lookup = func(name string) (string, bool) { return token, name == "TOKEN" }
	return opts
}

func TestCrossOriginRedirectIsRefused(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		other, visits := thief(t)
		srv := httptest.NewServer(http.RedirectHandler(other+"/mcp?"+token, status))
		t.Cleanup(srv.Close)
		_, err := Connect(testContext(t), secretive(srv.URL, config.TransportHTTP), secretiveOptions())
		wantConnectionError(t, err, "redirects to another origin, which is refused")
		if strings.Contains(err.Error(), token) {
			t.Errorf("the error %q holds the token, want no %q in it", err, token)
		}
		if visits.Load() != 0 {
			t.Errorf("%d: the other origin was visited", status)
		}
	}
}

func TestSameOriginRedirectKeepsHeaders(t *testing.T) {
	fake := upstreamtest.NewHTTP(t, upstreamtest.Normal, &upstreamtest.HTTPOptions{Token: token})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			http.Redirect(w, r, "/mcp", http.StatusTemporaryRedirect)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	s := open(t, secretive(srv.URL+"/old", config.TransportHTTP), secretiveOptions())
	mustCall(t, s, upstreamtest.ToolEcho, `{}`)
}

func TestRedirectLoopEnds(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Path+"x", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(srv.Close)
	_, err := Connect(testContext(t), secretive(srv.URL, config.TransportHTTP), secretiveOptions())
	wantConnectionError(t, err, "redirects more than 5 times")
}

func TestSSEEndpointOfAnotherOriginIsRefused(t *testing.T) {
	other, visits := thief(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: "+other+"/messages\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	_, err := Connect(testContext(t), secretive(srv.URL, config.TransportSSE), secretiveOptions())
	wantConnectionError(t, err, "an address of another origin, which is refused")
	if visits.Load() != 0 {
		t.Error("the other origin was visited")
	}
}

func TestSecretsStayOutOfErrors(t *testing.T) {
	hidden := "http://" + "127.0.0.1:1/" + token
	srv := config.Server{Key: "web", Transport: config.TransportHTTP, URL: "http://127.0.0.1:1/${TOKEN}?k=${TOKEN}"}
	_, err := Connect(testContext(t), srv, secretiveOptions())
	wantConnectionError(t, err, "connection refused")
	if strings.Contains(err.Error(), token) || strings.Contains(err.Error(), hidden) {
		t.Errorf("the error %q holds the token, want no %q in it and no %q in it", err, token, hidden)
	}

	// A server that repeats what it was given.
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"bad key `+r.Header.Get("X-Key")+`"}}`)
	}))
	t.Cleanup(echo.Close)
	_, err = Connect(testContext(t), secretive(echo.URL, config.TransportHTTP), secretiveOptions())
	p := wantProtocolError(t, err, -32000, "bad key [")
	if strings.Contains(p.Message, token) {
		t.Errorf("the error %q holds the token: got %q, want no %q in it", err, p.Message, token)
	}
}

func TestForgottenSession(t *testing.T) {
	fake := upstreamtest.NewHTTP(t, upstreamtest.LegacyOnly, &upstreamtest.HTTPOptions{Sessions: true})
	s := open(t, fake.Config(), testOptions())
	mustCall(t, s, upstreamtest.ToolEcho, `{}`)
	if got := fake.Versions(); len(got) != 1 || got[0] != "2025-11-25" {
		t.Errorf(`version headers %q, want len(got) 1 and got[0] "2025-11-25"`, got)
	}
	fake.Forget()
	_, err := s.Call(testContext(t), upstreamtest.ToolEcho, nil, nil)
	wantConnectionError(t, err, "no longer knows the session")
	var gone *ConnectionError
	if errors.As(err, &gone); !gone.NotSent || !s.Lost() {
		t.Errorf("NotSent %t, Lost %t", gone.NotSent, s.Lost())
	}
}

func TestWebPageIsNamed(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, "<html>"+token)
	}))
	t.Cleanup(srv.Close)
	_, err := Connect(testContext(t), secretive(srv.URL, config.TransportHTTP), secretiveOptions())
	wantConnectionError(t, err, "answers with a web page")
}
