package endpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/endpoint"
)

const secret = "sk-very-secret-0123456789"

func ExampleEndpoint_Post() {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no such key: "+r.Header.Get("Api-Key"), http.StatusUnauthorized)
	}))
	defer s.Close()
	e, err := endpoint.New(endpoint.Options{Setting: "model", What: "the model", URL: s.URL, Path: []string{"v1", "chat"}, Key: "s3cret-value", KeyHeader: "api-key"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = e.Post(context.Background(), []byte(`{}`))
	fmt.Println(strings.ReplaceAll(err.Error(), e.Host(), "HOST"))
	// Output: the model from HOST: 401 Unauthorized: no such key: [key]
}

// TestAddresses checks how a path and a query are added to an address.
func TestAddresses(t *testing.T) {
	for base, want := range map[string]string{
		"https://a.example":                      "https://a.example/v1/chat?v=1",
		"https://a.example/x//":                  "https://a.example/x/v1/chat?v=1",
		"https://a.example/v1/chat":              "https://a.example/v1/chat?v=1",
		"https://a.example/v1/":                  "https://a.example/v1/chat?v=1",
		"https://a.example/own/chat":             "https://a.example/own/chat?v=1",
		"https://a.example/v1/chat/?v=2&user=me": "https://a.example/v1/chat?user=me&v=2",
		"http://127.0.0.1:1":                     "http://127.0.0.1:1/v1/chat?v=1",
	} {
		e, err := endpoint.New(endpoint.Options{URL: base, Path: []string{"v1", "chat"}, Query: url.Values{"v": {"1"}}, Key: secret})
		if err != nil || e.URL() != want {
			t.Errorf("New(%s): address %q, %v, want %q", base, e.URL(), err, want)
		}
	}
}

// TestTokens checks that each request has a token of its own, which is in no error, and that none is sent without encryption.
func TestTokens(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		http.Error(w, "no: "+r.Header.Get("Authorization"), http.StatusForbidden)
	}))
	defer s.Close()
	n := 0
	opts := endpoint.Options{Setting: "model", What: "the model", URL: s.URL, KeyHeader: "api-key", Token: func(context.Context) (string, error) {
		if n++; n == 3 {
			return "", errors.New("not logged in")
		}
		return fmt.Sprint(secret, n), nil
	}}
	e, err := endpoint.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"403 Forbidden: no: Bearer [token]", "403 Forbidden: no: Bearer [token]", "get a token: not logged in"} {
		if _, err := e.Post(t.Context(), nil); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("request %d: error %v, want %q", i, err, want)
		}
	}
	if want := fmt.Sprint([]string{"Bearer " + secret + "1", "Bearer " + secret + "2"}); fmt.Sprint(got) != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	opts.URL = "http://example.com"
	if _, err := endpoint.New(opts); err == nil || !strings.Contains(err.Error(), "without encryption") {
		t.Errorf("New(%s) = %v, want that it is not encrypted", opts.URL, err)
	}
}

// transport answers each request with a function.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRetryAfter checks the forms in which services say when to ask again.
func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		header    http.Header
		low, high time.Duration
	}{
		{http.Header{}, -1, -1},
		{http.Header{"Retry-After": {"7"}}, 7 * time.Second, 7 * time.Second},
		{http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"250"}}, 250 * time.Millisecond, 250 * time.Millisecond},
		{http.Header{"Retry-After": {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}}, 50 * time.Minute, time.Hour},
		{http.Header{"Retry-After": {"Mon, 02 Jan 2006 15:04:05 GMT"}}, 0, 0},
		{http.Header{"Retry-After": {"-5"}}, -1, -1}, {http.Header{"Retry-After": {"NaN"}}, -1, -1},
		{http.Header{"Retry-After": {"1e300"}}, 24 * time.Hour, 1e6 * time.Second},
	} {
		e, err := endpoint.New(endpoint.Options{URL: "https://a.example", Transport: transport(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 429, Header: c.header, Body: io.NopCloser(strings.NewReader("busy"))}, nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Post(t.Context(), nil)
		status, ok := errors.AsType[*endpoint.StatusError](err)
		if !ok || status.RetryAfter < c.low || status.RetryAfter > c.high || !endpoint.Again(err) {
			t.Errorf("%v: error %v after %v, want a time from %v to %v", c.header, err, status.RetryAfter, c.low, c.high)
		}
	}
}
