package embedded

import (
	"os"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/sandboxtest"
)

func TestConformance(t *testing.T) {
	noNamespaces := false // on Linux: see TestWithoutNamespaces
	if raw, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err == nil {
		noNamespaces = string(raw) == "0\n"
	}
	kinds(t, func(t *testing.T, b kind) {
		if b.opts.unjailed && b.warm {
			return // a script could notice no difference from the cold one
		}
		name := b.Name()
		if b.opts.unjailed || noNamespaces {
			name = "embedded bare"
		}
		col, _ := sandboxtest.Named(name)
		sandboxtest.Run(t, b.Backend, sandboxtest.Options{Column: name, Languages: col.Languages, Warm: b.warm, NoSockets: true})
	})
}
