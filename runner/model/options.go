package model

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/mcpgen/mcpgen/gen/endpoint"
)

// Provider says whose protocol an endpoint speaks.
type Provider string

// The providers.
const (
	Anthropic Provider = "anthropic" // POST <url>/v1/messages
	OpenAI    Provider = "openai"    // POST <url>/chat/completions or <url>/responses: OpenAI, Ollama, vLLM and many others
	Azure     Provider = "azure"     // the same below <url>/openai/deployments/<model>, or <url>/openai
)

// API is one of two protocols of OpenAI and Azure.
type API string

// The protocols.
const (
	Chat      API = "chat"
	Responses API = "responses"
)

const (
	// DefaultMaxTokens is the default of [Request].MaxTokens, and DefaultTimeout that of [Options].Timeout.
	DefaultMaxTokens = 8192
	DefaultTimeout   = 5 * time.Minute
	// DefaultAPIVersion is that of Azure's chat completions. Responses need none.
	DefaultAPIVersion = "2024-10-21"

	anthropicVersion = "2023-06-01"
)

// Options are the settings of [New].
type Options struct {
	Provider Provider
	// Model is the name of the model, or of Azure's deployment.
	Model string
	// URL is the base address: https://api.openai.com/v1, https://NAME.openai.azure.com, also with /openai/v1. Empty: the provider's own; Azure has none.
	URL string
	// API is for OpenAI and Azure. Empty: [Chat].
	API API
	// APIVersion is Azure's: a date, or preview or latest, which have addresses of their own. Empty: [DefaultAPIVersion] for chat completions,
	// and the current one for responses.
	APIVersion string
	// Key is the secret. Empty: none is sent.
	Key string
	// Token returns a bearer token for each request, instead of Key, as for Entra ID. Nil: none.
	Token func(context.Context) (string, error)
	// MaxTokens bounds an answer whose request does not. Zero: [DefaultMaxTokens].
	MaxTokens int
	// Timeout bounds a call of Generate, with all its tries. Zero: [DefaultTimeout].
	Timeout time.Duration
	// Prices are those of the model. Nil: [PricesOf] it.
	Prices *Prices
	// Budget bounds what the client, and all processes on one day, may use.
	Budget Budget
	// Transport carries the requests. Nil: [http.DefaultTransport].
	Transport http.RoundTripper
}

// bad returns the error of a setting.
func bad(field, message, remedy string) error {
	return &endpoint.Error{Setting: "model", Field: field, Message: message, Remedy: remedy}
}

// check returns an error for the first setting that is missing, or that does not go with others.
func (o *Options) check() error {
	switch {
	case o.Provider != Anthropic && o.Provider != OpenAI && o.Provider != Azure:
		return bad("provider", fmt.Sprintf("unknown provider %q", o.Provider), "write anthropic, openai or azure")
	case o.Model == "":
		return bad("name", "it is missing", "write the name of the model, or of Azure's deployment")
	case o.API != "" && o.API != Chat && o.API != Responses || o.API == Responses && o.Provider == Anthropic:
		return bad("api", fmt.Sprintf("unknown protocol %q", o.API), "write chat or responses, or remove it for Anthropic")
	case o.Provider == Azure && o.URL == "":
		return bad("url", "it is missing", "write the address of the resource, as https://NAME.openai.azure.com, or set AZURE_OPENAI_ENDPOINT")
	case o.Key == "" && o.Token == nil && (o.Provider == Azure || o.URL == ""):
		return bad("key", "it is missing", "say where it is, as in key: ${AZURE_OPENAI_API_KEY}; Azure also takes auth: entra")
	case o.Budget.Day != (Limit{}) && o.Budget.State == nil:
		return bad("budget", "no state counts what a day has used", "name a database with --state")
	}
	return nil
}

// protocol returns the form of requests.
func (o *Options) protocol() protocol {
	switch {
	case o.Provider == Anthropic:
		return messages{}
	case o.API == Responses:
		return responses{}
	}
	return chat{}
}

// endpoint returns where requests go, and how the key does.
func (o *Options) endpoint() endpoint.Options {
	to := endpoint.Options{
		Setting: "model", What: "the model", URL: o.URL, Path: o.protocol().path(),
		Key: o.Key, KeyHeader: "Authorization", Token: o.Token, Transport: o.Transport,
	}
	switch o.Provider {
	case Anthropic:
		to.URL, to.KeyHeader = cmp.Or(o.URL, "https://api.anthropic.com"), "x-api-key"
		to.Header = http.Header{"Anthropic-Version": {anthropicVersion}}
	case OpenAI:
		to.URL = cmp.Or(o.URL, "https://api.openai.com/v1")
	case Azure:
		to.KeyHeader = "api-key"
		version, above := o.APIVersion, []string{"openai"}
		named := version == "preview" || version == "latest"
		switch {
		case named || version == "" && o.API == Responses: // since May 2025
			above = append(above, "v1")
		case endpoint.IsAzureV1(o.URL): // where a date, which variables may have for other programs, is no version
			version, above = "", append(above, "v1")
		case o.API != Responses:
			version, above = cmp.Or(version, DefaultAPIVersion), append(above, "deployments", o.Model)
		}
		to.Path = append(above, to.Path...)
		if version != "" {
			to.Query = url.Values{"api-version": {version}}
		}
	}
	return to
}
