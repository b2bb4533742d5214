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

// Limits of calls without a reply and of their arguments' bytes. Further calls wait in held, because the host ends a guest that
// exceeds its own limits.
const (
	maxInFlight = 128
	maxPending  = 32 << 20
)

// transport returns the object that the generated client finds at globalThis[Symbol.for("mcprun.transport")]. It consists of
// native functions only, so that a script which changes the language's own objects cannot interfere.
func (g *guest) transport() engine.Value {
	t := g.vm.Object()
	for name, f := range map[string]engine.Func{"call": g.callTool, "request": g.request, "enter": g.enterStep} {
		key := g.vm.String(name)
		g.vm.Seal(t, key, g.vm.Func(name, 2, f))
		g.vm.Free(key)
	}
	g.vm.Freeze(t)
	return t
}

// callTool implements call(tool, args, options?): Promise.
func (g *guest) callTool(_ engine.Value, args []engine.Value) (engine.Value, error) {
	return g.ask(args, true, func(tool, input string, o callOptions) (pendingCall, []string) {
		return pendingCall{tool: tool, raw: o.raw}, []string{`,"tool":`, string(mustJSON(tool)), `,"args":`, input, o.member, g.stepMember(), g.lineMember(), "}"}
	})
}

// request implements request(method, params, options?): Promise. Its only option is signal.
func (g *guest) request(_ engine.Value, args []engine.Value) (engine.Value, error) {
	return g.ask(args, false, func(method, params string, _ callOptions) (pendingCall, []string) {
		c := pendingCall{method: method}
		if method == "resources/read" || method == "prompts/get" {
			c.params = params
		}
		return c, []string{`,"method":`, string(mustJSON(method)), `,"params":`, params, g.stepMember(), g.lineMember(), "}"}
	})
}

// enterStep implements enter(step): the function of the step begins, or that of the current one has ended if step is 0. The engine does not
// tell what a call belongs to after an await, so the library runs one step at a time.
func (g *guest) enterStep(_ engine.Value, args []engine.Value) (engine.Value, error) {
	if g.step = 0; len(args) > 0 {
		n, _ := args[0].Number()
		g.step = int(n)
	}
	return engine.Undefined(), nil
}

// stepMember returns the member of a frame that names the step, or "".
func (g *guest) stepMember() string {
	if g.step <= 0 {
		return ""
	}
	return `,"step":` + strconv.Itoa(g.step)
}

// ask sends a frame to which the host replies. Invalid arguments reject the promise, as an error from the host does.
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

// send sends a call or request, or holds it back.
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

// refuseCall rejects the promise of a call that is not sent. It returns errors that end the script.
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

// nameOf returns the id of the tool, or the method of a request.
func (g *guest) nameOf(args []engine.Value, isCall bool) (string, error) {
	if len(args) > 0 && args[0].IsString() {
		return g.vm.Text(args[0])
	}
	if isCall {
		return "", &callFailure{Kind: "argument", Message: "the tool id is not a string"}
	}
	return "", &callFailure{Kind: "argument", Message: "the method is not a string"}
}

// encodeInput returns the arguments as JSON. It returns what a getter of the script throws as an error.
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
	return unsafe.String(unsafe.SliceData(b), len(b)), nil // b is not modified any more
}

// sendHeld sends held calls while the limits allow it.
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
			return // the reader notices it too and ends the run
		}
	}
}

// receive reads the host's frames until there are no more; it runs in its own goroutine.
func (g *guest) receive() {
	for {
		frame, err := g.wire.read()
		if err != nil {
			if g.o.Lost != nil && !g.done.Load() {
				g.o.Lost()
			}
			g.loop.post(func() { g.loop.lost = true })
			g.loop.saidBye()
			return
		}
		if r, ok := parseReply(frame); ok {
			g.loop.post(func() { g.answer(r) })
			continue
		}
		var other struct{ Type string }
		if json.Unmarshal(frame, &other) != nil || other.Type == "bye" {
			g.loop.saidBye()
			return
		}
	}
}

// answer settles the promise of a call. Answers to cancelled calls are ignored.
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

// forget removes a call from those without a reply.
func (g *guest) forget(id int64, c pendingCall) {
	delete(g.calls, id)
	g.loop.waiting--
	g.unwatch(c.unwatch)
}

// cancel(id, reason) rejects a call whose signal was aborted, and tells the host if the call was sent.
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
		_ = g.wire.write(`{"type":"cancel","id":`, strconv.FormatInt(id, 10), "}") // the reader notices a lost host
	}
	g.forget(id, c)
	g.settleValue(c, c.reject, g.vm.Dup(a.value(1)))
	g.loop.post(g.sendHeld) // not now: the same signal may cancel held calls too
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
		settle, v = c.reject, g.vm.Thrown(err) // out of memory
	}
	g.settleValue(c, settle, v)
}

// settleValue calls settle with v, and frees v and both functions.
func (g *guest) settleValue(c pendingCall, settle, v engine.Value) {
	if done, err := g.vm.Call(settle, engine.Undefined(), v); err == nil {
		g.vm.Free(done)
	}
	g.vm.Free(v)
	g.vm.Free(c.resolve)
	g.vm.Free(c.reject)
}
