package hostile

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/schema"
	"github.com/mcpgen/mcpgen/gen/verify"
)

// hostileTree has a hostile server made into files.
func hostileTree(s *source, tools int) (*tree, []json.RawMessage, error) {
	b := &builder{source: s}
	title, instructions, key := s.text(), s.text(), s.name()
	definitions := b.server(tools)
	t, err := generate(key, title, instructions, definitions, b.names)
	return t, definitions, err
}

// FuzzTools builds servers of up to four tools out of the fuzzer's bytes.
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

// FuzzTexts puts the fuzzer's own texts into every place that holds one.
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
			return // an identifier made of it is no sign of text that became code
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

// FuzzTypes has the declarations of one schema printed, in both languages.
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
		for _, target := range []render.Target{render.TypeScript(), render.Python()} {
			src, err := target.Types(name, converted)
			if err != nil {
				continue // a name that is taken by the language
			}
			file := "a.ts"
			read := verify.TypeScript
			if target.Name() == "python" {
				file, read = "a.py", verify.Python
			}
			if err := read(src); err != nil {
				t.Errorf("%v\n%s\n%s", err, src, raw)
			}
			if err := noTextIsCode(file, string(src), derived); err != nil {
				t.Errorf("%v\n%s\n%s", err, src, raw)
			}
		}
	})
}

// TestManyTools makes files of many hostile tools: MCPGEN_FUZZ_TOOLS of them, or a number that takes a moment. Each
// file is read by gen/verify and by the test's own reading; each MCPGEN_FUZZ_DEEP-th server also by esbuild and Python.
func TestManyTools(t *testing.T) {
	const perServer = 25
	total, deep := number(t, "MCPGEN_FUZZ_TOOLS", 4000), number(t, "MCPGEN_FUZZ_DEEP", 10)
	seed := uint64(number(t, "MCPGEN_FUZZ_SEED", 1))
	servers := (total + perServer - 1) / perServer
	var next, tools, files, size, odd, deepFiles, findings atomic.Int64
	start := time.Now()
	progress := func(word string) {
		t.Logf("%s: %d of %d tools in %s, %d of them odd enough to be left out; %d files, %d MiB; %d files read by esbuild and Python too; %d findings", word, tools.Load()+odd.Load(), servers*perServer,
			time.Since(start).Round(time.Second), odd.Load(), files.Load(), size.Load()>>20, deepFiles.Load(), findings.Load())
	}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		python := newPython(t)
		workers.Go(func() {
			for i := next.Add(1); i <= int64(servers) && findings.Load() < 20; i = next.Add(1) {
				made, definitions, err := hostileTree(numbered(seed, uint64(i)), perServer)
				if err == nil {
					err = made.check()
				}
				if err == nil && i%int64(deep) == 0 {
					err = made.compile()
					if err == nil {
						err = python.check(made)
					}
					deepFiles.Add(int64(len(made.files)))
				}
				if err != nil {
					findings.Add(1)
					t.Errorf("MCPGEN_FUZZ_SEED=%d, server %d: %s", seed, i, clip(err.Error()))
					_ = definitions
					continue
				}
				tools.Add(int64(made.received))
				odd.Add(int64(perServer - made.received))
				files.Add(int64(len(made.files)))
				for _, f := range made.files {
					size.Add(int64(len(f)))
				}
				if i%(int64(servers)/20+1) == 0 && total > 20_000 {
					fmt.Fprintf(os.Stderr, "%d of %d tools after %s\n", tools.Load()+odd.Load(), servers*perServer, time.Since(start).Round(time.Second))
				}
			}
		})
	}
	workers.Wait()
	progress("done")
	if tools.Load() < int64(total)/4 && findings.Load() == 0 {
		t.Errorf("only %d of %d tools came so far that files were made", tools.Load(), total)
	}
}

func clip(s string) string {
	const longest = 6000
	return s[:min(len(s), longest)]
}

func number(t testing.TB, variable string, otherwise int) int {
	t.Helper()
	s := os.Getenv(variable)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, not a number above 0", variable, s)
	}
	return n
}
