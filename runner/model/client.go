package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mcpgen/mcpgen/gen/endpoint"
)

const (
	firstPause = 500 * time.Millisecond // before a request is repeated, if the service names no time
	maxTries   = 5
	maxUsed    = 1e9 // tokens that an answer may claim
)

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
	if err := o.check(); err != nil {
		return nil, err
	}
	e, err := endpoint.New(o.endpoint())
	if err != nil {
		return nil, err
	}
	c := &client{opts: o, protocol: o.protocol(), endpoint: e, name: string(o.Provider) + " " + o.Model, prices: o.Prices, budget: budget{Budget: o.Budget}}
	if o.URL != "" {
		c.name += " at " + e.Host()
	}
	if prices, ok := PricesOf(o.Model); ok && c.prices == nil {
		c.prices = &prices
	}
	if c.prices == nil && (o.Budget.Run.Cost > 0 || o.Budget.Day.Cost > 0) {
		return nil, bad("budget", fmt.Sprintf("it bounds the cost, and the prices of %q are unknown", o.Model), "write them, as in prices: {input: 3, output: 15}, or bound the tokens only")
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
