package guest

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
	"github.com/mcpgen/mcpgen/templates"
)

// value returns the value of a reply, owned by the caller. Plain JSON is parsed without running anything that a script can replace. The
// prelude builds the other values: content that can be saved, a handle for a result in a file, a placeholder for a call that a dry run
// skipped.
func (g *guest) value(c pendingCall, r reply) (engine.Value, error) {
	v, err := g.vm.ParseJSON(r.value)
	switch {
	case err != nil:
		return v, err
	case r.as != "":
		return g.make("make", v, g.vm.String(r.as), g.vm.String(c.tool))
	case c.raw:
		return g.make("fromResult", v, g.vm.String(c.tool))
	case c.params == "":
		return v, nil
	}
	params, err := g.vm.ParseJSON([]byte(c.params))
	if err != nil {
		g.vm.Free(v)
		return params, err
	}
	return g.make("fromRequest", g.vm.String(c.method), v, params)
}

// refusal returns the value of an error, owned by the caller. Its content is converted like that of a result.
func (g *guest) refusal(c pendingCall, text []byte) (engine.Value, error) {
	v, err := g.vm.ParseJSON(text)
	if err != nil || c.tool == "" || !bytes.Contains(text, []byte(`"content":[`)) {
		return v, err
	}
	return g.make("fromResult", v, g.vm.String(c.tool))
}

// make calls one of the makers of values. It takes ownership of the arguments.
func (g *guest) make(maker string, args ...engine.Value) (engine.Value, error) {
	defer func() {
		for _, a := range args {
			g.vm.Free(a)
		}
	}()
	values, err := g.loadPrelude("values")
	if err != nil {
		return engine.Value{}, err
	}
	g.madeValues = true
	f := g.vm.Get(values, maker)
	defer g.vm.Free(f)
	return g.vm.Call(f, engine.Undefined(), args...)
}

// makeValues(io) returns the makers of values for the prelude. Guests in Node use the same source, a module with one export.
func (g *guest) makeValues(a args) (engine.Value, error) {
	source := strings.Replace(templates.Values(), "export ", "", 1)
	makers, err := g.vm.Eval("(() => {\n"+source+"\nreturn values;\n})()", preludePrefix+"values.mjs")
	if err != nil {
		return makers, err
	}
	defer g.vm.Free(makers)
	return g.vm.Call(makers, engine.Undefined(), a.value(0))
}

// special returns a function that recognizes handles and placeholders among the arguments of a call, or nil while there are none.
func (g *guest) special() func(engine.Value) (json, refusal string, err error) {
	if !g.madeValues {
		return nil
	}
	return func(v engine.Value) (json, refusal string, err error) {
		r, err := g.make("special", g.vm.Dup(v))
		if err != nil {
			return "", "", err
		}
		defer g.vm.Free(r)
		switch n, isCall := r.Number(); {
		case isCall:
			return `{"call":` + strconv.Itoa(int(n)) + "}", "", nil
		case r.IsString():
			refusal, err = g.vm.Text(r)
		}
		return "", refusal, err
	}
}
