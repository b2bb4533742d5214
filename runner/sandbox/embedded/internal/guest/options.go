//go:build !386 && !arm

package guest

import (
	"math"
	"strconv"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// callOptions are the third argument of a call.
type callOptions struct {
	member string       // the frame's member with its comma; empty when nothing is to be said
	raw    bool         // asks for the whole result
	signal engine.Value // an object, owned; else undefined
}

// maxTimeout is the largest time-out that means something: what a signed 32-bit number of milliseconds holds.
const maxTimeout = 1<<31 - 1

// callOptions reads what a call of a tool, or a request, is asked to be like; of a request that is the signal alone.
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
			return &callFailure{Kind: "argument", Tool: tool, Message: "timeoutMs is no number of milliseconds above zero"}
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

// watch has a call cancelled when its signal is aborted. It takes the signal over, and returns what unwatch needs; or the
// signal's reason, owned, when it is aborted already.
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

// unwatch takes the listener off the signal again.
func (g *guest) unwatch(f engine.Value) {
	if !f.IsObject() {
		return
	}
	if v, err := g.vm.Call(f, engine.Undefined()); err == nil {
		g.vm.Free(v)
	}
	g.vm.Free(f)
}
