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
	"sync/atomic"
	"time"
)

// API is the form of an endpoint for embeddings.
type API string

const (
	// OpenAI is POST <url>/embeddings with a bearer token, as OpenAI, Ollama, vLLM and many others have it.
	OpenAI API = "openai"
	// Azure is POST <url>/openai/deployments/<model>/embeddings with the header api-key, as Azure OpenAI has it.
	Azure API = "azure"
)

// DefaultAPIVersion is the version of Azure's interface that is asked for where nothing is said.
const DefaultAPIVersion = "2024-10-21"

const (
	// maxEmbedAnswer bounds an answer of the endpoint, in bytes, maxEmbedError what is shown of one that is an error.
	maxEmbedAnswer, maxEmbedError = 32 << 20, 300
)

// Endpoint is an HTTP endpoint that makes embeddings.
type Endpoint struct {
	opts   EndpointOptions
	url    string
	client *http.Client
	most   atomic.Int64 // how many texts it takes at once, as far as is known; 0: not known
}

// EndpointOptions are the settings of [NewEndpoint].
type EndpointOptions struct {
	// URL is the base address: https://api.openai.com/v1, or of Azure https://NAME.openai.azure.com. One that ends with
	// /embeddings is used as it is.
	URL string
	// Model is the name of the model, or of Azure the deployment.
	Model string
	// API is the form. Empty: [OpenAI].
	API API
	// APIVersion is for [Azure] only. Empty: [DefaultAPIVersion].
	APIVersion string
	// Key is a secret; it is never in an error. Empty: none is sent. One is sent by https only, or to this machine.
	Key string
	// Dimensions asks for shorter vectors than the model's own. 0: the model's own.
	Dimensions int
	// Transport carries the requests. Nil: [http.DefaultTransport].
	Transport http.RoundTripper
}

// EndpointError is a setting that will not do.
type EndpointError struct{ Field, Message, Remedy string }

func (e *EndpointError) Error() string {
	return fmt.Sprintf("search.embeddings.%s: %s", e.Field, e.Message)
}

// Hint is what to write instead.
func (e *EndpointError) Hint() string { return e.Remedy }

// ExitCode is 2.
func (e *EndpointError) ExitCode() int { return 2 }

// NewEndpoint checks the settings; nothing is sent. The errors are *[EndpointError].
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
		return nil, &EndpointError{"api", fmt.Sprintf("%q is not known", opts.API), "write openai or azure"}
	case opts.Key != "" && base.Scheme == "http" && !thisMachine(base.Hostname()):
		return nil, &EndpointError{"url", "a key is not sent without encryption", "write an https address, or leave key_env out"}
	}
	e := &Endpoint{opts: opts, url: address(base, opts), client: &http.Client{
		Transport:     opts.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirect }, // the key would go elsewhere
	}}
	return e, nil
}

var errRedirect = errors.New("it sends elsewhere, which is not followed; write the address it names in search.embeddings.url")

func thisMachine(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func address(base *url.URL, opts EndpointOptions) string {
	u := *base
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	whole := strings.HasSuffix(u.Path, "/embeddings")
	switch {
	case whole:
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

// Name tells model, address and dimensions apart.
func (e *Endpoint) Name() string {
	return fmt.Sprintf("%s %s %s %d", e.opts.API, e.url, e.opts.Model, e.opts.Dimensions)
}

// ask sends texts in one request. An endpoint that is busy, and names a time of at most 5 seconds or none, is asked once
// more. The error is a *refusal when there was an answer that is one.
func (e *Endpoint) ask(ctx context.Context, texts []string) ([][]float32, error) {
	body := map[string]any{"input": texts, "model": e.opts.Model, "encoding_format": "float"}
	if e.opts.Dimensions > 0 {
		body["dimensions"] = e.opts.Dimensions
	}
	sent, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	answer, err := e.post(ctx, sent)
	if no, ok := errors.AsType[*refusal](err); ok && no.wait > 0 {
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(no.wait):
		}
		answer, err = e.post(ctx, sent)
	}
	if err != nil {
		return nil, err
	}
	vectors, err := readVectors(answer, len(texts))
	if err != nil {
		return nil, e.failure(err)
	}
	return vectors, nil
}

// refusal is an answer of the endpoint that says no.
type refusal struct {
	status int
	text   string
	wait   time.Duration // before another try; 0: there is no use in one
}

func (r *refusal) Error() string { return r.text }

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
		text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10)) // whatever it says
		return nil, e.failure(&refusal{res.StatusCode, res.Status + ": " + e.shown(text), retryAfter(res)})
	}
	answer, err = io.ReadAll(io.LimitReader(res.Body, maxEmbedAnswer+1))
	if err == nil && len(answer) > maxEmbedAnswer {
		err = fmt.Errorf("the answer has more than %d MiB", maxEmbedAnswer>>20)
	}
	if err != nil {
		return nil, e.failure(err)
	}
	return answer, nil
}

// failure names the endpoint, without what its address may hold besides.
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

// shown is the beginning of an error's text, on one line, without the key.
func (e *Endpoint) shown(text []byte) string {
	s := string(text)
	if e.opts.Key != "" {
		s = strings.ReplaceAll(s, e.opts.Key, "[key]")
	}
	return strings.Join(strings.Fields(clip(strings.ToValidUTF8(s, "\uFFFD"), maxEmbedError)), " ")
}
