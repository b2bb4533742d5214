package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
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

const (
	// maxEmbedAnswer bounds an answer, in bytes. maxEmbedError bounds the quoted part of an error answer.
	maxEmbedAnswer, maxEmbedError = 32 << 20, 300
)

// Endpoint is an [Embedder] that calls an HTTP endpoint.
type Endpoint struct {
	opts   EndpointOptions
	url    string
	client *http.Client
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
type EndpointError struct{ Field, Message, Remedy string }

func (e *EndpointError) Error() string {
	return fmt.Sprintf("search.embeddings.%s: %s", e.Field, e.Message)
}

// Hint says what to write instead.
func (e *EndpointError) Hint() string { return e.Remedy }

// ExitCode is exit.Usage.
func (e *EndpointError) ExitCode() int { return exit.Usage }

// NewEndpoint checks the settings and sends nothing. Its errors are *[EndpointError].
func NewEndpoint(opts EndpointOptions) (*Endpoint, error) {
	if opts.API == "" {
		opts.API = OpenAI
	}
	if opts.APIVersion == "" {
		opts.APIVersion = DefaultAPIVersion
	}
	base, err := url.Parse(opts.URL)
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, &EndpointError{"url", "it is not an http or https address", "write it as https://api.openai.com/v1"}
	case base.User != nil:
		return nil, &EndpointError{"url", "it holds a password", "name the variable that holds the key in key_env"}
	case opts.Model == "":
		return nil, &EndpointError{"model", "it is missing", "write the name of the model, or of the deployment"}
	case opts.API != OpenAI && opts.API != Azure:
		return nil, &EndpointError{"api", fmt.Sprintf("unknown protocol %q", opts.API), "write openai or azure"}
	case opts.Key != "" && base.Scheme == "http" && !thisMachine(base.Hostname()):
		return nil, &EndpointError{"url", "a key is not sent without encryption", "write an https address, or leave key_env out"}
	}
	e := &Endpoint{opts: opts, url: address(base, opts), client: &http.Client{
		Transport:     opts.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect }, // the key would be sent to another address
	}}
	return e, nil
}

var errRedirect = errors.New("the endpoint redirects, which is not followed; write the new address in search.embeddings.url")

func thisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func address(base *url.URL, opts EndpointOptions) string {
	u := *base
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	complete := strings.HasSuffix(u.Path, "/embeddings")
	switch {
	case complete:
	case opts.API == Azure:
		u = *u.JoinPath("openai", "deployments", opts.Model, "embeddings")
	default:
		u = *u.JoinPath("embeddings")
	}
	if opts.API == Azure {
		q := u.Query()
		if q.Get("api-version") == "" {
			q.Set("api-version", opts.APIVersion)
		}
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// Name returns protocol, address, model and dimensions.
func (e *Endpoint) Name() string {
	return fmt.Sprintf("%s %s %s %d", e.opts.API, e.url, e.opts.Model, e.opts.Dimensions)
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
	answer, err := e.post(ctx, sent)
	if err != nil {
		return nil, err
	}
	vectors, err := readVectors(answer, len(texts))
	if err != nil {
		return nil, e.failure(err)
	}
	return vectors, nil
}

// post sends one request.
func (e *Endpoint) post(ctx context.Context, body []byte) (answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, e.failure(err)
	}
	req.Header.Set("Content-Type", "application/json")
	switch {
	case e.opts.Key == "":
	case e.opts.API == Azure:
		req.Header.Set("api-key", e.opts.Key)
	default:
		req.Header.Set("Authorization", "Bearer "+e.opts.Key)
	}
	res, err := e.client.Do(req)
	if err != nil {
		return nil, e.failure(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // part of a text is better than nothing
		return nil, e.failure(fmt.Errorf("%s: %s", res.Status, e.shown(text)))
	}
	answer, err = io.ReadAll(io.LimitReader(res.Body, maxEmbedAnswer+1))
	if err == nil && len(answer) > maxEmbedAnswer {
		err = fmt.Errorf("the answer is larger than %d MiB", maxEmbedAnswer>>20)
	}
	if err != nil {
		return nil, e.failure(err)
	}
	return answer, nil
}

// failure adds the host of the endpoint to an error, without the rest of its address, which may contain secrets.
func (e *Endpoint) failure(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	host := ""
	if u, parseErr := url.Parse(e.url); parseErr == nil {
		host = u.Host
	}
	return fmt.Errorf("embeddings from %s: %w", host, err)
}

// shown returns the beginning of an error text on one line, without the key.
func (e *Endpoint) shown(text []byte) string {
	s := string(text)
	if e.opts.Key != "" {
		s = strings.ReplaceAll(s, e.opts.Key, "[key]")
	}
	return strings.Join(strings.Fields(ident.Head(strings.ToValidUTF8(s, "\uFFFD"), maxEmbedError)), " ")
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
