package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// Names of what publishes a head of the record.
const (
	// HeadSpan is the name of its span, which has no parent.
	HeadSpan = "mcprun.audit"
	// HeadEvent is the event in it.
	HeadEvent = "audit_head"
	// HeadKey has the signed head, a C2SP checkpoint.
	HeadKey = attribute.Key("mcprun.audit.head")
)

// PublishHead sends a signed head of the record in the background. It fails if no traces are sent. A sampler may leave the head out.
func (t *Telemetry) PublishHead(_ context.Context, head []byte) error {
	if t == nil {
		return errNoTraces
	}
	if _, off := t.tracer.(tracenoop.Tracer); off {
		return errNoTraces
	}
	_, span := t.tracer.Start(context.Background(), HeadSpan)
	span.AddEvent(HeadEvent, trace.WithAttributes(HeadKey.String(string(head))))
	span.End()
	return nil
}

var errNoTraces = errors.New("no traces are sent: name an endpoint with OTEL_EXPORTER_OTLP_ENDPOINT, or remove audit.head.telemetry")
