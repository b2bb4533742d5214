package model_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/endpoint"
	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/model/modeltest"
)

// soon asks to be asked again at once.
var soon = http.Header{"Retry-After-Ms": {"1"}}

// TestRetries checks which failures are asked about again, and how often.
func TestRetries(t *testing.T) {
	ok := modeltest.Answer{Text: "ok"}
	for _, c := range []struct {
		name    string
		answers []modeltest.Answer
		stream  bool
		want    string // part of the error; empty: it succeeds
	}{
		{"busy, then ok", []modeltest.Answer{{Status: 429, Header: soon}, ok}, false, ""},
		{"overloaded, then ok", []modeltest.Answer{{Status: 529, Header: soon}, {Status: 503, Header: soon}, {Status: 500, Header: soon}, {Status: 408, Header: soon}, ok}, false, ""},
		{"always busy", []modeltest.Answer{{Status: 429, Header: soon}, {Status: 429, Header: soon}, {Status: 429, Header: soon}, {Status: 429, Header: soon}, {Status: 429, Header: soon, Body: "slow down"}}, false, "429 Too Many Requests: slow down"},
		{"busy for an hour", []modeltest.Answer{{Status: 429, Header: http.Header{"Retry-After": {"3600"}}}}, false, "429"},
		{"nothing is paid", []modeltest.Answer{{Status: 429, Header: soon, Body: `{"error":{"code":"insufficient_quota"}}`}}, false, "insufficient_quota"},
		{"bad request", []modeltest.Answer{{Status: 400, Body: "what?"}}, false, "400 Bad Request: what?"},
		{"unknown", []modeltest.Answer{{Status: 404}}, false, "404 Not Found"},
		{"a cut connection", []modeltest.Answer{{Text: "cut", Cut: true}, ok}, false, ""},
		{"a cut stream", []modeltest.Answer{{Text: strings.Repeat("cut ", 10), Cut: true}}, true, "unexpected EOF"},
		{"a failure in a stream", []modeltest.Answer{{Text: strings.Repeat("cut ", 10), Overloaded: true}}, true, "overloaded_error Overloaded"},
		{"a failure before a stream", []modeltest.Answer{{Overloaded: true}, {Status: 429, Header: soon}, ok}, true, ""},
		{"nonsense", []modeltest.Answer{{Nonsense: "<html>Hello</html>"}}, false, "<html>Hello</html>"},
		{"nonsense for a stream", []modeltest.Answer{{Nonsense: "data: {\"choices\": 5}\n\n"}}, true, `{"choices": 5}`},
		{"an empty object", []modeltest.Answer{{Nonsense: "{}"}}, false, "does not say why it ends"},
		{"null", []modeltest.Answer{{Nonsense: "null"}}, false, "does not say why it ends"},
		{"an error with status 200", []modeltest.Answer{{Nonsense: `{"type":"error","error":{"type":"invalid","message":"no"}}`}}, false, "invalid no"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := modeltest.New(t, c.answers...)
			r := ask()
			if c.stream {
				r.Stream = func(string) {}
			}
			got, err := client(t, endpoints(s)["openai"]).Generate(t.Context(), r)
			if c.want == "" && (err != nil || got.Text != "ok") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("Generate() = %+v, %v, want an error with %q", got, err, c.want)
			}
			if n := len(s.Requests()); n != len(c.answers) {
				t.Errorf("%d requests, want %d", n, len(c.answers))
			}
		})
	}
}

// TestOverloadedAnthropic checks that a stream of Anthropic that fails before its first text is asked for again.
func TestOverloadedAnthropic(t *testing.T) {
	s := modeltest.New(t, modeltest.Answer{Overloaded: true}, modeltest.Answer{Text: "ok"})
	r := ask()
	r.Stream = func(string) {}
	if got, err := client(t, endpoints(s)["anthropic"]).Generate(t.Context(), r); err != nil || got.Text != "ok" {
		t.Errorf("Generate() = %+v, %v, want ok", got, err)
	}
}

// TestOldServices checks that a service which knows only the older name of a bound gets that.
func TestOldServices(t *testing.T) {
	s := modeltest.New(t, modeltest.Answer{Status: 400, Body: `{"error":{"message":"Unrecognized request argument supplied: max_completion_tokens"}}`}, modeltest.Answer{Text: "ok"})
	got, err := client(t, endpoints(s)["openai"]).Generate(t.Context(), ask())
	if err != nil || got.Text != "ok" || !strings.Contains(s.Requests()[1].Body, `"max_tokens":100`) {
		t.Errorf("Generate() = %+v, %v, want ok; sent %s", got, err, s.Requests()[1].Body)
	}
}

// TestFilters checks that a filter of Azure is a refusal and no error.
func TestFilters(t *testing.T) {
	s := modeltest.New(t, modeltest.Answer{Status: 400, Body: `{"error":{"message":"` + strings.Repeat("The response was filtered. ", 20) + `","type":null,"param":"prompt","code":"content_filter","status":400}}`})
	got, err := client(t, endpoints(s)["azure"]).Generate(t.Context(), ask())
	if err != nil || got.Stop != model.StopRefusal || !strings.Contains(got.Text, "was filtered") {
		t.Errorf("Generate() = %+v, %v, want a refusal with the text of the filter", got, err)
	}
}

// TestNoKeyInErrors checks that an endpoint which repeats the key, in any form, puts it into no error and no answer.
func TestNoKeyInErrors(t *testing.T) {
	for name, a := range map[string]modeltest.Answer{
		"error":  {Echo: true},
		"quoted": {Status: 403, Body: `{"error":"{\"key\":\"` + secret + `\"}"}`},
		"200":    {Nonsense: "{" + secret},
		"event":  {Nonsense: "data: {\"error\":{\"type\":\"no\",\"message\":\"" + secret + "\"}}\n\n"},
		"moved":  {Status: 307, Header: http.Header{"Location": {"http://127.0.0.1:1/" + secret}}},
		"bad":    {Status: 307, Header: http.Header{"Location": {"://" + secret}}},
	} {
		s := modeltest.New(t, a)
		r := ask()
		if name == "event" {
			r.Stream = func(string) {}
		}
		_, err := client(t, endpoints(s)["openai"]).Generate(t.Context(), r)
		if err == nil || strings.Contains(err.Error(), secret) || len(err.Error()) > 700 {
			t.Errorf("%s: error %v, want one without the key", name, err)
		}
	}
	for _, streamed := range []bool{false, true} {
		s := modeltest.New(t, modeltest.Answer{Text: "const key = '" + secret + "'", Model: secret})
		r := ask()
		if streamed {
			r.Stream = func(string) {}
		}
		got, err := client(t, endpoints(s)["anthropic"]).Generate(t.Context(), r)
		if err != nil || got.Text != "const key = '[key]'" || strings.Contains(got.Model, secret) {
			t.Errorf("Generate() = %+v, %v, want a text without the key", got, err)
		}
	}
}

// TestLargeAnswers checks that an answer beyond the bound is an error, whole or streamed.
func TestLargeAnswers(t *testing.T) {
	for _, text := range []string{`{"x":"` + strings.Repeat("y", endpoint.MaxAnswer) + `"}`, strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\""+strings.Repeat("y", 1<<20)+"\"}}]}\n\n", 33)} {
		s := modeltest.New(t, modeltest.Answer{Nonsense: text})
		r := ask()
		if strings.HasPrefix(text, "data") {
			r.Stream = func(string) {}
		}
		if _, err := client(t, endpoints(s)["openai"]).Generate(t.Context(), r); err == nil || !strings.Contains(err.Error(), "larger than 32 MiB") {
			t.Errorf("Generate() error %.200v, want that the answer is larger than 32 MiB", err)
		}
	}
}

// TestEnds checks that a time-out and a cancelled context end a request that gets no answer, and a stream that stops.
func TestEnds(t *testing.T) {
	never := make(chan struct{})
	for _, streamed := range []bool{false, true} {
		s := modeltest.New(t, modeltest.Answer{Text: "half of it", Wait: never}, modeltest.Answer{Text: "half of it", Wait: never})
		o := endpoints(s)["anthropic"]
		o.Timeout = 50 * time.Millisecond
		r := ask()
		ctx, cancel := context.WithCancel(t.Context())
		if streamed {
			r.Stream = func(string) {}
		}
		if _, err := client(t, o).Generate(ctx, r); err == nil || !strings.Contains(err.Error(), "no answer within 50ms") {
			t.Errorf("Generate() error %v, want a time-out", err)
		}
		o.Timeout = time.Hour
		time.AfterFunc(50*time.Millisecond, cancel)
		if streamed {
			r.Stream = func(string) { cancel() }
		}
		if _, err := client(t, o).Generate(ctx, r); !errors.Is(err, context.Canceled) {
			t.Errorf("Generate() error %v, want %v", err, context.Canceled)
		}
	}
}

// TestConversations checks that an invalid conversation is not sent.
func TestConversations(t *testing.T) {
	c := client(t, endpoints(modeltest.New(t))["openai"])
	user, assistant := model.Message{Role: model.User, Text: "a"}, model.Message{Role: model.Assistant, Text: "b"}
	for _, list := range [][]model.Message{nil, {assistant}, {user, assistant}, {user, user}, {{Role: model.User, Text: " "}}, {{Role: "system", Text: "x"}}} {
		if _, err := c.Generate(t.Context(), &model.Request{Messages: list}); err == nil {
			t.Errorf("Generate(%v) gave no error, want one", list)
		}
	}
}

// TestSettings checks that invalid settings are refused with a remedy, and without the key.
func TestSettings(t *testing.T) {
	for field, o := range map[string]model.Options{
		"model.provider": {Provider: "other", Model: "m", Key: secret},
		"model.name":     {Provider: model.OpenAI},
		"model.api":      {Provider: model.Anthropic, Model: "m", API: model.Responses},
		"model.url":      {Provider: model.Azure, Model: "m"},
		"model.url: ":    {Provider: model.OpenAI, Model: "m", URL: "http://example.com/v1", Key: secret},
		"model.url: i":   {Provider: model.OpenAI, Model: "m", URL: "https://u:" + secret + "@example.com/v1"},
		"model.key":      {Provider: model.OpenAI, Model: "m", Key: secret + "\nx"},
		"model.key: it":  {Provider: model.OpenAI, Model: "m"},
		"model.key: i":   {Provider: model.Azure, Model: "m", URL: "https://a.example"},
		"model.budget":   {Provider: model.OpenAI, Model: "mine", Key: secret, Budget: model.Budget{Run: model.Limit{Cost: 1}}},
		"model.budget: ": {Provider: model.OpenAI, Model: "gpt-5", Key: secret, Budget: model.Budget{Day: model.Limit{Tokens: 1}}},
	} {
		_, err := model.New(o)
		bad, ok := errors.AsType[*endpoint.Error](err)
		if !ok || bad.Hint() == "" || !strings.HasPrefix(err.Error(), field) || strings.Contains(err.Error(), secret) {
			t.Errorf("New(%+v) = %v, want an error of %s with a remedy", o, err, field)
		}
	}
	c := client(t, model.Options{Provider: model.OpenAI, Model: "llama", URL: "http://localhost:11434/v1"})
	if want := "openai llama at localhost:11434"; c.Name() != want {
		t.Errorf("Name() = %q, want %q", c.Name(), want)
	}
}
