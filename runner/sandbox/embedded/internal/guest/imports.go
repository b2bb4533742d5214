package guest

import (
	"encoding/json"
	"errors"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// extraModule is a module that the script imported by a path computed at run time.
type extraModule struct {
	module engine.Module
	ran    engine.Value // the promise of its top level, owned
}

// importModule(specifier, from) requests a module from the host and returns a promise of its exports. Each module runs once.
// Node's own modules are imported by the prelude.
func (g *guest) importModule(a args) (engine.Value, error) {
	promise, resolve, reject, err := g.vm.Promise()
	if err != nil {
		return promise, err
	}
	params := string(mustJSON(struct {
		Specifier string `json:"specifier"`
		From      string `json:"from"`
	}{a.text(0), a.text(1)}))
	g.lastCall++
	c := pendingCall{method: "import", resolve: resolve, reject: reject, size: len(params), unwatch: engine.Undefined()}
	c.answer = func(r reply) { g.imported(c, r) }
	g.send(g.lastCall, c, []string{`,"method":"import","params":`, params, "}"})
	return promise, nil
}

// imported runs a module that the host sent, and settles the promise of its exports.
func (g *guest) imported(c pendingCall, r reply) {
	if r.err != nil {
		g.settleValue(c, c.reject, g.importError(r.err))
		return
	}
	var m struct{ ID, Code string }
	if err := json.Unmarshal(r.value, &m); err != nil || m.ID == "" {
		g.settleValue(c, c.reject, g.vm.Thrown(errors.New("the host's answer to an import is not a module")))
		return
	}
	ran, err := g.runExtra(m.ID, m.Code)
	if err != nil {
		g.settleValue(c, c.reject, g.vm.Thrown(err))
		return
	}
	wait := g.vm.Get(g.hooks, "exports")
	defer g.vm.Free(wait)
	id := g.vm.String(m.ID)
	defer g.vm.Free(id)
	v, err := g.vm.Call(wait, engine.Undefined(), ran, id)
	if err != nil {
		g.settleValue(c, c.reject, g.vm.Thrown(err))
		return
	}
	g.settleValue(c, c.resolve, v)
}

// importError returns the error for an import that the host refused, in the form of Node's own errors.
func (g *guest) importError(text []byte) engine.Value {
	var e struct{ Message string }
	if json.Unmarshal(text, &e) != nil || e.Message == "" {
		e.Message = "the module could not be imported"
	}
	return g.vm.Thrown(&engine.ThrowError{Message: e.Message, Props: map[string]string{"code": "ERR_MODULE_NOT_FOUND"}})
}

// runExtra runs a module, unless it ran before, and returns the promise of its top level, borrowed.
func (g *guest) runExtra(id, code string) (engine.Value, error) {
	if m, ok := g.extra[id]; ok {
		return m.ran, nil
	}
	code, mapText := splitSourceMap(code)
	name := "import:" + id
	g.maps.add(name, mapText)
	module, compiled, err := g.vm.Module(code, scriptModule(name), map[string]string{
		"url": "file://" + workspaceDir + "/" + id, "filename": workspaceDir + "/" + id, "dirname": workspaceDir,
	})
	if err != nil {
		return engine.Value{}, err
	}
	before := len(g.rejected)
	ran, err := g.vm.RunModule(compiled)
	if err != nil {
		return ran, err
	}
	g.forgive(before, ran)
	g.extra[id] = extraModule{module, ran}
	return ran, nil
}

// forgive removes the rejection of a module that threw from the list of unhandled rejections, starting at an index, because the engine
// creates a promise for a module's top level that no script can handle.
func (g *guest) forgive(from int, ran engine.Value) {
	if g.vm.State(ran) != engine.Rejected {
		return
	}
	reason := g.vm.Settled(ran)
	defer g.vm.Free(reason)
	kept := g.rejected[:from]
	for _, r := range g.rejected[from:] {
		if r.reason.Identity() != reason.Identity() {
			kept = append(kept, r)
			continue
		}
		g.vm.Free(r.promise)
		g.vm.Free(r.reason)
	}
	g.rejected = kept
}

// exports(id) returns the exports of a module that has run.
func (g *guest) exports(a args) (engine.Value, error) {
	m, ok := g.extra[a.text(0)]
	if !ok {
		return engine.Undefined(), errors.New("no such module was imported")
	}
	return g.vm.Namespace(m.module)
}
