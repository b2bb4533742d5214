package guest

import (
	"math"
	"strconv"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// callOptions are the options of a call, its third argument.
type callOptions struct {
	member string       // the member of the frame with its comma, or ""
	raw    bool         // the script wants the complete result
	signal engine.Value // an object, owned, or undefined
}

// maxTimeout is the largest timeout in milliseconds: the largest signed 32-bit number.
const maxTimeout = 1<<31 - 1

// callOptions reads the options of a call or request. A request has only a signal.
func (g *guest) callOptions(args []engine.Value, name string, isCall bool) (callOptions, error) {
	o := callOptions{signal: engine.Undefined()}
	if len(args) < 3 || !args[2].IsObject() {
		return o, nil
	}
	if isCall {
		if err := g.readOptions(&o, args[2], name); err != nil {
			return o, err
		}
	}
	signal := g.vm.Get(args[2], "signal")
	if !signal.IsObject() {
		g.vm.Free(signal)
		return o, nil
	}
	o.signal = signal
	return o, nil
}

func (g *guest) readOptions(o *callOptions, given engine.Value, tool string) error {
	members := ""
	timeout := g.vm.Get(given, "timeoutMs")
	defer g.vm.Free(timeout)
	if !timeout.IsUndefined() {
		ms, ok := timeout.Number()
		if !ok || !(ms > 0) {
			return &callFailure{Kind: "argument", Tool: tool, Message: "timeoutMs must be a number of milliseconds above zero"}
		}
		members = `"timeoutMs":` + strconv.FormatInt(int64(math.Ceil(min(ms, maxTimeout))), 10)
	}
	raw := g.vm.Get(given, "raw")
	defer g.vm.Free(raw)
	if o.raw = g.vm.Truthy(raw); o.raw {
		if members != "" {
			members += ","
		}
		members += `"raw":true`
	}
	if members != "" {
		o.member = `,"options":{` + members + "}"
	}
	return nil
}

// watch cancels a call when its signal is aborted. It takes ownership of the signal. It returns the function to pass to unwatch or, if the
// signal is already aborted, the signal's reason; the caller owns either.
func (g *guest) watch(signal engine.Value, id int64) (v engine.Value, aborted bool, err error) {
	if signal.IsUndefined() {
		return signal, false, nil
	}
	defer g.vm.Free(signal)
	watch := g.vm.Get(g.hooks, "watch")
	defer g.vm.Free(watch)
	if v, err = g.vm.Call(watch, engine.Undefined(), signal, engine.Float(float64(id))); err != nil {
		return engine.Undefined(), false, err
	}
	if g.vm.IsFunction(v) {
		return v, false, nil
	}
	g.vm.Free(v)
	return g.vm.Get(signal, "reason"), true, nil
}

// unwatch removes the listener from the signal.
func (g *guest) unwatch(f engine.Value) {
	if !f.IsObject() {
		return
	}
	if v, err := g.vm.Call(f, engine.Undefined()); err == nil {
		g.vm.Free(v)
	}
	g.vm.Free(f)
}
