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
	// registryKey is the key of the global in which a guest keeps the modules of its run.
	registryKey = `Symbol.for("mcprun.modules")`
	// knownModules is the variable in a bundle that holds the modules shared with earlier bundles.
	knownModules = "__mcprun_known"
	// namespaceExport is the name under which a later bundle exports the requested module.
	namespaceExport = "__mcprun"
)

// module describes a module that a guest has.
type module struct{ CommonJS bool }

// meta is the bundler's description of a bundle.
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

// attributes matches the suffix that the bundler adds to the name of a module imported with attributes, such as with
// { type: "json" }.
var attributes = pattern(` with \{ .* \}$`)

// modules returns the modules of a bundle that other bundles can share: all except data, trimmed indexes and modules
// that this package wrote.
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

// known returns the ids of modules from earlier bundles that this one uses.
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

// registration returns a module that puts modules into the registry.
func registration(ids []string) string {
	var load strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&load, "%s: () => import(%s),\n", quote(id), quote(id))
	}
	return fmt.Sprintf("%s\nglobalThis[%s].add({\n%s});\n", registryCode, registryKey, load.String())
}

// exported returns code that exports a module from the registry.
func exported(id string) string {
	return "export const " + namespaceExport + " = await globalThis[" + registryKey + "].get(" + quote(id) + ");\n"
}

// quote returns a string as a JavaScript literal.
func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		return `""` // not reached: strings can always be encoded
	}
	return string(text)
}
