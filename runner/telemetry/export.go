package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// sender sends messages to an endpoint by OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp). OpenTelemetry's own exporters
// for HTTP contain gRPC as well, which is larger than all the rest.
type sender struct {
	endpoint *endpoint
	client   *http.Client
	failed   func(error)
}

func (t *Telemetry) newSender(to *endpoint) *sender {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if to.tls != nil {
		transport.TLSClientConfig = to.tls
	}
	return &sender{to, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, t.named(to)}
}

// send sends a message. It tries again within the endpoint's timeout if the endpoint says that this may help, or cannot be reached.
func (s *sender) send(ctx context.Context, message proto.Message) error {
	body, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	if s.endpoint.gzip {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(body); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		body = b.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, s.endpoint.timeout)
	defer cancel()
	_, err = backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, s.post(ctx, body) })
	return err
}

// maxAnswer is how much of an answer is read, in bytes, so that the connection can be used again.
const maxAnswer = 64 << 10

func (s *sender) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint.url, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(err)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("User-Agent", "mcprun")
	if s.endpoint.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	for name, value := range s.endpoint.headers {
		req.Header.Set(name, value)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	switch {
	case res.StatusCode/100 == 2:
		return nil
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusBadGateway, res.StatusCode == http.StatusServiceUnavailable, res.StatusCode == http.StatusGatewayTimeout:
		if pause, err := time.ParseDuration(res.Header.Get("Retry-After") + "s"); err == nil {
			return backoff.RetryAfter(int(pause.Seconds()))
		}
		return fmt.Errorf("it answered %s", res.Status)
	}
	return backoff.Permanent(fmt.Errorf("it answered %s", res.Status))
}

// report reports a failure. OpenTelemetry would print it to standard error.
func (s *sender) report(err error) error {
	s.failed(err)
	return nil
}

// spans sends spans. It implements [otlptrace.Client].
type spans struct{ *sender }

func (spans) Start(context.Context) error { return nil }

func (s spans) Stop(context.Context) error {
	s.client.CloseIdleConnections()
	return nil
}

func (s spans) UploadTraces(ctx context.Context, all []*tracepb.ResourceSpans) error {
	return s.report(s.send(ctx, &tracepb.TracesData{ResourceSpans: all})) // encoded as the request's message is
}

// spans returns the exporter of spans.
func (t *Telemetry) spans(to *endpoint) (sdktrace.SpanExporter, error) {
	return otlptrace.New(context.Background(), spans{t.newSender(to)})
}

// maxReason bounds the text of an error, which may quote the endpoint, in bytes.
const maxReason = 200

// named returns a function that reports an error together with the endpoint's host.
func (t *Telemetry) named(to *endpoint) func(error) {
	return func(err error) {
		if err == nil {
			return
		}
		host := "the endpoint"
		if u, bad := url.Parse(to.url); bad == nil {
			host = u.Host
		}
		t.failed(fmt.Errorf("%s: %s", host, ident.Clip(ident.CleanLine(err.Error()), maxReason)))
	}
}
