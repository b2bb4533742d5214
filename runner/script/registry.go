package script

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

//go:embed registry.js
var registryCode string

const (
	// registryKey is where a guest keeps the modules of its run.
	registryKey = `Symbol.for("mcprun.modules")`
	// knownModules is the variable of a bundle that holds the modules which it shares with earlier ones.
	knownModules = "__mcprun_known"
	// namespaceExport is what a later bundle exports: the module that was asked for.
	namespaceExport = "__mcprun"
)

// module is what is known of a module that a guest has.
type module struct{ CommonJS bool }

// meta is what the bundler says of a bundle.
type meta struct {
	Inputs  map[string]struct{ Format string }
	Outputs map[string]struct {
		Inputs  map[string]struct{ BytesInOutput int }
		Exports []string
	}
}

func readMeta(text string) (*meta, error) {
	m := &meta{}
	if err := json.Unmarshal([]byte(text), m); err != nil {
		return nil, fmt.Errorf("read what the bundler says of the bundle: %w", err)
	}
	return m, nil
}

// attributes is how the bundler's names of modules end that were imported "with" something, such as the type of JSON.
var attributes = pattern(` with \{ .* \}$`)

// modules are those that a bundle holds and that others can share: all but data, indexes that were cut, and what was
// written here.
func (m *meta) modules() map[string]module {
	found := map[string]module{}
	for _, out := range m.Outputs {
		for id, in := range out.Inputs {
			shared := strings.Contains(id, ":") && !strings.Contains(id, "?") && !strings.HasSuffix(id, ".json") &&
				!strings.HasPrefix(id, entryNamespace+":") && !strings.HasPrefix(id, knownNamespace+":") && !attributes().MatchString(id)
			if shared && in.BytesInOutput > 0 {
				found[id] = module{CommonJS: m.Inputs[id].Format == "cjs"}
			}
		}
	}
	return found
}

// known are the modules of earlier bundles that this one uses.
func (m *meta) known() []string {
	var ids []string
	for id := range m.Inputs {
		if known, ok := strings.CutPrefix(id, knownNamespace+":"); ok {
			ids = append(ids, known)
		}
	}
	slices.Sort(ids)
	return ids
}

func (m *meta) exports(name string) bool {
	for _, out := range m.Outputs {
		if slices.Contains(out.Exports, name) {
			return true
		}
	}
	return false
}

// registration is a module that puts modules into the registry.
func registration(ids []string) string {
	var load strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&load, "%s: () => import(%s),\n", quote(id), quote(id))
	}
	return fmt.Sprintf("%s\nglobalThis[%s].add({\n%s});\n", registryCode, registryKey, load.String())
}

// exported returns code that exports a module of the registry.
func exported(id string) string {
	return "export const " + namespaceExport + " = await globalThis[" + registryKey + "].get(" + quote(id) + ");\n"
}

// quote writes a string for JavaScript.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""` // not reached: strings can be written
	}
	return string(text)
}
