package telemetry

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// defaultTimeout bounds one request to an endpoint
// (https://opentelemetry.io/docs/specs/otel/protocol/exporter/).
const defaultTimeout = 10 * time.Second

// settings are what the variables say.
type settings struct {
	traces, metrics *endpoint        // nil: none
	sampler         sdktrace.Sampler // nil: the SDK's default
	attributes      []attribute.KeyValue
}

// endpoint is where one signal is sent.
type endpoint struct {
	url     string
	headers map[string]string // nil: none
	timeout time.Duration
	gzip    bool
	tls     *tls.Config // nil: the system's
}

// lookup returns the value of a variable. One that is empty counts as not set.
type lookup func(name string) (string, bool)

func (l lookup) get(name string) string {
	value, _ := l(name)
	return strings.TrimSpace(value)
}

// of returns the variable of a signal, or else the one of all signals, with its name.
func (l lookup) of(signal, name string) (from, value string) {
	from = "OTEL_EXPORTER_OTLP_" + signal + "_" + name
	if value = l.get(from); value != "" {
		return from, value
	}
	from = "OTEL_EXPORTER_OTLP_" + name
	return from, l.get(from)
}

// Variables returns the names of the variables that [New] looks up.
func Variables() []string {
	out := []string{"OTEL_SDK_DISABLED", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG", "OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER"}
	for _, signal := range []string{"", "TRACES_", "METRICS_"} {
		for _, name := range []string{"ENDPOINT", "PROTOCOL", "HEADERS", "TIMEOUT", "COMPRESSION", "CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
			out = append(out, "OTEL_EXPORTER_OTLP_"+signal+name)
		}
	}
	return out
}

// read returns what the variables say, or nil if nothing is to be sent.
func read(from lookup) (*settings, error) {
	if strings.EqualFold(from.get("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	set := &settings{}
	var err error
	if set.traces, err = from.endpoint("TRACES", "v1/traces"); err != nil {
		return nil, err
	}
	if set.metrics, err = from.endpoint("METRICS", "v1/metrics"); err != nil {
		return nil, err
	}
	if set.traces == nil && set.metrics == nil {
		return nil, nil
	}
	if set.sampler, err = from.sampler(); err != nil {
		return nil, err
	}
	const attributes = "OTEL_RESOURCE_ATTRIBUTES"
	pairs, err := pairsOf(attributes, from.get(attributes))
	if err != nil {
		return nil, err
	}
	pairs["service.name"] = cmp.Or(from.get("OTEL_SERVICE_NAME"), pairs["service.name"], "mcprun")
	for name, value := range pairs {
		set.attributes = append(set.attributes, attribute.String(name, value))
	}
	return set, nil
}

// endpoint returns where a signal is sent; path follows the address of all signals.
func (l lookup) endpoint(signal, path string) (*endpoint, error) {
	name, address := l.of(signal, "ENDPOINT")
	if address == "" {
		return nil, nil
	}
	exporter := "OTEL_" + signal + "_EXPORTER"
	switch value := l.get(exporter); value {
	case "", "otlp":
	case "none":
		return nil, nil
	default:
		return nil, fmt.Errorf("%s is %q; mcprun knows otlp and none", exporter, value)
	}
	if name, protocol := l.of(signal, "PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("%s is %q; mcprun sends http/protobuf only: set it to that, and the endpoint to the collector's port for HTTP, usually 4318", name, protocol)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s is not an http or https address; write it as http://host:4318", name)
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		u = u.JoinPath(path)
	}
	out := &endpoint{url: u.String(), timeout: defaultTimeout}
	if name, text := l.of(signal, "HEADERS"); text != "" {
		if out.headers, err = pairsOf(name, text); err != nil {
			return nil, err
		}
	}
	if name, text := l.of(signal, "TIMEOUT"); text != "" {
		ms, err := strconv.ParseUint(text, 10, 31)
		if err != nil || ms == 0 {
			return nil, fmt.Errorf("%s is not a number of milliseconds", name)
		}
		out.timeout = time.Duration(ms) * time.Millisecond
	}
	switch name, text := l.of(signal, "COMPRESSION"); text {
	case "", "none":
	case "gzip":
		out.gzip = true
	default:
		return nil, fmt.Errorf("%s is %q; mcprun knows gzip and none", name, text)
	}
	out.tls, err = l.certificates(signal)
	return out, err
}

// certificates returns nil if no variable names a file.
func (l lookup) certificates(signal string) (*tls.Config, error) {
	rootName, root := l.of(signal, "CERTIFICATE")
	certName, cert := l.of(signal, "CLIENT_CERTIFICATE")
	_, key := l.of(signal, "CLIENT_KEY")
	if root == "" && cert == "" {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if root != "" {
		text, err := os.ReadFile(root)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rootName, err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: the file %q has no certificate in PEM", rootName, root)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("%s, with its CLIENT_KEY: %w", certName, err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// sampler returns what OTEL_TRACES_SAMPLER names, or nil if it is not set.
func (l lookup) sampler() (sdktrace.Sampler, error) {
	name := l.get("OTEL_TRACES_SAMPLER")
	ratio := 1.0
	if arg := l.get("OTEL_TRACES_SAMPLER_ARG"); strings.HasSuffix(name, "traceidratio") && arg != "" {
		var err error
		if ratio, err = strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			return nil, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %q; write a number from 0 to 1", arg)
		}
	}
	base, parent := strings.CutPrefix(name, "parentbased_")
	var out sdktrace.Sampler
	switch base {
	case "":
		return nil, nil
	case "always_on":
		out = sdktrace.AlwaysSample()
	case "always_off":
		out = sdktrace.NeverSample()
	case "traceidratio":
		out = sdktrace.TraceIDRatioBased(ratio)
	default:
		return nil, fmt.Errorf("OTEL_TRACES_SAMPLER is %q; mcprun knows always_on, always_off and traceidratio, also after parentbased_", name)
	}
	if parent {
		out = sdktrace.ParentBased(out)
	}
	return out, nil
}

// pairsOf reads a list such as a=1,b=2, whose values are percent-encoded (W3C Baggage). It does not quote it, since headers are secrets.
func pairsOf(name, text string) (map[string]string, error) {
	out := map[string]string{}
	for i, item := range strings.Split(text, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		key, value, found := strings.Cut(item, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if key = strings.TrimSpace(key); !found || key == "" || err != nil {
			return nil, fmt.Errorf("item %d of %s is not NAME=value, with other characters in the value as %%2C", i+1, name)
		}
		out[key] = decoded
	}
	return out, nil
}

// resource describes this program.
func (s *settings) resource(version string) (*resource.Resource, error) {
	about := append([]attribute.KeyValue{semconv.ServiceVersion(version)}, s.attributes...)
	return resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(about...))
}
