// Package telemetrytest has a collector of OpenTelemetry data for tests: OTLP over HTTP, with protobuf.
package telemetrytest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	metricscollector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracecollector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector keeps what it is sent.
type Collector struct {
	URL string // for OTEL_EXPORTER_OTLP_ENDPOINT

	mu       sync.Mutex
	resource *resource.Resource
	headers  http.Header
	spans    []*spans.Span
	metrics  []*metrics.Metric
}

// New starts a collector on a loopback address, which ends with the test.
func New(t testing.TB) *Collector {
	c := &Collector{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = c.take(r, body)
		}
		if err != nil {
			t.Errorf("%s: %v", r.URL.Path, err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *Collector) take(r *http.Request, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = r.Header
	if r.URL.Path == "/v1/metrics" {
		var in metricscollector.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &in); err != nil {
			return err
		}
		for _, of := range in.ResourceMetrics {
			c.resource, c.metrics = of.Resource, nil // each export has the sums since the start
			for _, scope := range of.ScopeMetrics {
				c.metrics = append(c.metrics, scope.Metrics...)
			}
		}
		return nil
	}
	var in tracecollector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &in); err != nil {
		return err
	}
	for _, of := range in.ResourceSpans {
		c.resource = of.Resource
		for _, scope := range of.ScopeSpans {
			c.spans = append(c.spans, scope.Spans...)
		}
	}
	return nil
}

// Lookup finds the variables that send everything to the collector.
func (c *Collector) Lookup(name string) (string, bool) {
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		return c.URL, true
	}
	return "", false
}

// Spans returns the spans in the order of their ends.
func (c *Collector) Spans() []*spans.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans
}

// Span returns the only span with a name. The test fails unless there is exactly one.
func (c *Collector) Span(t testing.TB, name string) *spans.Span {
	t.Helper()
	var found []*spans.Span
	var names []string
	for _, s := range c.Spans() {
		names = append(names, s.Name)
		if s.Name == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans %q among %q, want one", len(found), name, names)
	}
	return found[0]
}

// Histogram returns the only point of a histogram, and the metric.
func (c *Collector) Histogram(t testing.TB, name string) (*metrics.HistogramDataPoint, *metrics.Metric) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.metrics {
		if m.Name == name {
			if points := m.GetHistogram().GetDataPoints(); len(points) == 1 {
				return points[0], m
			}
			t.Fatalf("the histogram %s has the points %v, want one", name, m.GetHistogram())
		}
	}
	t.Fatalf("no histogram %s among %v", name, c.metrics)
	return nil, nil
}

// Resource returns the attributes of the sender, and the headers of its last request.
func (c *Collector) Resource() (map[string]any, http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Attributes(c.resource.GetAttributes()), c.headers
}

// Attributes returns attributes by name: a string, bool, int64 or float64 each.
func Attributes(list []*common.KeyValue) map[string]any {
	out := map[string]any{}
	for _, kv := range list {
		switch v := kv.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			out[kv.Key] = v.StringValue
		case *common.AnyValue_BoolValue:
			out[kv.Key] = v.BoolValue
		case *common.AnyValue_IntValue:
			out[kv.Key] = v.IntValue
		case *common.AnyValue_DoubleValue:
			out[kv.Key] = v.DoubleValue
		default:
			out[kv.Key] = kv.Value.String()
		}
	}
	return out
}
