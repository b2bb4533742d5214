package search_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/search"
)

const secret = "sk-very-secret"

// seen is the last request of a fake endpoint.
type seen struct {
	path, query, authorization, apiKey string
	body                               struct {
		Input      []string
		Model      string
		Dimensions int
	}
}

// fake returns an endpoint that answers with the length of each text, in reverse order.
func fake(t *testing.T, got *seen) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*got = seen{path: r.URL.Path, query: r.URL.RawQuery, authorization: r.Header.Get("Authorization"), apiKey: r.Header.Get("Api-Key")}
		if err := json.NewDecoder(r.Body).Decode(&got.body); err != nil {
			t.Error(err)
		}
		var data []map[string]any
		for i := range got.body.Input {
			at := len(got.body.Input) - 1 - i
			data = append(data, map[string]any{"index": at, "embedding": []float64{float64(len(got.body.Input[at])), 1}})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data, "model": "m", "usage": map[string]int{"total_tokens": 1}})
	}))
	t.Cleanup(s.Close)
	return s
}

func endpoint(t *testing.T, opts search.EndpointOptions) *search.Endpoint {
	t.Helper()
	e, err := search.NewEndpoint(opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEndpoint(t *testing.T) {
	var got seen
	s := fake(t, &got)
	for _, tt := range []struct {
		opts        search.EndpointOptions
		path, query string
	}{
		{search.EndpointOptions{URL: s.URL + "/v1/", Model: "m"}, "/v1/embeddings", ""},
		{search.EndpointOptions{URL: s.URL + "/v1/embeddings", Model: "m", Dimensions: 2}, "/v1/embeddings", ""},
		{search.EndpointOptions{URL: s.URL, Model: "my/m", API: search.Azure}, "/openai/deployments/my/m/embeddings", "api-version=2024-10-21"},
		{search.EndpointOptions{URL: s.URL + "/openai/v1/", Model: "my/m", API: search.Azure}, "/openai/v1/embeddings", ""},
		{search.EndpointOptions{URL: s.URL + "?x=1", Model: "m", API: search.Azure, APIVersion: "9"}, "/openai/deployments/m/embeddings", "api-version=9&x=1"},
	} {
		tt.opts.Key = secret
		out, err := endpoint(t, tt.opts).Embed(t.Context(), []string{"a", "bbb"})
		if err != nil {
			t.Errorf("%+v: %v", tt.opts, err)
			continue
		}
		if out[0][0] != 1 || out[1][0] != 3 {
			t.Errorf("vectors %v, want out[0][0] 1 and out[1][0] 3", out)
		}
		wantAuth, wantKey := "Bearer "+secret, ""
		if tt.opts.API == search.Azure {
			wantAuth, wantKey = "", secret
		}
		if got.path != tt.path || got.query != tt.query || got.authorization != wantAuth || got.apiKey != wantKey || got.body.Model != tt.opts.Model || got.body.Dimensions != tt.opts.Dimensions {
			t.Errorf("sent %+v for %+v", got, tt.opts)
		}
	}
}

func TestEndpointSettings(t *testing.T) {
	for _, opts := range []search.EndpointOptions{
		{URL: "", Model: "m"},
		{URL: "example.com/v1", Model: "m"},
		{URL: "file:///etc/passwd", Model: "m"},
		{URL: "https://user:pass@example.com", Model: "m"},
		{URL: "https://example.com", Model: ""},
		{URL: "https://example.com", Model: "m", API: "other"},
		{URL: "http://example.com", Model: "m", Key: secret},
		{URL: "://", Model: "m"},
	} {
		_, err := search.NewEndpoint(opts)
		var bad *search.EndpointError
		if !errors.As(err, &bad) || bad.Hint() == "" || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "pass@") {
			t.Errorf("%+v: %v", opts, err)
		}
	}
	for _, opts := range []search.EndpointOptions{
		{URL: "http://127.0.0.1:1/v1", Model: "m", Key: secret}, {URL: "http://localhost:1", Model: "m", Key: secret}, {URL: "http://[::1]:1", Model: "m", Key: secret},
		{URL: "http://example.com", Model: "m"},
	} {
		if _, err := search.NewEndpoint(opts); err != nil {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

// TestEndpointErrors checks that invalid answers are errors, short and without the key.
func TestEndpointErrors(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	for name, answer := range map[string]func(w http.ResponseWriter){
		"401": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, "wrong key %s %s", secret, strings.Repeat("x", 100_000))
		},
		"redirect": func(w http.ResponseWriter) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"no json": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") },
		"null":    func(w http.ResponseWriter) { _, _ = io.WriteString(w, "null") },
		"few":     func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"data":[]}`) },
		"twice": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`)
		},
		"elsewhere": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1]},{"index":7,"embedding":[1]}]}`)
		},
		"negative": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]}`)
		},
		"text": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":"abc"},{"index":1,"embedding":[1]}]}`)
		},
		"too large": func(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"x":"`+strings.Repeat("y", 33<<20)+`"}`) },
		"cut off": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"data":`)
		},
		"busy long": func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
			defer s.Close()
			_, err := endpoint(t, search.EndpointOptions{URL: s.URL, Model: "m", Key: secret}).Embed(t.Context(), []string{"a", "b"})
			if err == nil || strings.Contains(err.Error(), secret) || len(err.Error()) > 600 || !strings.Contains(err.Error(), "127.0.0.1") {
				t.Errorf(`error %.700v, want an error, no %q in it, len(err.Error()) at most 600 and "127.0.0.1" in it`, err, secret)
			}
		})
	}
}

// TestEndpointName checks that different models have different names, without the key.
func TestEndpointName(t *testing.T) {
	names := map[string]bool{}
	for _, opts := range []search.EndpointOptions{
		{URL: "https://a.example", Model: "m"}, {URL: "https://b.example", Model: "m"}, {URL: "https://a.example", Model: "n"},
		{URL: "https://a.example", Model: "m", Dimensions: 5}, {URL: "https://a.example", Model: "m", API: search.Azure},
	} {
		opts.Key = secret
		names[endpoint(t, opts).Name()] = true
	}
	for name := range names {
		if strings.Contains(name, secret) {
			t.Errorf("the name %q holds the key, want no %q in it", name, secret)
		}
	}
	if len(names) != 5 {
		t.Errorf("names %v, want len(names) 5", names)
	}
}
