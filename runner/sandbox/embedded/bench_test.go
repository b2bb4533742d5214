package embedded

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/testhost"
	"github.com/mcpgen/mcpgen/runner/script"
)

// firstWrite records when a script's output begins.
type firstWrite struct {
	text bytes.Buffer // not embedded, because its ReadFrom would be used in place of Write
	at   time.Time
}

func (w *firstWrite) Write(p []byte) (int, error) {
	if w.at.IsZero() {
		w.at = time.Now()
	}
	return w.text.Write(p)
}

// BenchmarkCold measures the time from TypeScript source to the first line of its output: bundling, start and run.
func BenchmarkCold(b *testing.B) { benchmarkFirstLine(b, false) }

// BenchmarkWarm measures the same with a waiting guest.
func BenchmarkWarm(b *testing.B) { benchmarkFirstLine(b, true) }

func benchmarkFirstLine(b *testing.B, warm bool) {
	for _, unjailed := range []bool{false, true} {
		b.Run(fmt.Sprintf("unjailed=%v", unjailed), func(b *testing.B) {
			k := kind{New(&Options{unjailed: unjailed, RuntimeDir: privateDir(b)}), warm}
			workspace := b.TempDir()
			var prepare, start, line time.Duration
			for b.Loop() {
				var out firstWrite
				spec := sandbox.Spec{ID: "bench", Runtime: sandbox.QuickJS, Secret: "s", Workspace: workspace, Stdout: &out}
				idle, err := k.prepare(b.Context(), spec)
				if err != nil {
					b.Fatal(err)
				}
				begin := time.Now()
				job, err := script.Read(b.Context(), script.Source{Name: "script.ts", Language: sandbox.LangTypeScript,
					Code: "const n: number = 1; console.log('hello', n);"}, script.Options{})
				if err != nil {
					b.Fatal(err)
				}
				prepared := time.Now()
				p, err := idle(b.Context(), spec)
				if err != nil {
					b.Fatal(err)
				}
				started := time.Now()
				conn, err := p.Bridge(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				if _, err := (testhost.Host{Secret: "s"}).Serve(conn, job.Code); err != nil {
					b.Fatal(err)
				}
				if exit, err := p.Wait(); err != nil || exit.Code != 0 || out.text.String() != "hello 1\n" {
					b.Fatalf("%+v %v %q", exit, err, out.text.String())
				}
				prepare += prepared.Sub(begin)
				start += started.Sub(prepared)
				line += out.at.Sub(begin)
			}
			b.ReportMetric(float64(prepare.Microseconds())/float64(b.N)/1e3, "ms-bundle")
			b.ReportMetric(float64(start.Microseconds())/float64(b.N)/1e3, "ms-start")
			b.ReportMetric(float64(line.Microseconds())/float64(b.N)/1e3, "ms-to-first-line")
		})
	}
}

// inside runs a script that prints one number per line, "name value", and reports them as metrics.
func inside(b *testing.B, h testhost.Host, code string) {
	backend := New(&Options{RuntimeDir: privateDir(b)})
	sums, n := map[string]float64{}, 0
	for b.Loop() {
		got := execute(b, backend, sandbox.Spec{}, h, code)
		if got.Code != 0 {
			b.Fatalf("%+v: got %v, want 0\n%s", got.Exit, got.Code, got.stderr)
		}
		n++
		for line := range strings.Lines(got.stdout) {
			var name string
			var value float64
			if _, err := fmt.Sscan(line, &name, &value); err != nil {
				b.Fatalf("%q: %v", line, err)
			}
			sums[name] += value
		}
	}
	for name, sum := range sums {
		b.ReportMetric(sum/float64(n), name)
	}
}

// BenchmarkCall measures one call and its answer, as the script sees it.
func BenchmarkCall(b *testing.B) {
	inside(b, testhost.Host{}, `
		const call = globalThis[Symbol.for("mcprun.transport")].call;
		for (let i = 0; i < 100; i++) await call("a__b", {});
		const times = [];
		for (let i = 0; i < 1000; i++) { const t = performance.now(); await call("a__b", { text: "hello", n: i }); times.push(performance.now() - t); }
		times.sort((a, b) => a - b);
		console.log("µs-p50", times[500] * 1000);
		console.log("µs-p95", times[950] * 1000);
	`)
}

// BenchmarkParallel measures 20 calls at once that take 100 ms each.
func BenchmarkParallel(b *testing.B) {
	inside(b, testhost.Host{Delay: 100 * time.Millisecond}, `
		const call = globalThis[Symbol.for("mcprun.transport")].call;
		const t = performance.now();
		await Promise.all(Array.from({ length: 20 }, (_, i) => call("a__b", { i })));
		console.log("ms-20x100", performance.now() - t);
	`)
}

// BenchmarkJSON parses and writes 5 MB.
func BenchmarkJSON(b *testing.B) {
	inside(b, testhost.Host{}, `
		const rows = Array.from({ length: 40000 }, (_, i) => ({ id: i, name: "customer " + i, mail: "c" + i + "@example.com", balance: i * 1.25, tags: ["a", "b"], active: i % 2 === 0 }));
		let t = performance.now();
		const text = JSON.stringify(rows);
		console.log("ms-stringify", performance.now() - t);
		t = performance.now();
		const back = JSON.parse(text);
		console.log("ms-parse", performance.now() - t);
		console.log("MB", text.length / 1e6);
		const call = globalThis[Symbol.for("mcprun.transport")].call;
		t = performance.now();
		await call("a__b", { rows });
		console.log("ms-call-with-5MB", performance.now() - t);
	`)
}
