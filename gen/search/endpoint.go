package search

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/mcpgen/mcpgen/gen/endpoint"
)

// API is the protocol of an endpoint for embeddings.
type API string

const (
	// OpenAI is POST <url>/embeddings with a bearer token, the protocol of OpenAI, Ollama, vLLM and many others.
	OpenAI API = "openai"
	// Azure is POST <url>/openai/deployments/<model>/embeddings with the header api-key, the protocol of Azure OpenAI.
	Azure API = "azure"
)

// DefaultAPIVersion is the default of [EndpointOptions].APIVersion.
const DefaultAPIVersion = "2024-10-21"

// Endpoint is an [Embedder] that calls an HTTP endpoint.
type Endpoint struct {
	opts EndpointOptions
	http *endpoint.Endpoint
}

// EndpointOptions are the settings of [NewEndpoint].
type EndpointOptions struct {
	// URL is the base address: https://api.openai.com/v1, or for Azure https://NAME.openai.azure.com. An address that ends with
	// /embeddings is used unchanged.
	URL string
	// Model is the name of the model, or for Azure of the deployment.
	Model string
	// API is the protocol. Empty: [OpenAI].
	API API
	// APIVersion is for [Azure] only. Empty: [DefaultAPIVersion].
	APIVersion string
	// Key is the API key. It never appears in an error, and is sent only over https or to this machine. Empty: no key is sent.
	Key string
	// Dimensions requests shorter vectors than the model's own. 0: the model's own.
	Dimensions int
	// Transport carries the requests. Nil: [http.DefaultTransport].
	Transport http.RoundTripper
}

// EndpointError reports an invalid setting.
type EndpointError = endpoint.Error

// NewEndpoint checks the settings and sends nothing. Its errors are *[EndpointError].
func NewEndpoint(opts EndpointOptions) (*Endpoint, error) {
	if opts.API == "" {
		opts.API = OpenAI
	}
	if opts.APIVersion == "" {
		opts.APIVersion = DefaultAPIVersion
	}
	to := endpoint.Options{Setting: "search.embeddings", What: "embeddings", URL: opts.URL, Path: []string{"embeddings"}, Key: opts.Key, KeyHeader: "Authorization", Transport: opts.Transport}
	switch {
	case opts.API != OpenAI && opts.API != Azure:
		return nil, &EndpointError{Setting: to.Setting, Field: "api", Message: fmt.Sprintf("unknown protocol %q", opts.API), Remedy: "write openai or azure"}
	case opts.Model == "":
		return nil, &EndpointError{Setting: to.Setting, Field: "model", Message: "it is missing", Remedy: "write the name of the model, or of the deployment"}
	case opts.API == Azure && endpoint.IsAzureV1(opts.URL):
		to.Path, to.KeyHeader = []string{"openai", "v1", "embeddings"}, "api-key"
	case opts.API == Azure:
		to.Path, to.KeyHeader = []string{"openai", "deployments", opts.Model, "embeddings"}, "api-key"
		to.Query = url.Values{"api-version": {opts.APIVersion}}
	}
	http, err := endpoint.New(to)
	if err != nil {
		return nil, err
	}
	return &Endpoint{opts: opts, http: http}, nil
}

// Name returns protocol, address, model and dimensions.
func (e *Endpoint) Name() string {
	return fmt.Sprintf("%s %s %s %d", e.opts.API, e.http.URL(), e.opts.Model, e.opts.Dimensions)
}

// Embed implements [Embedder] with one request.
func (e *Endpoint) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	body := map[string]any{"input": texts, "model": e.opts.Model, "encoding_format": "float"}
	if e.opts.Dimensions > 0 {
		body["dimensions"] = e.opts.Dimensions
	}
	sent, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	res, err := e.http.Post(ctx, sent)
	if err != nil {
		return nil, err
	}
	defer res.Close()
	answer, err := io.ReadAll(res)
	if err != nil {
		return nil, err
	}
	vectors, err := readVectors(answer, len(texts))
	if err != nil {
		return nil, e.http.Failure(err)
	}
	return vectors, nil
}

// readVectors returns the vectors of an answer in the order of the texts.
func readVectors(answer []byte, texts int) ([][]float32, error) {
	var parsed struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &parsed); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(parsed.Data) != texts {
		return nil, fmt.Errorf("got %d vectors for %d texts", len(parsed.Data), texts)
	}
	out := make([][]float32, texts)
	for i, d := range parsed.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= texts || out[at] != nil || len(d.Embedding) == 0 {
			return nil, fmt.Errorf("vector %d of the answer is empty, or its index is invalid or used twice", i)
		}
		out[at] = d.Embedding
	}
	return out, nil
}
