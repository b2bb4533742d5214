package telemetry

import (
	"context"
	"fmt"
	"net/url"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// spanExporter reports failures itself; OpenTelemetry would print each to standard error.
type spanExporter struct {
	sdktrace.SpanExporter
	failed func(error)
}

// ExportSpans implements [sdktrace.SpanExporter].
func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.failed(e.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

// pointExporter does the same for metrics.
type pointExporter struct {
	sdkmetric.Exporter
	failed func(error)
}

// Export implements [sdkmetric.Exporter].
func (e pointExporter) Export(ctx context.Context, points *metricdata.ResourceMetrics) error {
	e.failed(e.Exporter.Export(ctx, points))
	return nil
}

// spans returns the exporter of spans.
func (t *Telemetry) spans(to *endpoint) (sdktrace.SpanExporter, error) {
	with := []otlptracehttp.Option{otlptracehttp.WithEndpointURL(to.url), otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf), otlptracehttp.WithTimeout(to.timeout)}
	if to.headers != nil {
		with = append(with, otlptracehttp.WithHeaders(to.headers))
	}
	if to.gzip {
		with = append(with, otlptracehttp.WithCompression(otlptracehttp.GzipCompression))
	}
	if to.tls != nil {
		with = append(with, otlptracehttp.WithTLSClientConfig(to.tls))
	}
	exporter, err := otlptracehttp.New(context.Background(), with...)
	return spanExporter{exporter, t.named(to)}, err
}

// points returns the exporter of metrics.
func (t *Telemetry) points(to *endpoint) (sdkmetric.Exporter, error) {
	with := []otlpmetrichttp.Option{otlpmetrichttp.WithEndpointURL(to.url), otlpmetrichttp.WithTimeout(to.timeout)}
	if to.headers != nil {
		with = append(with, otlpmetrichttp.WithHeaders(to.headers))
	}
	if to.gzip {
		with = append(with, otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))
	}
	if to.tls != nil {
		with = append(with, otlpmetrichttp.WithTLSClientConfig(to.tls))
	}
	exporter, err := otlpmetrichttp.New(context.Background(), with...)
	return pointExporter{exporter, t.named(to)}, err
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
