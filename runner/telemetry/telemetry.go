// Package telemetry sends OpenTelemetry traces and metrics by OTLP over HTTP: a span for each run, below it one for each request to a
// server, and one for each request that mcprun serve answers, with the histograms of the semantic conventions for MCP
// (https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/, in development; the names are those of version 1.41.0).
//
// [New] returns nil unless a variable names an endpoint. The methods of a nil *Telemetry, and of what they return, do nothing.
//
// Spans and metrics name tools and servers, nothing else of a call: no arguments, no results, no scripts, no customers.
//
// Settings come from [Options.Lookup], which wins. OpenTelemetry's own packages also read the environment of the process, for what this
// package does not set: the batches of spans (OTEL_BSP_*), the limits of spans (OTEL_SPAN_*, OTEL_ATTRIBUTE_*), the interval of metrics
// (OTEL_METRIC_EXPORT_*) and their temporality. Those variables have no effect in Lookup alone.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/mcpconv"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// closeTime bounds how long [Telemetry.Close] waits for the endpoint.
const closeTime = time.Second

// scope is the name of the instrumentation.
const scope = "github.com/mcpgen/mcpgen/runner/telemetry"

// Options configure a Telemetry.
type Options struct {
	// Lookup finds the standard variables, OTEL_*. Nil knows none.
	Lookup func(name string) (string, bool)
	// Version is the program's version.
	Version string
	// Failed is called once, with the first reason why something could not be sent. It may be called by another goroutine, and after
	// Close. Nil drops it.
	Failed func(error)
}

// Telemetry records spans and metrics and sends them in the background. It is safe for concurrent use. Nil records nothing.
type Telemetry struct {
	tracer trace.Tracer

	clientOperation mcpconv.ClientOperationDuration
	serverOperation mcpconv.ServerOperationDuration
	clientSession   mcpconv.ClientSessionDuration
	serverSession   mcpconv.ServerSessionDuration
	runs            metric.Float64Histogram

	failed func(error)
	ends   []end
}

// end sends what one signal has left, and ends it.
type end struct {
	to   *endpoint
	shut func(context.Context) error
}

// New returns nil without an error if no variable names an endpoint, or if telemetry is disabled. It connects to nothing yet. The error
// names the variable that is wrong.
func New(opt Options) (*Telemetry, error) {
	if opt.Lookup == nil {
		return nil, nil
	}
	set, err := read(opt.Lookup)
	if err != nil || set == nil {
		return nil, err
	}
	t := &Telemetry{failed: func(error) {}}
	if opt.Failed != nil {
		var once sync.Once
		t.failed = func(err error) { once.Do(func() { opt.Failed(fmt.Errorf("telemetry is not sent: %w", err)) }) }
	}
	about, err := set.resource(opt.Version)
	if err != nil {
		return nil, err
	}
	t.tracer = tracenoop.Tracer{}
	if set.traces != nil {
		exporter, err := t.spans(set.traces)
		if err != nil {
			return nil, err
		}
		with := []sdktrace.TracerProviderOption{sdktrace.WithBatcher(exporter), sdktrace.WithResource(about)}
		if set.sampler != nil {
			with = append(with, sdktrace.WithSampler(set.sampler))
		}
		provider := sdktrace.NewTracerProvider(with...)
		t.tracer = provider.Tracer(scope, trace.WithInstrumentationVersion(opt.Version), trace.WithSchemaURL(semconv.SchemaURL))
		t.ends = append(t.ends, end{set.traces, provider.Shutdown})
	}
	var meter metric.Meter
	if set.metrics != nil {
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(t.points(set.metrics))), sdkmetric.WithResource(about))
		meter = provider.Meter(scope, metric.WithInstrumentationVersion(opt.Version), metric.WithSchemaURL(semconv.SchemaURL))
		t.ends = append(t.ends, end{set.metrics, provider.Shutdown})
	}
	return t, t.instruments(meter)
}

// bounds are the buckets that the conventions recommend for all durations of MCP, in seconds.
func bounds() metric.HistogramOption {
	return metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
}

// instruments creates the histograms. A nil meter records nothing.
func (t *Telemetry) instruments(meter metric.Meter) error {
	var errs [5]error
	t.clientOperation, errs[0] = mcpconv.NewClientOperationDuration(meter, bounds())
	t.serverOperation, errs[1] = mcpconv.NewServerOperationDuration(meter, bounds())
	t.clientSession, errs[2] = mcpconv.NewClientSessionDuration(meter, bounds())
	t.serverSession, errs[3] = mcpconv.NewServerSessionDuration(meter, bounds())
	if meter != nil {
		t.runs, errs[4] = meter.Float64Histogram(RunDuration, bounds(), metric.WithUnit("s"),
			metric.WithDescription("The duration of one run of a script, from the check before it until nothing of it is left."))
	}
	return errors.Join(errs[:]...)
}

// Close sends what was recorded, for at most a second. What cannot be sent by then is lost, and [Options.Failed] says so.
func (t *Telemetry) Close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	var all sync.WaitGroup
	for _, end := range t.ends {
		all.Go(func() {
			ended := make(chan error, 1)
			go func() { ended <- end.shut(ctx) }()
			var err error
			select {
			case err = <-ended:
			case <-ctx.Done():
				err = ctx.Err()
			}
			if err != nil && ctx.Err() != nil {
				err = fmt.Errorf("no answer within %v", closeTime)
			}
			t.named(end.to)(err)
		})
	}
	all.Wait()
}
