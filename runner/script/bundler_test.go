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

// apart returns a cache whose bundles are made in child processes.
func apart(t testing.TB, opt *BundlerOptions) (*Cache, *Bundler) {
	t.Helper()
	b := NewBundler(opt)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return NewCache(0).Use(b), b
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

// TestHostileTextsApart bundles what would take all memory, all time or the whole stack. Each must end as an error of the
// script, or be bundled, without this process growing, and leave the way free for the next.
func TestHostileTextsApart(t *testing.T) {
	const deep = 90_000
	dir, opt := world(t, map[string]string{
		"deep.json": around("[", "1", "]", deep), "deep.js": "export default " + around("(", "1", ")", deep) + ";",
		"tsconfig.json": around(`{"extends":`, "1", "}", deep), "big.ts": "export " + doubling(40),
	})
	c, _ := apart(t, nil)
	before, _ := inUse()
	for name, tt := range map[string]struct{ code, place string }{
		"an enum that doubles":            {"\n" + doubling(40), "script.ts:2:1: "},
		"one that a template doubles":     {strings.NewReplacer(" + m", "${m").Replace(strings.ReplaceAll(doubling(3), "'x'", "`${'x'}`")), ""},
		"one beside the script":           {"import { Big } from './big.ts'; console.log(Big.m40);", "big.ts:1:8: "},
		"parentheses":                     {"\nconst x = " + around("(", "1", ")", deep) + ";", "script.ts:2:"},
		"lists":                           {around("[", "1", "]", deep), "script.ts:1:"},
		"blocks":                          {around("{", "", "}", deep), "script.ts:1:"},
		"functions":                       {around("()=>(", "1", ")", deep/2), "script.ts:1:"},
		"calls":                           {around("f(", "1", ")", deep), "script.ts:1:"},
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
		"data beside the script":          {"import x from './deep.json'; console.log(x);", "deep.json:1:"},
		"a module beside the script":      {"import x from './deep.js'; console.log(x);", "deep.js:1:"},
		"a tsconfig, which nothing reads": {"console.log(1)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := c.Prepare(t.Context(), typescript(tt.code, dir), opt)
			took := time.Since(began)
			var bad *Error
			if err != nil && !errors.As(err, &bad) {
				t.Fatalf("not an error of the script: %v", err)
			}
			if tt.place != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.place) || !strings.Contains(err.Error(), "cannot be put together")) {
				t.Errorf("%.300v\nwant it at %s", err, tt.place)
			}
			if took > maxBundleTime+10*time.Second {
				t.Errorf("it took %v", took)
			}
			t.Logf("%v: %.160v", took.Round(time.Millisecond), err)
		})
	}
	runtime.GC()
	if after, _ := inUse(); after > before+100<<20 {
		t.Errorf("this process has grown by %d bytes", after-before)
	}
	if _, err := c.Prepare(t.Context(), typescript("console.log('next')", dir), opt); err != nil {
		t.Errorf("the next script: %v", err)
	}
}

// TestEndlessTextApart has a text that takes minutes: who made it goes, its process ends, and nothing stays at work.
func TestEndlessTextApart(t *testing.T) {
	c, b := apart(t, &BundlerOptions{Workers: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	code := around("namespace a { ", "export const x = 1", "}", 3000)
	if _, err := c.Prepare(ctx, typescript(code, ""), Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%.200v", err)
	}
	if _, err := c.Prepare(t.Context(), typescript("console.log('next')", ""), Options{}); err != nil {
		t.Errorf("the next script: %v", err)
	}
	if len(b.slots) != 0 {
		t.Error("a place is still taken")
	}
}

// TestSlowTextApart: a text that takes long keeps nobody else from the only place.
func TestSlowTextApart(t *testing.T) {
	c, b := apart(t, &BundlerOptions{Workers: 1})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	slow := make(chan error, 1)
	go func() {
		_, err := c.Prepare(ctx, typescript(around("namespace a { ", "export const x = 1", "}", 3000), ""), Options{})
		slow <- err
	}()
	for len(b.slots) == 0 && len(b.slow) == 0 {
		time.Sleep(time.Millisecond)
	}
	if _, err := c.Prepare(t.Context(), typescript("console.log('next')", ""), Options{}); err != nil {
		t.Errorf("the next script: %v", err)
	}
	select {
	case err := <-slow:
		t.Fatalf("it has ended before the next one: %v", err)
	default:
	}
	cancel()
	if err := <-slow; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if len(b.slots)+len(b.slow) != 0 {
		t.Error("a place is still taken")
	}
}

// TestSameApart: what comes of a script does not depend on where it is bundled, errors and later imports included.
func TestSameApart(t *testing.T) {
	dir, opt := world(t, map[string]string{"lib.ts": "export const x = 1;", "broken.ts": "export const = 1;"})
	c, _ := apart(t, nil)
	doubtful, _ := apart(t, &BundlerOptions{Doubtful: true})
	for name, code := range map[string]string{
		"plain": "import { x } from './lib'; import { getDocument } from './servers/google-drive'; console.log(x, getDocument);",
		"wrong": "import { x } from './lip';", "broken": "import './broken.ts'", "syntax": "const = 3",
		"an enum that adds": "enum E { A = 'a' + 'b', B = A + A } console.log(E.B);", "long": strings.Repeat("console.log('abc');\n", 5000),
		"computed": "const load = (n: string) => import(n); console.log(load);",
	} {
		for where, cache := range map[string]*Cache{"apart": c, "doubtful": doubtful} {
			want, wantErr := Prepare(t.Context(), typescript(code, dir), opt)
			got, err := cache.Prepare(t.Context(), typescript(code, dir), opt)
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

// TestKeptApart: bundles that were made apart are kept, and made again when a file has changed.
func TestKeptApart(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "lib.ts"), "export const x = 'old1';")
	const code = "import { x } from './lib.js'; console.log(x);"
	c, _ := apart(t, nil)
	first := c.get(t, code, dir, "")
	if !c.isKept(t, code, dir, "") {
		t.Error("the bundle is not kept")
	}
	write(t, filepath.Join(dir, "lib.ts"), "export const x = 'new1';")
	if got := c.get(t, code, dir, ""); got == first || !strings.Contains(got, "new1") {
		t.Errorf("the bundle is\n%s", got)
	}
}

// TestWorkerLost ends a process that waits for work.
func TestWorkerLost(t *testing.T) {
	c, b := apart(t, &BundlerOptions{Workers: 1})
	c.get(t, "console.log(1)", "", "")
	if len(b.idle) != 1 {
		t.Fatalf("%d processes wait", len(b.idle))
	}
	w := b.idle[0]
	_ = w.cmd.Process.Kill()
	<-w.ended
	c.get(t, "console.log(2)", "", "")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Prepare(t.Context(), typescript("console.log(3)", ""), Options{}); !errors.Is(err, errBundlerClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestWorkersIdleAndAtOnce(t *testing.T) {
	c, b := apart(t, &BundlerOptions{Workers: 2, Idle: time.Hour})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() { c.get(t, fmt.Sprintf("console.log(%d)", i), "", "") })
	}
	all.Wait()
	if n := len(b.idle); n < 1 || n > 2 {
		t.Errorf("%d processes wait", n)
	}
	w := b.idle[0]
	w.rest.Reset(0)
	select {
	case <-w.ended:
	case <-time.After(10 * time.Second):
		t.Error("an idle process is still there")
	}
}

func TestWorkerNotThere(t *testing.T) {
	c, _ := apart(t, &BundlerOptions{Exe: filepath.Join(t.TempDir(), "none")})
	if _, err := c.Prepare(t.Context(), typescript("console.log(1)", ""), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func BenchmarkTwentyImportsApart(b *testing.B) {
	tree := bigTree(b)
	_, bundler := apart(b, nil)
	code := twenty("import { doThingN } from './servers/serverN';")
	i := 0
	for b.Loop() {
		i++
		if _, err := NewCache(0).Use(bundler).Prepare(b.Context(), typescript(fmt.Sprintf("%s// %d", code, i), ""), Options{Tree: tree}); err != nil {
			b.Fatal(err)
		}
	}
}

// TestCostlyTextsLeavePlaces: many texts that look costly do not keep a cheap one waiting.
func TestCostlyTextsLeavePlaces(t *testing.T) {
	c, b := apart(t, &BundlerOptions{Workers: 2})
	ctx, cancel := context.WithCancel(t.Context())
	var costly sync.WaitGroup
	for i := range 6 {
		costly.Go(func() {
			_, err := c.Prepare(ctx, typescript(around("namespace a { ", fmt.Sprintf("export const x = %d", i), "}", 3000), ""), Options{})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a costly text ended with %v", err)
			}
		})
	}
	for len(b.slots)+len(b.slow) == 0 {
		time.Sleep(time.Millisecond)
	}
	for i := range 5 {
		if _, err := c.Prepare(t.Context(), typescript(fmt.Sprintf("console.log(%d)", i), ""), Options{}); err != nil {
			t.Error(err)
		}
		if n := len(b.doubt); n > 1 {
			t.Errorf("%d costly texts hold places", n)
		}
	}
	cancel()
	costly.Wait()
	if len(b.slots)+len(b.slow)+len(b.doubt) != 0 {
		t.Error("a place is still taken")
	}
}
