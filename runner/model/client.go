package model

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mcpgen/mcpgen/gen/endpoint"
	"github.com/mcpgen/mcpgen/gen/tokens"
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
	firstPause       = 500 * time.Millisecond // before a request is repeated, if the service names no time
	maxTries         = 5
	maxUsed          = 1e9 // tokens that an answer may claim
)

// Options are the settings of [New].
type Options struct {
	Provider Provider
	// Model is the name of the model, or of Azure's deployment.
	Model string
	// URL is the base address: https://api.openai.com/v1, https://NAME.openai.azure.com. Empty: the provider's own; Azure has none.
	URL string
	// API is for OpenAI and Azure. Empty: [Chat].
	API API
	// APIVersion is Azure's. Empty: [DefaultAPIVersion] for chat completions, and the current one for responses.
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

// client implements Client.
type client struct {
	opts     Options
	protocol protocol
	endpoint *endpoint.Endpoint
	name     string
	prices   *Prices // nil: unknown
	budget   budget
}

// New returns a client of one endpoint. It checks the settings, and sends nothing. Errors of settings are *[endpoint.Error].
func New(o Options) (Client, error) {
	bad := func(field, message, remedy string) (Client, error) {
		return nil, &endpoint.Error{Setting: "model", Field: field, Message: message, Remedy: remedy}
	}
	to := endpoint.Options{Setting: "model", What: "the model", URL: o.URL, Key: o.Key, KeyHeader: "Authorization", Token: o.Token, Transport: o.Transport}
	p := protocol(chat{})
	if o.API == Responses {
		p = responses{}
	}
	to.Path = p.path()
	switch {
	case o.Model == "":
		return bad("name", "it is missing", "write the name of the model, or of Azure's deployment")
	case o.API != "" && o.API != Chat && o.API != Responses || o.API == Responses && o.Provider == Anthropic:
		return bad("api", fmt.Sprintf("unknown protocol %q", o.API), "write chat or responses, or remove it for Anthropic")
	case o.Provider == Azure && o.URL == "":
		return bad("url", "it is missing", "write the address of the resource, as https://NAME.openai.azure.com")
	}
	switch o.Provider {
	case Anthropic:
		p = messages{}
		to.URL, to.Path, to.KeyHeader = cmp.Or(o.URL, "https://api.anthropic.com"), p.path(), "x-api-key"
		to.Header = http.Header{"Anthropic-Version": {anthropicVersion}}
	case OpenAI:
		to.URL = cmp.Or(o.URL, "https://api.openai.com/v1")
	case Azure:
		to.KeyHeader = "api-key"
		version := o.APIVersion
		switch {
		case o.API != Responses:
			to.Path, version = append([]string{"openai", "deployments", o.Model}, to.Path...), cmp.Or(version, DefaultAPIVersion)
		case version == "":
			to.Path = append([]string{"openai", "v1"}, to.Path...)
		default:
			to.Path = append([]string{"openai"}, to.Path...)
		}
		if version != "" {
			to.Query = url.Values{"api-version": {version}}
		}
	default:
		return bad("provider", fmt.Sprintf("unknown provider %q", o.Provider), "write anthropic, openai or azure")
	}
	e, err := endpoint.New(to)
	if err != nil {
		return nil, err
	}
	c := &client{opts: o, protocol: p, endpoint: e, name: string(o.Provider) + " " + o.Model, prices: o.Prices, budget: budget{Budget: o.Budget}}
	if o.URL != "" {
		c.name += " at " + e.Host()
	}
	if prices, ok := PricesOf(o.Model); ok && c.prices == nil {
		c.prices = &prices
	}
	if c.prices == nil && (o.Budget.Run.Cost > 0 || o.Budget.Day.Cost > 0) {
		return bad("budget", fmt.Sprintf("it bounds the cost, and the prices of %q are unknown", o.Model), "write them, as in prices: {input: 3, output: 15}, or bound the tokens only")
	}
	return c, nil
}

// Name implements Client.
func (c *client) Name() string { return c.name }

// Generate implements Client.
func (c *client) Generate(ctx context.Context, r *Request) (*Response, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if err := c.budget.check(ctx); err != nil {
		return nil, err
	}
	timeout := cmp.Or(c.opts.Timeout, DefaultTimeout)
	within, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %s", timeout))
	defer cancel()
	try := &attempts{client: c, request: r}
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = firstPause
	answer, err := backoff.Retry(within, func() (*Response, error) {
		answer, err := try.once(within)
		if status, ok := errors.AsType[*endpoint.StatusError](err); ok && status.RetryAfter >= 0 && again(err) {
			return nil, &waiting{err, &backoff.RetryAfterError{Duration: status.RetryAfter}}
		}
		if err != nil && (!again(err) || try.said) {
			err = backoff.Permanent(err)
		}
		return answer, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(timeout))
	if wait, ok := errors.AsType[*waiting](err); ok {
		err = wait.error
	}
	if cause := context.Cause(within); err != nil && cause != nil {
		err = c.endpoint.Failure(cause)
	}
	if err = errors.Join(err, c.budget.spend(ctx, try.used)); err != nil {
		return nil, err
	}
	return answer, nil
}

// waiting is an error with the time that the service wants to be left alone.
type waiting struct {
	error
	after *backoff.RetryAfterError
}

func (w *waiting) Unwrap() []error { return []error{w.error, w.after} }

// check returns an error unless messages alternate, from the user's to the user's.
func (r *Request) check() error {
	for i, m := range r.Messages {
		if want := []Role{User, Assistant}[i%2]; m.Role != want || strings.TrimSpace(m.Text) == "" {
			return fmt.Errorf("message %d of the conversation is empty, or it is not the %s's", i+1, want)
		}
	}
	if len(r.Messages)%2 == 0 {
		return errors.New("the conversation does not end with a message of the user")
	}
	return nil
}

// attempts are the requests of one call of Generate.
type attempts struct {
	*client
	request *Request
	said    bool  // a part of an answer was passed on, so that no request may be repeated
	older   bool  // the endpoint knows only an older name of a member
	used    Usage // by all requests
}

// overloaded is a failure that a stream reports, and that may pass.
type overloaded struct{ error }

// again reports whether a request may be repeated.
func again(err error) bool {
	_, busy := errors.AsType[*overloaded](err)
	return busy || endpoint.Again(err)
}

// once sends one request.
func (a *attempts) once(ctx context.Context) (*Response, error) {
	limit := cmp.Or(a.request.MaxTokens, a.opts.MaxTokens, DefaultMaxTokens)
	sent, err := json.Marshal(a.protocol.body(a.opts.Model, a.request, limit, a.older))
	if err != nil {
		return nil, err
	}
	body, err := a.endpoint.Post(ctx, sent)
	if err != nil {
		return a.refused(ctx, err)
	}
	defer body.Close()
	got := &reading{quote: a.endpoint.Quote, said: func(text string) {
		a.said = true
		a.request.Stream(a.endpoint.Clean(text))
	}}
	if a.request.Stream == nil {
		err = got.whole(body, a.protocol)
	} else {
		err = got.stream(body, a.protocol)
	}
	answer := a.count(got, sent)
	if err != nil {
		return nil, a.endpoint.Failure(err)
	}
	return answer, nil
}

// refused returns what a request without an answer means: a filter is no error, and an older name of a member is tried once.
func (a *attempts) refused(ctx context.Context, err error) (*Response, error) {
	status, ok := errors.AsType[*endpoint.StatusError](err)
	switch {
	case !ok || status.Status != http.StatusBadRequest:
	case strings.Contains(status.Body, `"content_filter"`):
		return &Response{Text: status.Text, Model: a.opts.Model, Stop: StopRefusal}, nil
	case strings.Contains(status.Body, "max_completion_tokens") && !a.older:
		a.older = true
		return a.once(ctx)
	}
	return nil, err
}

// count adds what an answer cost, complete or not. Of an answer that does not say it, tokens are estimated.
func (a *attempts) count(got *reading, sent []byte) *Response {
	r := &got.Response
	r.Text, r.Model = a.endpoint.Clean(got.text.String()), a.endpoint.Quote(r.Model)
	if r.Usage.Input <= 0 {
		r.Usage.Input = int64(tokens.Estimate(string(sent)))
	}
	if r.Usage.Output <= 0 {
		r.Usage.Output = int64(tokens.Estimate(r.Text))
	}
	r.Usage.Input, r.Usage.Output = min(r.Usage.Input, maxUsed), min(r.Usage.Output, maxUsed)
	prices := a.prices
	if of, ok := PricesOf(r.Model); prices == nil && ok { // the model of a deployment
		prices = &of
	}
	if prices != nil {
		r.Usage.Cost = prices.Cost(r.Usage.Input, r.Usage.Output)
	}
	a.used.add(r.Usage)
	return r
}

// protocol is the form of requests and answers.
type protocol interface {
	// path is added to the address.
	path() []string
	// body returns a request.
	body(model string, r *Request, limit int, older bool) any
	// answer reads an answer that was not streamed.
	answer(data []byte, into *reading) error
	// event reads an event of a stream.
	event(data []byte, into *reading) error
}

// reading is an answer that is being read.
type reading struct {
	Response
	text  strings.Builder
	ended bool
	said  func(text string)
	quote func(text string) string
}

// say adds a part of a stream.
func (a *reading) say(text string) {
	if text != "" {
		a.text.WriteString(text)
		a.said(text)
	}
}

// failed is what the service says of a failure instead of an answer. Those that may pass are [overloaded].
func (a *reading) failed(kind, message string) error {
	err := fmt.Errorf("it answered with an error: %s", a.quote(strings.TrimSpace(kind+" "+message)))
	for _, word := range []string{"overloaded", "rate_limit", "server_error", "api_error", "timeout"} {
		if strings.Contains(kind, word) {
			return &overloaded{err}
		}
	}
	return err
}

// whole reads an answer that was not streamed.
func (a *reading) whole(body io.Reader, p protocol) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if err := p.answer(data, a); err != nil {
		return err
	}
	if a.Stop == "" {
		return a.malformed(data, errors.New("it does not say why it ends"))
	}
	return nil
}

// malformed adds the beginning of an answer to an error of reading it.
func (a *reading) malformed(data []byte, err error) error {
	return fmt.Errorf("the answer is not what this provider sends (%w): %s", err, a.quote(string(data)))
}

// stream reads server-sent events (HTML, section 9.2.6). Each has one line of data.
func (a *reading) stream(body io.Reader, p protocol) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, endpoint.MaxAnswer)
	for lines.Scan() && !a.ended {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if data = bytes.TrimSpace(data); !ok || len(data) == 0 {
			continue
		}
		if string(data) == "[DONE]" {
			break
		}
		if err := p.event(data, a); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if a.Stop == "" {
		return &overloaded{errors.New("the stream of the answer broke off")}
	}
	return nil
}
