package hostile

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/python"
	"github.com/mcpgen/mcpgen/gen/render/typescript"
	"github.com/mcpgen/mcpgen/gen/schema"
)

// hostileTree generates the files of a hostile server.
func hostileTree(s *source, tools int) (*tree, []json.RawMessage, error) {
	b := &builder{source: s}
	title, instructions, key := s.text(), s.text(), s.name()
	definitions := b.server(tools)
	t, err := generate(key, title, instructions, definitions, b.names)
	return t, definitions, err
}

// FuzzTools builds servers of up to four tools from the fuzzer's bytes.
func FuzzTools(f *testing.F) {
	f.Add([]byte{})
	for i := range byte(40) {
		f.Add([]byte{i, 255 - i, i * 7, i * 31, i * 101, 3, i * 13, i * 17})
	}
	python := newPython(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newSource(data)
		made, definitions, err := hostileTree(s, 1+s.below(4))
		if err == nil {
			err = made.check()
		}
		if err == nil {
			err = made.compile()
		}
		if err == nil {
			err = python.check(made)
		}
		if err != nil {
			t.Errorf("%v\n%s", err, definitions)
		}
	})
}

// FuzzTexts puts the fuzzer's texts into every place that takes one.
func FuzzTexts(f *testing.F) {
	for _, p := range payloads {
		f.Add(p, "x")
		f.Add("x", p)
	}
	for _, n := range names {
		f.Add("a text", n)
	}
	python := newPython(f)
	f.Fuzz(func(t *testing.T, text, name string) {
		letters := strings.Map(func(r rune) rune {
			if r < 'a' || r > 'z' {
				return -1
			}
			return r
		}, strings.ToLower(name))
		if strings.Contains(letters, canary) {
			return // an identifier derived from it does not mean that text became code
		}
		q := func(s string) string { return numbered(0, 1).quoted(s) }
		d, n := q(text), q(name)
		ref := q("#/$defs/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
		definition := `{"name":` + n + `,"title":` + d + `,"description":` + d + `,"inputSchema":{"type":"object","title":` + d + `,"description":` + d +
			`,"properties":{` + n + `:{"type":"string","description":` + d + `,"default":` + d + `,"pattern":` + d + `,"format":` + d + `,"title":` + d + `},"zqxname":{"enum":[` + d + `,"x"],"description":` + d +
			`},"b":{"$ref":` + ref + `},"c":{"type":"array","items":{"const":` + d + `}},"d":{"type":"object","properties":{` + n + `:{"type":"integer","examples":[` + d + `]}}}},"required":[` + n + `],"$defs":{` + n +
			`:{"type":"object","description":` + d + `,"properties":{` + n + `:{"$ref":` + ref + `}}}}},"outputSchema":{"type":"object","properties":{` + n + `:{"description":` + d + `,"enum":[` + d + `,` + n + `]}}}}`
		made, err := generate(name, text, text, []json.RawMessage{json.RawMessage(definition)}, []string{name, "zqxname", "a", "b", "c", "d"})
		if err == nil {
			err = made.check()
		}
		if err == nil {
			err = made.compile()
		}
		if err == nil {
			err = python.check(made)
		}
		if err != nil {
			t.Errorf("%v\n%s", err, definition)
		}
	})
}

// FuzzTypes prints the declarations of one schema in both languages.
func FuzzTypes(f *testing.F) {
	for i := range byte(40) {
		f.Add([]byte{i, i * 3, 255 - i, i * 29})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := &builder{source: newSource(data)}
		raw := b.rootSchema()
		converted, _ := schema.Convert(json.RawMessage(raw))
		name := ident.Pascal(b.name())
		derived := (&tree{names: append(b.names, name)}).derived()
		for _, target := range []*render.Language{typescript.Language(), python.Language()} {
			src, err := target.Types(name, converted)
			if err != nil {
				continue // a name that is taken by the language
			}
			if err := verifyTypes(target.Name, src, converted); err != nil {
				t.Errorf("%v\n%s\n%s", err, src, raw)
			}
			if err := noTextIsCode("a"+target.Ext, string(src), derived); err != nil {
				t.Errorf("%v\n%s\n%s", err, src, raw)
			}
		}
	})
}

// maxHeap bounds the heap of [TestManyTools] in bytes. A server takes a few MiB while its files are generated and checked; none
// of that is kept.
const maxHeap = 1 << 30

// fuzzRun is one run of [TestManyTools].
type fuzzRun struct {
	seed           uint64
	servers, deep  int64 // the number of servers; every deep-th one is also read by Python and esbuild
	next           atomic.Int64
	tools, dropped atomic.Int64
	files, size    atomic.Int64
	deepFiles      atomic.Int64
	findings       atomic.Int64
	busy           sync.Map // numbers of the servers that are being generated and checked
}

// toolsPerServer is the number of tools of a hostile server of [TestManyTools].
const toolsPerServer = 25

// TestManyTools generates files for many hostile tools, 4,000 or MCPGEN_FUZZ_TOOLS of them. Each file is read by gen/verify
// and by the test's own checks; those of each MCPGEN_FUZZ_DEEP-th server also by esbuild and Python. MCPGEN_FUZZ_SEED
// selects other tools. A server that takes more than [maxHeap] of memory ends the test process, which names it.
func TestManyTools(t *testing.T) {
	tools := number(t, "MCPGEN_FUZZ_TOOLS", 4000)
	r := &fuzzRun{seed: uint64(number(t, "MCPGEN_FUZZ_SEED", 1)), deep: int64(number(t, "MCPGEN_FUZZ_DEEP", 10)),
		servers: int64((tools + toolsPerServer - 1) / toolsPerServer)}
	start := time.Now()
	done := make(chan struct{})
	defer close(done)
	go r.watchMemory(done)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		python := newPython(t)
		workers.Go(func() {
			for i := r.next.Add(1); i <= r.servers && r.findings.Load() < 20; i = r.next.Add(1) {
				if err := r.server(i, python); err != nil {
					r.findings.Add(1)
					t.Errorf("MCPGEN_FUZZ_SEED=%d, server %d: %s", r.seed, i, clip(err.Error()))
				}
				if i%(r.servers/20+1) == 0 && tools > 20_000 {
					fmt.Fprintf(os.Stderr, "%d of %d servers after %s\n", i, r.servers, time.Since(start).Round(time.Second))
				}
			}
		})
	}
	workers.Wait()
	t.Logf("%d tools generated and %d dropped, of %d, in %s: %d files, %d MiB; %d files also read by esbuild and Python; %d findings", r.tools.Load(), r.dropped.Load(),
		r.servers*toolsPerServer, time.Since(start).Round(time.Second), r.files.Load(), r.size.Load()>>20, r.deepFiles.Load(), r.findings.Load())
	if r.tools.Load() < int64(tools)/4 && r.findings.Load() == 0 {
		t.Errorf("files were generated for %d of %d tools, want at least a quarter", r.tools.Load(), tools)
	}
}

// server generates and checks the files of the server with that number.
func (r *fuzzRun) server(i int64, python *pythonReader) error {
	r.busy.Store(i, true)
	defer r.busy.Delete(i)
	made, _, err := hostileTree(numbered(r.seed, uint64(i)), toolsPerServer)
	if err == nil {
		err = made.check()
	}
	if err == nil && i%r.deep == 0 {
		r.deepFiles.Add(int64(len(made.files)))
		if err = made.compile(); err == nil {
			err = python.check(made)
		}
	}
	if err != nil {
		return err
	}
	r.tools.Add(int64(made.received))
	r.dropped.Add(int64(toolsPerServer - made.received))
	r.files.Add(int64(len(made.files)))
	for _, f := range made.files {
		r.size.Add(int64(len(f)))
	}
	return nil
}

// watchMemory ends the process when its heap exceeds [maxHeap], before the machine runs out of memory.
func (r *fuzzRun) watchMemory(done <-chan struct{}) {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for {
		select {
		case <-done:
			return
		case <-time.After(50 * time.Millisecond):
		}
		if metrics.Read(heap); heap[0].Value.Uint64() > maxHeap {
			var busy []any
			r.busy.Range(func(i, _ any) bool {
				busy = append(busy, i)
				return true
			})
			panic(fmt.Sprintf("MCPGEN_FUZZ_SEED=%d: one of the servers %v takes more than %d MiB of memory", r.seed, busy, maxHeap>>20))
		}
	}
}

func clip(s string) string {
	const longest = 6000
	return s[:min(len(s), longest)]
}

// number returns the number in an environment variable, or otherwise if it is not set.
func number(t testing.TB, variable string, otherwise int) int {
	t.Helper()
	s := os.Getenv(variable)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, not a number above 0, want at least 1 and no error", variable, s)
	}
	return n
}
