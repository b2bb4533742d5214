package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/runner/model"
	"github.com/mcpgen/mcpgen/runner/model/modeltest"
)

const secret = "sk-very-secret-0123456789"

// endpoints are the settings of all protocols for a server.
func endpoints(s *modeltest.Server) map[string]model.Options {
	return map[string]model.Options{
		"anthropic":         {Provider: model.Anthropic, Model: "claude-sonnet-5", URL: s.URL, Key: secret},
		"openai":            {Provider: model.OpenAI, Model: "gpt-5", URL: s.URL + "/v1", Key: secret},
		"openai responses":  {Provider: model.OpenAI, Model: "gpt-5", URL: s.URL + "/v1", API: model.Responses, Key: secret},
		"azure":             {Provider: model.Azure, Model: "gpt-5", URL: s.URL, Key: secret, APIVersion: "2025-01-01-preview"},
		"azure responses":   {Provider: model.Azure, Model: "gpt-5", URL: s.URL + "/", API: model.Responses, Key: secret},
		"azure, preview":    {Provider: model.Azure, Model: "gpt-5", URL: s.URL + "/openai/v1/", Key: secret, APIVersion: "preview"},
		"azure, v1":         {Provider: model.Azure, Model: "gpt-5", URL: s.URL + "/openai/v1/", Key: secret, APIVersion: "2024-06-01"},
		"azure, v1, whole":  {Provider: model.Azure, Model: "gpt-5", URL: s.URL + "/openai/v1/responses", API: model.Responses, Key: secret},
		"azure, an earlier": {Provider: model.Azure, Model: "gpt-5", URL: s.URL, API: model.Responses, Key: secret, APIVersion: "2025-03-01-preview"},
	}
}

// client returns a client of an endpoint.
func client(t testing.TB, o model.Options) model.Client {
	t.Helper()
	c, err := model.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask is a conversation.
func ask() *model.Request {
	return &model.Request{System: "Be short.", Messages: []model.Message{{Role: model.User, Text: "1 + 1?"}, {Role: model.Assistant, Text: "2"}, {Role: model.User, Text: "And 2 + 2?"}}, MaxTokens: 100}
}

// TestGenerate asks all endpoints, whole and streamed, with each reason for the end of an answer.
func TestGenerate(t *testing.T) {
	for name := range endpoints(&modeltest.Server{}) {
		for _, stop := range []model.Stop{model.StopEnd, model.StopLength, model.StopRefusal} {
			for _, streamed := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s %v", name, stop, streamed), func(t *testing.T) {
					s := modeltest.New(t, modeltest.Answer{Text: "It is four, of course.", Stop: stop, Input: 1000, Output: 200})
					r, parts := ask(), ""
					if streamed {
						r.Stream = func(text string) { parts += text + "|" }
					}
					o := endpoints(s)[name]
					got, err := client(t, o).Generate(t.Context(), r)
					if err != nil {
						t.Fatal(err)
					}
					prices, _ := model.PricesOf(o.Model)
					want := &model.Response{Text: "It is four, of course.", Model: o.Model, Stop: stop, Usage: model.Usage{Input: 1000, Output: 200, Cost: prices.Cost(1000, 200)}}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("answer (-want +got):\n%s", diff)
					}
					if streamed && (strings.ReplaceAll(parts, "|", "") != want.Text || strings.Count(parts, "|") < 3) {
						t.Errorf("streamed %q, want the text in parts", parts)
					}
					sent := s.Requests()[0]
					if sent.System != r.System || sent.Max != 100 || sent.Stream != streamed || sent.Model != o.Model || !cmp.Equal(sent.Messages, r.Messages) {
						t.Errorf("sent %s, want %+v", sent.Body, r)
					}
				})
			}
		}
	}
}

// TestAddresses checks where requests go, and how the key does.
func TestAddresses(t *testing.T) {
	for name, want := range map[string]string{
		"anthropic":         "/v1/messages X-Api-Key=" + secret + " Anthropic-Version=2023-06-01",
		"openai":            "/v1/chat/completions Authorization=Bearer " + secret,
		"openai responses":  "/v1/responses Authorization=Bearer " + secret,
		"azure":             "/openai/deployments/gpt-5/chat/completions?api-version=2025-01-01-preview Api-Key=" + secret,
		"azure responses":   "/openai/v1/responses Api-Key=" + secret,
		"azure, preview":    "/openai/v1/chat/completions?api-version=preview Api-Key=" + secret,
		"azure, v1":         "/openai/v1/chat/completions Api-Key=" + secret,
		"azure, v1, whole":  "/openai/v1/responses Api-Key=" + secret,
		"azure, an earlier": "/openai/responses?api-version=2025-03-01-preview Api-Key=" + secret,
	} {
		s := modeltest.New(t, modeltest.Answer{})
		if _, err := client(t, endpoints(s)[name]).Generate(t.Context(), ask()); err != nil {
			t.Fatal(err)
		}
		r := s.Requests()[0]
		got := r.Path
		if len(r.Query) > 0 {
			got += "?" + r.Query.Encode()
		}
		for _, header := range []string{"X-Api-Key", "Authorization", "Api-Key", "Anthropic-Version"} {
			if value := r.Header.Get(header); value != "" {
				got += " " + header + "=" + value
			}
		}
		if got != want {
			t.Errorf("%s: sent %s, want %s", name, got, want)
		}
	}
}

// TestOpenStreams checks that the last event ends an answer, whether or not the endpoint closes the connection.
func TestOpenStreams(t *testing.T) {
	for name := range endpoints(&modeltest.Server{}) {
		s := modeltest.New(t, modeltest.Answer{Text: "It is four.", Open: true})
		r := ask()
		r.Stream = func(string) {}
		if got, err := client(t, endpoints(s)[name]).Generate(t.Context(), r); err != nil || got.Text != "It is four." {
			t.Errorf("%s: Generate() = %+v, %v, want the answer", name, got, err)
		}
	}
}
