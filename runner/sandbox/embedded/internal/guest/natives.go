package guest

import (
	"crypto/rand"
	"embed"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

//go:embed prelude/*.js
var prelude embed.FS

// install sets up the globals of the script: the core of the prelude, and the transport.
func (g *guest) install() error {
	vm := g.vm
	g.loaded = map[string]engine.Value{}
	vm.OnRejection(g.onRejection)
	vm.SetModules(g.normalizeModule, g.loadModule)
	g.native = vm.Object()
	for name, f := range g.natives() {
		vm.Set(g.native, name, vm.Func(name, 0, func(_ engine.Value, v []engine.Value) (engine.Value, error) {
			return f(args{g, v})
		}))
	}
	hooks, err := g.loadPrelude("core")
	if err != nil {
		return err
	}
	g.hooks = hooks
	transport := g.transport()
	vm.Set(g.native, "transport", vm.Dup(transport))
	return g.sealGlobal("mcprun.transport", transport)
}

// loadPrelude returns the value of a prelude file, which is a function that gets the host functions. Each file runs once.
func (g *guest) loadPrelude(name string) (engine.Value, error) {
	if v, ok := g.loaded[name]; ok {
		return v, nil
	}
	source, err := prelude.ReadFile("prelude/" + name + ".js")
	if err != nil {
		return engine.Value{}, err
	}
	fn, err := g.vm.Eval(string(source), preludePrefix+name+".js")
	if err != nil {
		return fn, err
	}
	defer g.vm.Free(fn)
	v, err := g.vm.Call(fn, engine.Undefined(), g.native)
	if err == nil {
		g.loaded[name] = v
	}
	return v, err
}

// preload runs all prelude files except process, which reads the script's arguments.
func (g *guest) preload() error {
	entries, err := prelude.ReadDir("prelude")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == "process.js" {
			continue
		}
		if _, err := g.loadPrelude(strings.TrimSuffix(e.Name(), ".js")); err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
	}
	return nil
}

func (g *guest) natives() map[string]native {
	m := map[string]native{
		"write": g.write, "exit": g.exit, "load": g.load, "module": g.moduleFile, "stdin": g.readStdin, "job": g.jobInfo,
		"timer": g.timerNative, "immediate": g.immediateNative, "clear": g.clearTimer, "ref": g.refTimer,
		"now": func(args) (engine.Value, error) {
			return engine.Float(float64(time.Since(g.start)) / float64(time.Millisecond)), nil
		},
		"cancel": g.cancel, "import": g.importModule, "exports": g.exports, "builtin": g.builtin, "makeValues": g.makeValues,
		"random":  g.random,
		"plain":   g.plain,
		"promise": g.promiseState,
		"memory": func(args) (engine.Value, error) {
			used, _ := g.vm.Memory()
			return engine.Int(int(used)), nil
		},
	}
	for name, f := range g.encodings() {
		m[name] = f
	}
	for name, f := range g.fileNatives() {
		m[name] = f
	}
	return m
}

// write(fd, text|bytes) writes all of it to the script's stdout (1) or stderr (2).
func (g *guest) write(a args) (engine.Value, error) {
	b, err := a.bytes(1)
	if err != nil {
		return engine.Undefined(), err
	}
	w := g.o.Stdout
	if a.number(0) == 2 {
		w = g.o.Stderr
	} else {
		g.printed += int64(len(b))
	}
	if _, err := w.Write(b); err != nil {
		return engine.Undefined(), &engine.ThrowError{
			Message: "EPIPE: broken pipe, write", Props: map[string]string{"code": "EPIPE", "syscall": "write"}}
	}
	return engine.Undefined(), nil
}

// exit(code) ends the script at once.
func (g *guest) exit(a args) (engine.Value, error) {
	g.exited = true
	g.exitCode = int(int64(a.number(0))) & 0xff
	return engine.Undefined(), g.vm.Halt()
}

// load(file) returns the value of a prelude file.
func (g *guest) load(a args) (engine.Value, error) {
	v, err := g.loadPrelude(a.text(0))
	if err != nil {
		return v, err
	}
	return g.vm.Dup(v), nil
}

// job() returns [name, …arguments].
func (g *guest) jobInfo(args) (engine.Value, error) {
	items := []engine.Value{g.vm.String(g.job.Name)}
	for _, s := range g.job.Args {
		items = append(items, g.vm.String(s))
	}
	return g.vm.Array(items...), nil
}

// timer(callback, ms, repeat, arguments) starts a timer and returns its id.
func (g *guest) timerNative(a args) (engine.Value, error) {
	return engine.Float(float64(g.loop.add(g.vm.Dup(a.value(0)), g.list(a.value(3)), a.number(1), a.bool(2)))), nil
}

// immediate(callback, arguments) runs callback at the end of this turn.
func (g *guest) immediateNative(a args) (engine.Value, error) {
	return engine.Float(float64(g.loop.addImmediate(g.vm.Dup(a.value(0)), g.list(a.value(1))))), nil
}

// list returns the items of an array, owned by the caller.
func (g *guest) list(v engine.Value) []engine.Value {
	if !v.IsObject() {
		return nil
	}
	n, _ := g.vm.Get(v, "length").Number()
	items := make([]engine.Value, int(n))
	for i := range items {
		items[i] = g.vm.Get(v, fmt.Sprint(i))
	}
	return items
}

// clear(id) stops a timer.
func (g *guest) clearTimer(a args) (engine.Value, error) {
	id := int64(a.number(0))
	t := g.loop.byID[id]
	if t == nil {
		return engine.Undefined(), nil
	}
	g.loop.remove(id)
	if !g.firing(t) {
		g.freeTimer(t)
	}
	return engine.Undefined(), nil
}

// firing reports whether t's callback is running. If so, fire frees the timer.
func (g *guest) firing(t *timer) bool { return g.now == t }

// ref(id, on?) returns whether a timer keeps the script alive, after changing that if on is given.
func (g *guest) refTimer(a args) (engine.Value, error) {
	t := g.loop.byID[int64(a.number(0))]
	if t == nil {
		return engine.Bool(false), nil
	}
	if v := a.value(1); !v.IsUndefined() {
		g.loop.setRef(t, v.Bool())
	}
	return engine.Bool(t.ref), nil
}

// plain(values) returns a text for console.log without running JavaScript, as JSON instead of in Node's form.
func (g *guest) plain(a args) (engine.Value, error) {
	var b strings.Builder
	for i, v := range g.list(a.value(0)) {
		if i > 0 {
			b.WriteByte(' ')
		}
		text, err := []byte(nil), error(nil)
		if v.IsObject() {
			text, err = g.vm.EncodeJSON(v, "the value", maxFrame)
		}
		if !v.IsObject() || err != nil {
			text = []byte(g.text(v))
		}
		b.Write(text)
		g.vm.Free(v)
	}
	return g.vm.String(b.String()), nil
}

// random(n) returns n random bytes.
func (g *guest) random(a args) (engine.Value, error) {
	n := a.number(0)
	if !(n >= 0 && n <= 1<<26) {
		return engine.Undefined(), engine.Throwf("RangeError", "cannot make %v random bytes", n)
	}
	b := make([]byte, int(n))
	rand.Read(b)
	return g.vm.Bytes(b)
}

// promise(v) returns [state, value] of a promise, or undefined for anything else.
func (g *guest) promiseState(a args) (engine.Value, error) {
	v := a.value(0)
	switch g.vm.State(v) {
	case engine.Pending:
		return g.vm.Array(g.vm.String("pending")), nil
	case engine.Fulfilled:
		return g.vm.Array(g.vm.String("fulfilled"), g.vm.Settled(v)), nil
	case engine.Rejected:
		return g.vm.Array(g.vm.String("rejected"), g.vm.Settled(v)), nil
	}
	return engine.Undefined(), nil
}

// stdinChunk bounds one read of stdin, in bytes.
const stdinChunk = 64 << 10

// stdin(sync) reads all of stdin if sync is true. Otherwise it returns a promise of the next chunk, or null at the end.
func (g *guest) readStdin(a args) (engine.Value, error) {
	in := g.o.Stdin
	if in == nil {
		in = strings.NewReader("")
	}
	if a.bool(0) {
		b, err := io.ReadAll(io.LimitReader(in, g.maxRead()))
		if err != nil {
			return engine.Undefined(), err
		}
		return g.vm.Bytes(b)
	}
	promise, resolve, reject, err := g.vm.Promise()
	if err != nil {
		return promise, err
	}
	g.loop.waiting++
	go func() {
		b := make([]byte, stdinChunk)
		n, err := in.Read(b)
		for n == 0 && err == nil {
			n, err = in.Read(b)
		}
		g.loop.post(func() { g.settleRead(resolve, reject, b[:n]) })
	}()
	return promise, nil
}

func (g *guest) settleRead(resolve, reject engine.Value, b []byte) {
	g.loop.waiting--
	v := engine.Null()
	settle := resolve
	if len(b) > 0 {
		var err error
		if v, err = g.vm.Bytes(b); err != nil {
			settle, v = reject, engine.Undefined()
		}
	}
	if done, err := g.vm.Call(settle, engine.Undefined(), v); err == nil {
		g.vm.Free(done)
	}
	g.vm.Free(v)
	g.vm.Free(resolve)
	g.vm.Free(reject)
}

// maxRead bounds what is read into memory at once, in bytes. It is half of the engine's limit, because the bytes are copied.
func (g *guest) maxRead() int64 {
	if g.o.Memory <= 0 {
		return 256 << 20
	}
	return g.o.Memory / 2
}
