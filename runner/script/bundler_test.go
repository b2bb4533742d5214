package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func TestMain(m *testing.M) {
	Child()
	os.Exit(m.Run())
}

// newBundler returns a Bundler that is closed at the end of the test.
func newBundler(t testing.TB, opt *BundlerOptions) *Bundler {
	t.Helper()
	b := NewBundler(opt)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// get bundles a small script.
func (b *Bundler) get(t testing.TB, code string) {
	t.Helper()
	if _, err := b.Read(t.Context(), typescript(code, ""), Options{}); err != nil {
		t.Fatal(err)
	}
}

func typescript(code, dir string) Source {
	return Source{Name: "script.ts", Code: code, Language: sandbox.LangTypeScript, Dir: dir}
}

// doubling is an enum whose last member would be 2^times characters long.
func doubling(times int) string {
	var b strings.Builder
	b.WriteString("enum Big {\n  m0 = 'x',\n")
	for i := range times {
		fmt.Fprintf(&b, "  m%d = m%d + m%d,\n", i+1, i, i)
	}
	fmt.Fprintf(&b, "}\nconsole.log(Big.m%d);\n", times)
	return b.String()
}

// around nests a text.
func around(open, inner, end string, levels int) string {
	return strings.Repeat(open, levels) + inner + strings.Repeat(end, levels)
}

// TestBundlerHostileTexts bundles texts that would take all memory, all time or the whole stack. Each must be bundled or end as an
// error of the script, without this process growing, and the next text must be bundled.
func TestBundlerHostileTexts(t *testing.T) {
	const deep = 90_000
	dir, opt := world(t, map[string]string{
		"deep.json": around("[", "1", "]", deep), "deep.js": "export default " + around("(", "1", ")", deep) + ";",
		"tsconfig.json": around(`{"extends":`, "1", "}", deep), "big.ts": "export " + doubling(40),
	})
	c := newBundler(t, nil)
	before := heapSize()
	for name, tt := range map[string]struct{ code, place string }{
		"an enum that doubles":            {"\n" + doubling(40), "script.ts:2: "},
		"one that a template doubles":     {strings.NewReplacer(" + m", "${m").Replace(strings.ReplaceAll(doubling(3), "'x'", "`${'x'}`")), ""},
		"one beside the script":           {"import { Big } from './big.ts'; console.log(Big.m40);", "script.ts: "},
		"parentheses":                     {"\nconst x = " + around("(", "1", ")", deep) + ";", "script.ts: "},
		"lists":                           {around("[", "1", "]", deep), "script.ts: "},
		"blocks":                          {around("{", "", "}", deep), "script.ts: "},
		"functions":                       {around("()=>(", "1", ")", deep/2), "script.ts: "},
		"calls":                           {around("f(", "1", ")", deep), "script.ts: "},
		"templates":                       {around("`${", "1", "}`", deep), ""},
		"types":                           {"type T = " + around("[", "1", "]", deep) + ";", ""},
		"classes":                         {around("class A { static x = ", "1", "}", 40_000), ""},
		"namespaces":                      {around("namespace a { ", "export const x = 1", "}", 300), ""},
		"a dotted namespace":              {"namespace a" + strings.Repeat(".a", deep) + " { export const x = 1 }", ""},
		"negations":                       {"x = " + strings.Repeat("!", deep) + "1", ""},
		"questions":                       {"x = " + strings.Repeat("a ? b : ", 60_000) + "c", ""},
		"members":                         {"x = a" + strings.Repeat(".b", deep), ""},
		"sums":                            {"x = 'a'" + strings.Repeat(" + 'a'", 50_000), ""},
		"branches":                        {strings.Repeat("if (a) ", 60_000) + "b", ""},
		"labels":                          {strings.Repeat("a: ", 60_000) + "b", ""},
		"decorators":                      {strings.Repeat("@a ", deep) + "class A {}", ""},
		"decorators in decorators":        {around("@(class { ", "@a x = 1", "}) class A {}", 20_000), ""},
		"types that infer":                {"type T<A> = " + around("A extends infer U extends (", "1", ") ? 1 : 2", 20_000), ""},
		"a regular expression":            {"x = /" + around("(", "a", ")", deep) + "/", ""},
		"data beside the script":          {"import x from './deep.json'; console.log(x);", "script.ts: "},
		"a module beside the script":      {"import x from './deep.js'; console.log(x);", "script.ts: "},
		"a tsconfig, which nothing reads": {"console.log(1)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := c.Read(t.Context(), typescript(tt.code, dir), opt)
			took := time.Since(began)
			var bad *Error
			if err != nil && !errors.As(err, &bad) {
				t.Fatalf("not an error of the script: %v", err)
			}
			if tt.place != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.place) || !strings.Contains(err.Error(), "cannot be bundled")) {
				t.Errorf("%.300v\nwant it at %s", err, tt.place)
			}
			if took > maxBundleTime+10*time.Second {
				t.Errorf("it took %v, want at most %v", took, maxBundleTime+10*time.Second)
			}
			t.Logf("%v: %.160v", took.Round(time.Millisecond), err)
		})
	}
	runtime.GC()
	if after := heapSize(); after > before+100<<20 {
		t.Errorf("this process has grown by %d bytes, want at most %v", after-before, before+100<<20)
	}
	if _, err := c.Read(t.Context(), typescript("console.log('next')", dir), opt); err != nil {
		t.Errorf("the next script: %v", err)
	}
}

// TestBundlerEndlessText has a text that takes minutes: when its caller is cancelled, the process ends.
func TestBundlerEndlessText(t *testing.T) {
	b := newBundler(t, &BundlerOptions{workers: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	code := around("namespace a { ", "export const x = 1", "}", 3000)
	if _, err := b.Read(ctx, typescript(code, ""), Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%.200v, want %v", err, context.DeadlineExceeded)
	}
	if _, err := b.Read(t.Context(), typescript("console.log('next')", ""), Options{}); err != nil {
		t.Errorf("the next script: %v", err)
	}
	if len(b.slots) != 0 {
		t.Errorf("a place is still taken: got %v, want 0", len(b.slots))
	}
}

// TestBundlerSameResult checks that a bundle, its errors and its later imports do not depend on the process that makes it.
func TestBundlerSameResult(t *testing.T) {
	dir, opt := world(t, map[string]string{"lib.ts": "export const x = 1;", "broken.ts": "export const = 1;"})
	c := newBundler(t, nil)
	oneRun := newBundler(t, &BundlerOptions{OneRun: true})
	for name, code := range map[string]string{
		"plain": "import { x } from './lib'; import { getDocument } from './servers/google-drive'; console.log(x, getDocument);",
		"wrong": "import { x } from './lip';", "broken": "import './broken.ts'", "syntax": "const = 3",
		"an enum that adds": "enum E { A = 'a' + 'b', B = A + A } console.log(E.B);", "long": strings.Repeat("console.log('abc');\n", 2000),
		"computed": "const load = (n: string) => import(n); console.log(load);",
	} {
		for where, bundler := range map[string]*Bundler{"apart": c, "one run": oneRun} {
			want, wantErr := Read(t.Context(), typescript(code, dir), opt)
			got, err := bundler.Read(t.Context(), typescript(code, dir), opt)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%s, %s: %v, want %v", name, where, err, wantErr)
			}
			if err != nil {
				continue
			}
			if got.Code != want.Code || (got.Import == nil) != (want.Import == nil) {
				t.Errorf("%s, %s: another bundle", name, where)
			}
			if got.Import == nil {
				continue
			}
			for _, specifier := range []string{"./lib.ts", "./lib.ts", "./broken.ts", "./servers/crm", "./gone"} {
				id, module, err := got.Import(t.Context(), specifier, "script:script.ts")
				wantID, wantModule, wantErr := want.Import(t.Context(), specifier, "script:script.ts")
				if id != wantID || module != wantModule || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Errorf("%s, %s: %q %v, %d bytes; want %q %v, %d bytes", specifier, where, id, err, len(module), wantID, wantErr, len(wantModule))
				}
			}
		}
	}
}

// TestWorkerLost ends a process that waits for work.
func TestWorkerLost(t *testing.T) {
	b := newBundler(t, &BundlerOptions{workers: 1})
	b.get(t, "console.log(1)")
	if len(b.idle) != 1 {
		t.Fatalf("%d processes wait, want 1", len(b.idle))
	}
	w := b.idle[0]
	_ = w.cmd.Process.Kill()
	<-w.ended
	b.get(t, "console.log(2)")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Read(t.Context(), typescript("console.log(3)", ""), Options{}); !errors.Is(err, errBundlerEnded) {
		t.Errorf("after the end: %v, want %v", err, errBundlerEnded)
	}
}

func TestBundlerConcurrent(t *testing.T) {
	b := newBundler(t, &BundlerOptions{workers: 2, Idle: 50 * time.Millisecond})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() { b.get(t, fmt.Sprintf("console.log(%d)", i)) })
	}
	all.Wait()
	if n := len(b.idle); n < 1 || n > 2 {
		t.Errorf("%d processes wait, want at least 1 and at most 2", n)
	}
}

func TestBundlerWithoutProgram(t *testing.T) {
	c := newBundler(t, &BundlerOptions{exe: filepath.Join(t.TempDir(), "none")})
	if _, err := c.Read(t.Context(), typescript("console.log(1)", ""), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want %v", err, os.ErrNotExist)
	}
}

func BenchmarkBundlerTwentyImports(b *testing.B) {
	tree := bigTree(b)
	bundler := newBundler(b, nil)
	code := twenty("import { doThingN } from './servers/serverN';")
	i := 0
	for b.Loop() {
		i++
		if _, err := bundler.Read(b.Context(), typescript(fmt.Sprintf("%s// %d", code, i), ""), Options{Tree: tree}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestOneRunHostileTexts bundles hostile texts with a Bundler that bundles small scripts itself: these are not small.
func TestOneRunHostileTexts(t *testing.T) {
	dir, opt := world(t, map[string]string{"big.ts": "export " + doubling(40)})
	c := newBundler(t, &BundlerOptions{OneRun: true})
	before := heapSize()
	for _, code := range []string{doubling(40), "import { Big } from './big.ts'; console.log(Big.m40);", around("[", "1", "]", 90_000)} {
		_, err := c.Read(t.Context(), typescript(code, dir), opt)
		if _, bad := errors.AsType[*Error](err); !bad {
			t.Errorf("Read(%.20q) = %v, want an *Error", code, err)
		}
	}
	runtime.GC()
	if after := heapSize(); after > before+100<<20 {
		t.Errorf("the process grew by %d bytes, want at most 100 MiB", after-before)
	}
}
