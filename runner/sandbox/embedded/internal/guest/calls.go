//go:build !386 && !arm

package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unsafe"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// What a guest may have without a reply; more is held back here, because the host ends a guest that floods it.
const (
	maxInFlight = 128
	maxPending  = 32 << 20
)

// pendingCall is a call or request without a reply: the functions that settle its promise, owned.
type pendingCall struct {
	resolve, reject engine.Value
	size            int
	tool, method    string       // one of the two
	raw             bool         // of a call: the whole result was asked for
	params          string       // of a request whose answer holds content; else empty
	unwatch         engine.Value // gives the signal's listener back; undefined without one
	answer          func(reply)  // takes the place of settling the promise; nil: none does
}

// heldCall waits for its turn.
type heldCall struct {
	id    int64
	parts []string
}

// callFailure is what a call rejects with: a plain object with the members of the bridge's error.
type callFailure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	Tool    string `json:"tool,omitempty"`
}

func (f *callFailure) Error() string { return f.Message }

// transport makes the object that the generated client finds at globalThis[Symbol.for("mcprun.transport")]. It is
// native through and through: nothing a script does to the language's own objects can get between.
func (g *guest) transport() engine.Value {
	t := g.vm.Object()
	for name, f := range map[string]engine.Func{"call": g.callTool, "request": g.request} {
		key := g.vm.String(name)
		g.vm.Seal(t, key, g.vm.Func(name, 2, f))
		g.vm.Free(key)
	}
	g.vm.Freeze(t)
	return t
}

// callTool is call(tool, args, options?): Promise.
func (g *guest) callTool(_ engine.Value, args []engine.Value) (engine.Value, error) {
	return g.ask(args, true, func(tool, input string, o callOptions) (pendingCall, []string) {
		return pendingCall{tool: tool, raw: o.raw}, []string{`,"tool":`, string(mustJSON(tool)), `,"args":`, input, o.member, "}"}
	})
}

// request is request(method, params, options?): Promise; of the options only the signal means something.
func (g *guest) request(_ engine.Value, args []engine.Value) (engine.Value, error) {
	return g.ask(args, false, func(method, params string, _ callOptions) (pendingCall, []string) {
		c := pendingCall{method: method}
		if method == "resources/read" || method == "prompts/get" {
			c.params = params
		}
		return c, []string{`,"method":`, string(mustJSON(method)), `,"params":`, params, "}"}
	})
}

// ask sends a frame that the host replies to. What is wrong with the arguments rejects the promise, as the host's refusal
// would.
func (g *guest) ask(args []engine.Value, isCall bool, frame func(name, text string, o callOptions) (pendingCall, []string)) (engine.Value, error) {
	promise, resolve, reject, err := g.vm.Promise()
	if err != nil {
		return promise, err
	}
	refused := pendingCall{resolve: resolve, reject: reject}
	name, err := g.nameOf(args, isCall)
	if err != nil {
		return promise, g.refuseCall(refused, err)
	}
	o, err := g.callOptions(args, name, isCall)
	if err != nil {
		return promise, g.refuseCall(refused, err)
	}
	text, err := g.encodeInput(args, name)
	if err != nil {
		g.vm.Free(o.signal)
		return promise, g.refuseCall(refused, err)
	}
	g.lastCall++
	unwatch, aborted, err := g.watch(o.signal, g.lastCall)
	if err != nil || aborted {
		if err == nil {
			g.settleValue(refused, reject, unwatch)
		}
		return promise, g.refuseCall(refused, err)
	}
	c, parts := frame(name, text, o)
	c.resolve, c.reject, c.unwatch, c.size = resolve, reject, unwatch, len(text)+len(name)
	g.send(g.lastCall, c, parts)
	return promise, nil
}

// send sends what is a call to the host, or holds it back. Both kinds begin alike but for their type.
func (g *guest) send(id int64, c pendingCall, parts []string) {
	head := `{"type":"call","id":`
	if c.method != "" {
		head = `{"type":"request","id":`
	}
	g.calls[id] = c
	g.loop.waiting++
	g.held = append(g.held, heldCall{id, append([]string{head, strconv.FormatInt(id, 10)}, parts...)})
	g.sendHeld()
}

// refuseCall rejects a call that is not made, if there is a reason. The error it returns is the one that ends the script.
func (g *guest) refuseCall(c pendingCall, err error) error {
	if err == nil {
		return nil
	}
	if g.vm.Halted() {
		return err
	}
	var fail *callFailure
	if errors.As(err, &fail) {
		g.settleCall(c, reply{err: mustJSON(fail)})
		return nil
	}
	g.settleValue(c, c.reject, g.vm.Thrown(err))
	return nil
}

// nameOf is the tool's id, or a request's method.
func (g *guest) nameOf(args []engine.Value, isCall bool) (string, error) {
	if len(args) > 0 && args[0].IsString() {
		return g.vm.Text(args[0])
	}
	if isCall {
		return "", &callFailure{Kind: "argument", Message: "the tool id is not a string"}
	}
	return "", &callFailure{Kind: "argument", Message: "the method is not a string"}
}

// encodeInput makes the arguments' JSON; what a getter of the script's throws is passed on.
func (g *guest) encodeInput(args []engine.Value, name string) (string, error) {
	refuse := func(format string, a ...any) (string, error) {
		return "", &callFailure{Kind: "argument", Tool: name, Message: fmt.Sprintf(format, a...)}
	}
	if len(args) == 1 || args[1].IsUndefined() {
		return "{}", nil
	}
	const most = maxFrame - 8192
	g.vm.OnObject(g.special())
	b, err := g.vm.EncodeJSON(args[1], "input", most)
	g.vm.OnObject(nil)
	var bad *engine.NotJSONError
	switch {
	case errors.As(err, &bad):
		return refuse("%v", err)
	case err != nil:
		return "", err
	case b[0] == '"':
		return refuse(`the input is not an object; a call has the tool's id and its input: callMCPTool("server__tool", { … })`)
	case b[0] != '{':
		return refuse("the input is not an object")
	case len(b)+len(name) > most:
		return refuse("the input has %d bytes; one call can have at most %d", len(b)+len(name), most)
	}
	return unsafe.String(unsafe.SliceData(b), len(b)), nil // b is not touched again
}

// sendHeld sends what may be sent.
func (g *guest) sendHeld() {
	for len(g.held) > 0 {
		h := g.held[0]
		size := g.calls[h.id].size
		if g.inFlight > 0 && (g.inFlight >= maxInFlight || g.pending+size > maxPending) {
			return
		}
		g.held = g.held[1:]
		g.inFlight++
		g.pending += size
		if g.wire.write(h.parts...) != nil {
			return // the reader sees the same and ends the run
		}
	}
}

// receive reads the host's frames until there are no more; it runs in its own goroutine.
func (g *guest) receive() {
	err := g.wire.each(func(frame []byte) bool {
		more := g.arrived(frame)
		g.loop.wakeUp()
		return more
	})
	if err == nil {
		return
	}
	if g.o.Lost != nil && !g.said.Load() {
		g.o.Lost()
	}
	g.loop.post(func() { g.loop.lost = true })
	g.loop.saidBye()
}

// arrived takes a frame of the host's, and tells whether there are more to come. It is called by the reader, and in the
// loop's goroutine.
func (g *guest) arrived(frame []byte) bool {
	if r, ok := parseReply(frame); ok {
		g.loop.put(func() { g.answer(r) })
		return true
	}
	var other struct{ Type string }
	if json.Unmarshal(frame, &other) != nil || other.Type == "bye" {
		g.loop.saidBye()
		return false
	}
	return true
}

// answer settles the promise of a call. Of one that was cancelled nothing is known any more.
func (g *guest) answer(r reply) {
	c, ok := g.calls[r.id]
	if !ok {
		return
	}
	g.inFlight--
	g.pending -= c.size
	g.forget(r.id, c)
	if c.answer != nil {
		c.answer(r)
	} else {
		g.settleCall(c, r)
	}
	g.sendHeld()
}

// forget takes a call out of those that are waited for.
func (g *guest) forget(id int64, c pendingCall) {
	delete(g.calls, id)
	g.loop.waiting--
	g.unwatch(c.unwatch)
}

// cancel(id, reason) rejects a call whose signal was aborted, and tells the host unless that knows nothing of it yet.
func (g *guest) cancel(a args) (engine.Value, error) {
	id := int64(a.number(0))
	c, ok := g.calls[id]
	if !ok {
		return engine.Undefined(), nil
	}
	if i := slices.IndexFunc(g.held, func(h heldCall) bool { return h.id == id }); i >= 0 {
		g.held = slices.Delete(g.held, i, i+1)
	} else {
		g.inFlight--
		g.pending -= c.size
		_ = g.wire.write(`{"type":"cancel","id":`, strconv.FormatInt(id, 10), "}") // the reader sees a lost host
	}
	g.forget(id, c)
	g.settleValue(c, c.reject, g.vm.Dup(a.value(1)))
	g.loop.post(g.sendHeld) // not now: the same signal may be about to end those that are held
	return engine.Undefined(), nil
}

func (g *guest) settleCall(c pendingCall, r reply) {
	settle, v, err := c.resolve, engine.Value{}, error(nil)
	if r.err != nil {
		settle = c.reject
		v, err = g.refusal(c, r.err)
	} else {
		v, err = g.value(c, r)
	}
	if err != nil {
		settle, v = c.reject, g.vm.Thrown(err) // no memory for it
	}
	g.settleValue(c, settle, v)
}

// settleValue calls one of the two functions with v, and gives all three back.
func (g *guest) settleValue(c pendingCall, settle, v engine.Value) {
	if done, err := g.vm.Call(settle, engine.Undefined(), v); err == nil {
		g.vm.Free(done)
	}
	g.vm.Free(v)
	g.vm.Free(c.resolve)
	g.vm.Free(c.reject)
}

// mustJSON encodes strings and structs of strings, which cannot fail.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
