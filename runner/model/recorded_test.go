package model_test

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/dnaeon/go-vcr.v4/pkg/cassette"
	"gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"

	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/model/modeltest"
)

// With -record, the recordings are made again: of the vendor, if the variable has its key, else of modeltest, of which those in testdata are.
var record = flag.Bool("record", false, "make testdata/recorded again")

// TestRecorded plays recordings of the vendors' own addresses, so that a change of what is sent there shows.
func TestRecorded(t *testing.T) {
	for _, c := range []struct {
		name, key string
		o         model.Options
	}{
		{"anthropic", "ANTHROPIC_API_KEY", model.Options{Provider: model.Anthropic, Model: "claude-sonnet-5"}},
		{"openai", "OPENAI_API_KEY", model.Options{Provider: model.OpenAI, Model: "gpt-5-mini"}},
		{"openai-responses", "OPENAI_API_KEY", model.Options{Provider: model.OpenAI, Model: "gpt-5-mini", API: model.Responses}},
		{"azure", "AZURE_OPENAI_API_KEY", model.Options{Provider: model.Azure, Model: "gpt-4o-mini", URL: "https://example.openai.azure.com"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			mode, real := recorder.ModeReplayOnly, http.RoundTripper(nil)
			c.o.Key = secret
			if *record {
				mode = recorder.ModeRecordOnly
				if key := os.Getenv(c.key); key != "" {
					c.o.Key, real = key, http.DefaultTransport
				} else {
					real = fake(t)
				}
			}
			path := filepath.Join("testdata", "recorded", c.name)
			tape, err := recorder.New(path, recorder.WithMode(mode), recorder.WithRealTransport(real), recorder.WithSkipRequestLatency(true),
				recorder.WithMatcher(sameRequest), recorder.WithHook(withoutKeys, recorder.BeforeSaveHook))
			if err != nil {
				t.Fatal(err)
			}
			c.o.Transport = tape
			for _, streamed := range []bool{false, true} {
				r := &model.Request{System: "Answer with one word.", Messages: []model.Message{{Role: model.User, Text: "What is the capital of France?"}}, MaxTokens: 1000}
				if streamed {
					r.Stream = func(string) {}
				}
				got, err := client(t, c.o).Generate(t.Context(), r)
				if err != nil || !strings.Contains(got.Text, "Paris") || got.Stop != model.StopEnd || got.Usage.Output == 0 || got.Usage.Cost == 0 {
					t.Errorf("Generate() = %+v, %v, want Paris, and what it cost", got, err)
				}
			}
			if err := tape.Stop(); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(path + ".yaml"); err != nil || strings.Contains(string(text), c.o.Key) {
				t.Errorf("the recording has the key, or cannot be read: %v", err)
			}
		})
	}
}

// fake carries requests for any address to modeltest.
func fake(t *testing.T) http.RoundTripper {
	s := httptest.NewServer(&modeltest.Server{Answer: func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "Paris", Input: 25, Output: 4} }})
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		to := r.Clone(r.Context())
		to.URL.Scheme, to.URL.Host = at.Scheme, at.Host
		return http.DefaultTransport.RoundTrip(to)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// sameRequest compares all but the head of requests.
var sameRequest = cassette.NewDefaultMatcher(cassette.WithIgnoreHeaders("Authorization", "Api-Key", "X-Api-Key"))

// withoutKeys takes keys, accounts and dates out of a recording.
func withoutKeys(i *cassette.Interaction) error {
	for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key"} {
		i.Request.Headers.Del(name)
	}
	kind := i.Response.Headers.Get("Content-Type")
	i.Response.Headers = http.Header{"Content-Type": {kind}}
	i.Response.Duration = 0
	return nil
}
