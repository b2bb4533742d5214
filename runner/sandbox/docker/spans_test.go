package docker

import (
	"path/filepath"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestNoSpans checks that requests to the engine, which fail here, add no spans to that of a run.
func TestNoSpans(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	ctx, run := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("").Start(t.Context(), "run")
	b := New(Options{Host: "unix://" + filepath.Join(t.TempDir(), "engine.sock")})
	if s := b.Probe(ctx); s.Usable {
		t.Fatalf("Probe() = %+v, want no engine", s)
	}
	run.End()
	if ended := spans.Ended(); len(ended) != 1 {
		t.Errorf("%d spans, want only that of the run: %s", len(ended), ended[0].Name())
	}
}
