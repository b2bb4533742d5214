package guest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// Options configure a guest.
type Options struct {
	// Conn is the bridge. Run closes it.
	Conn io.ReadWriteCloser
	// Secret is sent in the hello frame, as the bridge protocol requires.
	Secret string
	// Files is the script's file system; see [OpenFiles].
	Files *Files
	// Bind reads the host's first frame and sets Files, Memory and FileSize from it. Nil means that the options are complete and the first
	// frame is the job.
	Bind func(frame []byte, o *Options) error
	// Idle makes the guest load the whole prelude before its hello, because it waits for a job that does not exist yet.
	Idle bool
	// Stdin, Stdout and Stderr are the script's standard streams.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Memory bounds the engine's heap, in bytes.
	Memory int64
	// FileSize bounds a file that a script writes, in bytes. Zero means that only the system's limit applies.
	FileSize int64
	// Lost is called, on another goroutine, when the bridge closes while the script runs. It should end the process, because
	// nothing else can stop a script that never yields. If it is nil, the script ends at its next turn of the event loop.
	Lost func()
}

// Outcome reports how a job ended.
type Outcome struct {
	// Code is the exit code of the process.
	Code int
	// OutOfMemory reports that the script ended because it reached the engine's memory limit.
	OutOfMemory bool
}

// job is the host's first frame.
type job struct {
	Type     string   `json:"type"`
	Language string   `json:"language"`
	Name     string   `json:"name"`
	Code     string   `json:"code"`
	Args     []string `json:"args"`
	// Vars are the script's variables, by name.
	Vars map[string]json.RawMessage `json:"vars"`
	// Env are variables of process.env, in runs with a network.
	Env map[string]string `json:"env"`
	// Lines asks for the line of the script that makes each call.
	Lines bool `json:"lines"`
}

// Run greets the host, runs the job and reports how it ended. An error means that no script ran.
func Run(o Options) (Outcome, error) {
	g := &guest{o: o, start: time.Now(), wire: newWire(o.Conn), loop: newLoop(), maps: newSourceMaps(), calls: map[int64]pendingCall{}, extra: map[string]extraModule{}}
	defer o.Conn.Close()
	if !o.Idle { // the engine starts while the host reads the hello
		if err := g.hello(); err != nil {
			return Outcome{}, err
		}
	}
	var err error
	if g.vm, err = engine.New(o.Memory); err != nil {
		return Outcome{}, err
	}
	if err := g.install(); err != nil {
		return Outcome{}, fmt.Errorf("prepare the engine: %s", g.describe(err))
	}
	if o.Idle {
		if err := g.preload(); err != nil {
			return Outcome{}, fmt.Errorf("prepare the engine: %s", g.describe(err))
		}
		if err := g.hello(); err != nil {
			return Outcome{}, err
		}
	}
	if err := g.await(); err != nil {
		return Outcome{}, err
	}
	g.start = time.Now()
	go g.receive()
	out := g.run()
	g.finish()
	return out, nil
}

func (g *guest) hello() error {
	if err := g.wire.send(map[string]any{
		"type": "hello", "protocol": 1, "secret": g.o.Secret, "runtime": "quickjs " + engine.Version(),
	}); err != nil {
		return fmt.Errorf("send hello to the host: %w", err)
	}
	return nil
}

// await waits for the binding of the run, if there is one, and for its job.
func (g *guest) await() error {
	frame, err := g.firstFrame()
	if err == nil && g.o.Bind != nil {
		if err := g.o.Bind(frame, &g.o); err != nil {
			return err
		}
		g.vm.SetMemory(g.o.Memory)
		frame, err = g.wire.read()
	}
	if err != nil {
		return fmt.Errorf("wait for the job: %w", err)
	}
	if err := json.Unmarshal(frame, &g.job); err != nil || g.job.Type != "job" {
		return fmt.Errorf("the host sent a frame that is not a job")
	}
	return nil
}

// firstFrame returns the host's next frame other than wait. A guest that prepared itself before its hello gets wait while there is no job.
func (g *guest) firstFrame() ([]byte, error) {
	frame, err := g.wire.read()
	if err == nil && string(frame) == `{"type":"wait"}` {
		return g.wire.read()
	}
	return frame, err
}

// run evaluates the job and runs the event loop until nothing is left to do.
func (g *guest) run() Outcome {
	code, mapText := splitSourceMap(g.job.Code)
	g.maps.add(g.job.Name, mapText)
	g.vm.OnStack(g.stackText)
	if err := g.setVars(); err != nil {
		g.uncaught(err)
		return g.outcome()
	}
	name := scriptModule(g.job.Name)
	module, compiled, err := g.vm.Module(code, name, map[string]string{
		"url": "file://" + workspaceDir + "/" + g.job.Name, "filename": workspaceDir + "/" + g.job.Name, "dirname": workspaceDir,
	})
	if err != nil {
		g.uncaught(err)
		return g.outcome()
	}
	promise, err := g.vm.RunModule(compiled)
	if err != nil {
		g.uncaught(err)
		return g.outcome()
	}
	result := g.turn(promise, func() engine.Value { return g.exported(module) })
	if g.failure == nil {
		g.keepResult(result)
	}
	return g.outcome()
}

// awaited returns a promise that resolves as await v does.
func (g *guest) awaited(v engine.Value) engine.Value {
	defer g.vm.Free(v)
	promise, resolve, reject, err := g.vm.Promise()
	if err != nil {
		return engine.Undefined()
	}
	defer g.vm.Free(resolve)
	defer g.vm.Free(reject)
	if done, err := g.vm.Call(resolve, engine.Undefined(), v); err == nil {
		g.vm.Free(done)
	}
	return promise
}

// exported returns the module's result: the export named result, otherwise the default export.
func (g *guest) exported(m engine.Module) engine.Value {
	ns, err := g.vm.Namespace(m)
	if err != nil {
		return engine.Undefined()
	}
	defer g.vm.Free(ns)
	v := g.vm.Get(ns, "result")
	if v.IsUndefined() {
		if v = g.vm.Get(ns, "default"); g.vm.IsFunction(v) {
			return engine.Undefined() // a default function is exported for other modules to import
		}
	}
	return v
}

// outcome calls the script's exit listeners and determines the exit code.
func (g *guest) outcome() Outcome {
	code := g.exitCode
	if g.failure != nil && code == 0 {
		code = codeUncaught
	}
	if g.failure != nil && g.failure.memory {
		return Outcome{Code: codeMemory, OutOfMemory: true}
	}
	if !g.exited {
		code = g.endHooks(code)
	}
	return Outcome{Code: code}
}

// finish sends the done frame and waits for the host's bye.
func (g *guest) finish() {
	frame := map[string]any{"type": "done"}
	switch {
	case g.failure != nil:
		frame["error"] = g.failure
	case g.result != nil:
		frame["result"] = g.result
	}
	if notes := g.notes(); notes != nil {
		frame["notes"] = notes
	}
	if len(g.wrote) > 0 {
		frame["wrote"] = slices.Sorted(maps.Keys(g.wrote))
	}
	g.done.Store(true)
	if g.wire.send(frame) == nil {
		g.loop.waitBye(byeTime)
	}
}

// notes returns what the client and the makers of values have noted about the script, as JSON, or nil.
func (g *guest) notes() json.RawMessage {
	if g.vm.Halted() {
		return nil
	}
	v, err := g.vm.Eval(`globalThis[Symbol.for("mcprun.notes")]`, preludePrefix+"notes")
	if err != nil {
		return nil
	}
	defer g.vm.Free(v)
	if !v.IsObject() {
		return nil
	}
	if e := g.moduleEnd; e != nil && g.failure == nil && g.result == nil && g.printed > 0 && g.printed == e.printed {
		for _, tool := range e.open {
			g.vm.Set(v, "open "+tool, engine.Int(1))
		}
	}
	b, err := g.vm.EncodeJSON(v, "the notes", maxFrame-64)
	if err != nil {
		return nil
	}
	return b
}

// byeTime is how long finish waits for the host's bye. A host that does not answer in this time is gone.
const byeTime = 5 * time.Second
