//go:build !386 && !arm

package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// What a guest may have without a reply; more is held back here, because the host ends a guest that floods it.
const (
	maxInFlight = 128
	maxPending  = 32 << 20
)

// pendingCall is a call without a reply: the functions that settle its promise, owned.
type pendingCall struct {
	resolve, reject engine.Value
	size            int
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
	name := g.vm.String("call")
	defer g.vm.Free(name)
	g.vm.Seal(t, name, g.vm.Func("call", 2, g.callTool))
	g.vm.Freeze(t)
	return t
}

// callTool is call(tool, args): Promise.
func (g *guest) callTool(_ engine.Value, args []engine.Value) (engine.Value, error) {
	promise, resolve, reject, err := g.vm.Promise()
	if err != nil {
		return promise, err
	}
	tool, text, err := g.encodeCall(args)
	if err != nil {
		return promise, g.refuseCall(pendingCall{resolve: resolve, reject: reject}, err)
	}
	g.lastCall++
	id := g.lastCall
	name := string(mustJSON(tool))
	g.calls[id] = pendingCall{resolve: resolve, reject: reject, size: len(text) + len(tool)}
	g.loop.waiting++
	g.held = append(g.held, heldCall{id, []string{
		`{"type":"call","id":`, strconv.FormatInt(id, 10), `,"tool":`, name, `,"args":`, text, "}"}})
	g.sendHeld()
	return promise, nil
}

// refuseCall rejects a call that is not made. The error it returns is the one that ends the script.
func (g *guest) refuseCall(c pendingCall, err error) error {
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

// encodeCall makes the arguments' JSON. What is wrong with them rejects the call, as the host's refusal would; what a
// getter of the script's throws is passed on.
func (g *guest) encodeCall(args []engine.Value) (tool, text string, err error) {
	refuse := func(format string, a ...any) (string, string, error) {
		return "", "", &callFailure{Kind: "argument", Tool: tool, Message: fmt.Sprintf(format, a...)}
	}
	if len(args) == 0 || !args[0].IsString() {
		return refuse("the tool id is not a string")
	}
	if tool, err = g.vm.Text(args[0]); err != nil {
		return "", "", err
	}
	if len(args) == 1 || args[1].IsUndefined() {
		return tool, "{}", nil
	}
	const most = maxFrame - 8192
	b, err := g.vm.EncodeJSON(args[1], "input", most)
	var bad *engine.NotJSONError
	switch {
	case errors.As(err, &bad):
		return refuse("%v", err)
	case err != nil:
		return "", "", err
	case b[0] != '{':
		return refuse("the input is not an object")
	case len(b)+len(tool) > most:
		return refuse("the input has %d bytes; one call can have at most %d", len(b)+len(tool), most)
	}
	return tool, string(b), nil
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
	for {
		frame, err := g.wire.read()
		if err != nil {
			break
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
	if g.o.Lost != nil && !g.said.Load() {
		g.o.Lost()
	}
	g.loop.post(func() { g.loop.lost = true })
	g.loop.saidBye()
}

// answer settles the promise of a call.
func (g *guest) answer(r reply) {
	c, ok := g.calls[r.id]
	if !ok {
		return
	}
	delete(g.calls, r.id)
	g.loop.waiting--
	g.inFlight--
	g.pending -= c.size
	g.settleCall(c, r)
	g.sendHeld()
}

func (g *guest) settleCall(c pendingCall, r reply) {
	settle, text := c.resolve, r.value
	if r.err != nil {
		settle, text = c.reject, r.err
	}
	v, err := g.vm.ParseJSON(text)
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
