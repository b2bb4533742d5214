package guest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/sandbox/embedded/internal/engine"
)

// setVars sets the script's variables: all of them in globalThis[Symbol.for("mcprun.vars")], and those whose names are still free also as
// globals.
func (g *guest) setVars() error {
	vars := g.vm.Object()
	global := g.vm.Global()
	defer g.vm.Free(global)
	for _, name := range slices.Sorted(maps.Keys(g.job.Vars)) {
		v, err := g.vm.ParseJSON(g.job.Vars[name])
		if err != nil {
			return fmt.Errorf("read the variable %q: %w", name, err)
		}
		if ident.IsIdentifier(name) && !g.vm.Has(global, name) {
			g.vm.Set(global, name, g.vm.Dup(v))
		}
		g.vm.Fix(vars, name, v)
	}
	g.vm.Freeze(vars)
	if len(g.job.Env) > 0 {
		text, err := json.Marshal(g.job.Env)
		if err != nil {
			return err
		}
		env, err := g.vm.ParseJSON(text)
		if err != nil {
			return err
		}
		g.vm.Set(g.native, "env", env)
	}
	return g.sealGlobal("mcprun.vars", vars)
}

// sealGlobal sets a global under a symbol. It cannot be listed or changed.
func (g *guest) sealGlobal(symbol string, v engine.Value) error {
	key, err := g.vm.Eval(fmt.Sprintf("Symbol.for(%q)", symbol), preludePrefix+"symbol")
	if err != nil {
		return err
	}
	defer g.vm.Free(key)
	g.vm.SealGlobal(key, v)
	return nil
}
