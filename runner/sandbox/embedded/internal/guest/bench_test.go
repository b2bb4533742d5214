package guest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/testhost"
)

// BenchmarkCall measures the cost of a call in the guest and in the test's host, in one process: without a socket or another process.
func BenchmarkCall(b *testing.B) {
	r := runWith(b, call+fmt.Sprintf(`
		for (let i = 0; i < 100; i++) await call("a__b", {});
		const t = performance.now();
		for (let i = 0; i < %d; i++) await call("a__b", { text: "hello", n: i });
		console.log((performance.now() - t) * 1e3 / %[1]d);
	`, b.N), testhost.Host{}, Options{})
	var each float64
	if _, err := fmt.Sscan(strings.TrimSpace(r.stdout), &each); err != nil {
		b.Fatal(err, r.stderr)
	}
	b.ReportMetric(each, "µs/call")
}

// BenchmarkArguments measures a call with 5 MB of objects.
func BenchmarkArguments(b *testing.B) {
	r := runWith(b, call+fmt.Sprintf(`
		const rows = Array.from({ length: 40000 }, (_, i) => ({ id: i, name: "customer " + i, mail: "c" + i + "@example.com", balance: i * 1.25, tags: ["a", "b"], active: i %% 2 === 0 }));
		const t = performance.now();
		for (let i = 0; i < %d; i++) await call("a__b", { rows });
		console.log((performance.now() - t) / %[1]d);
	`, b.N), testhost.Host{}, Options{Memory: 500 << 20})
	var each float64
	if _, err := fmt.Sscan(strings.TrimSpace(r.stdout), &each); err != nil {
		b.Fatal(err, r.stderr)
	}
	b.ReportMetric(each, "ms/call")
}
