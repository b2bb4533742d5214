package telemetry

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// points sends histograms, which are all the metrics that this package has. It implements [sdkmetric.Exporter].
type points struct{ *sender }

// points returns the exporter of metrics.
func (t *Telemetry) points(to *endpoint) sdkmetric.Exporter { return points{t.newSender(to)} }

// Temporality implements [sdkmetric.Exporter].
func (points) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

// Aggregation implements [sdkmetric.Exporter].
func (points) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

// ForceFlush implements [sdkmetric.Exporter].
func (points) ForceFlush(context.Context) error { return nil }

// Shutdown implements [sdkmetric.Exporter].
func (p points) Shutdown(context.Context) error {
	p.client.CloseIdleConnections()
	return nil
}

// Export implements [sdkmetric.Exporter].
func (p points) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	message, err := metricsOf(all)
	if err == nil {
		err = p.send(ctx, message)
	}
	return p.report(err)
}

func metricsOf(all *metricdata.ResourceMetrics) (*metricspb.MetricsData, error) {
	out := &metricspb.ResourceMetrics{Resource: &resourcepb.Resource{Attributes: attributesOf(all.Resource.Iter())}, SchemaUrl: all.Resource.SchemaURL()}
	for _, scope := range all.ScopeMetrics {
		to := &metricspb.ScopeMetrics{Scope: &commonpb.InstrumentationScope{Name: scope.Scope.Name, Version: scope.Scope.Version}, SchemaUrl: scope.Scope.SchemaURL}
		for _, m := range scope.Metrics {
			h, ok := m.Data.(metricdata.Histogram[float64])
			if !ok {
				return nil, fmt.Errorf("the metric %s is no histogram", m.Name)
			}
			to.Metrics = append(to.Metrics, &metricspb.Metric{Name: m.Name, Description: m.Description, Unit: m.Unit, Data: &metricspb.Metric_Histogram{Histogram: histogramOf(h)}})
		}
		out.ScopeMetrics = append(out.ScopeMetrics, to)
	}
	return &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{out}}, nil // encoded as the request's message is
}

func histogramOf(h metricdata.Histogram[float64]) *metricspb.Histogram {
	out := &metricspb.Histogram{AggregationTemporality: metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}
	if h.Temporality == metricdata.DeltaTemporality {
		out.AggregationTemporality = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	}
	for _, p := range h.DataPoints {
		point := &metricspb.HistogramDataPoint{
			Attributes: attributesOf(p.Attributes.Iter()), StartTimeUnixNano: nanoseconds(p.StartTime), TimeUnixNano: nanoseconds(p.Time),
			Count: p.Count, Sum: &p.Sum, BucketCounts: p.BucketCounts, ExplicitBounds: p.Bounds,
		}
		if least, ok := p.Min.Value(); ok {
			point.Min = &least
		}
		if most, ok := p.Max.Value(); ok {
			point.Max = &most
		}
		out.DataPoints = append(out.DataPoints, point)
	}
	return out
}

func nanoseconds(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func attributesOf(all attribute.Iterator) (out []*commonpb.KeyValue) {
	for all.Next() {
		kv := all.Attribute()
		value := &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: kv.Value.String()}}
		switch kv.Value.Type() {
		case attribute.BOOL:
			value.Value = &commonpb.AnyValue_BoolValue{BoolValue: kv.Value.AsBool()}
		case attribute.INT64:
			value.Value = &commonpb.AnyValue_IntValue{IntValue: kv.Value.AsInt64()}
		case attribute.FLOAT64:
			value.Value = &commonpb.AnyValue_DoubleValue{DoubleValue: kv.Value.AsFloat64()}
		}
		out = append(out, &commonpb.KeyValue{Key: string(kv.Key), Value: value})
	}
	return out
}
