package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// Names of what describes runs, for which there are no conventions.
const (
	// RunSpan is the name of a run's span.
	RunSpan = "mcprun.run"
	// RunDuration is the histogram of the durations of runs, in seconds.
	RunDuration = "mcprun.run.duration"
	// RunEvent is the event at the end of a run's span, with its risk, success and duration.
	RunEvent = "code_execution"

	RunRiskKey     = attribute.Key("mcprun.run.risk")
	RunSuccessKey  = attribute.Key("mcprun.run.success")
	RunSecondsKey  = attribute.Key("mcprun.run.duration") // seconds
	RunLanguageKey = attribute.Key("mcprun.run.language")
	RunSandboxKey  = attribute.Key("mcprun.run.sandbox") // absent if the script did not start
	RunCallsKey    = attribute.Key("mcprun.run.calls")
	RunCachedKey   = attribute.Key("mcprun.run.cached") // absent if the cache has answered no call
)

// RunOutcome is how a run ended.
type RunOutcome struct {
	Language, Sandbox, Risk string
	// Calls counts the tool calls.
	Calls int
	// Cached counts those that the cache has answered.
	Cached int
	// Error is the class of the failure, such as the cause of the run's end. Empty: it succeeded.
	Error string
}

// Run is a run in progress. Nil records nothing.
type Run struct {
	t     *Telemetry
	ctx   context.Context
	span  trace.Span
	began time.Time
}

// Run begins a run. The requests that are made with the returned context are below its span.
func (t *Telemetry) Run(ctx context.Context) (context.Context, *Run) {
	if t == nil {
		return ctx, nil
	}
	r := &Run{t: t, began: time.Now()}
	r.ctx, r.span = t.tracer.Start(ctx, RunSpan, trace.WithTimestamp(r.began))
	return r.ctx, r
}

// End ends the run.
func (r *Run) End(o RunOutcome) {
	if r == nil {
		return
	}
	took := time.Since(r.began)
	about := []attribute.KeyValue{RunLanguageKey.String(o.Language), RunRiskKey.String(o.Risk)}
	if o.Sandbox != "" {
		about = append(about, RunSandboxKey.String(o.Sandbox))
	}
	if o.Error != "" {
		about = append(about, semconv.ErrorTypeKey.String(o.Error))
		r.span.SetStatus(codes.Error, "")
	}
	if o.Cached > 0 {
		r.span.SetAttributes(RunCachedKey.Int(o.Cached))
	}
	if r.span.IsRecording() {
		r.span.SetAttributes(append(about[:len(about):len(about)], RunSuccessKey.Bool(o.Error == ""), RunCallsKey.Int(o.Calls))...)
		r.span.AddEvent(RunEvent, trace.WithAttributes(RunRiskKey.String(o.Risk), RunSuccessKey.Bool(o.Error == ""), RunSecondsKey.Float64(took.Seconds())))
	}
	r.span.End(trace.WithTimestamp(r.began.Add(took)))
	if r.t.runs != nil {
		r.t.runs.Record(r.ctx, took.Seconds(), metric.WithAttributes(about...))
	}
}
