package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/mcpgen/mcpgen/gen/endpoint"
	"github.com/mcpgen/mcpgen/gen/tokens"
)

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
		if ctx.Err() != nil { // the model may be at work on it
			a.count(&reading{quote: a.endpoint.Quote}, sent)
		}
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
