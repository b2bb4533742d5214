package backends

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner"
)

func TestNames(t *testing.T) {
	list, err := List(Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range list {
		if got, want := b.Name(), Names()[i]; got != want {
			t.Errorf("List()[%d].Name() = %q, want %q", i, got, want)
		}
		_ = b.Close()
	}
}

// TestSchemaListsSandboxes compares what editors offer in mcpgen.yaml with the table.
func TestSchemaListsSandboxes(t *testing.T) {
	var schema struct {
		Properties struct {
			Run struct {
				Properties struct {
					Sandbox struct{ Examples []string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(config.SettingsSchema()), &schema); err != nil {
		t.Fatal(err)
	}
	got, want := schema.Properties.Run.Properties.Sandbox.Examples, append([]string{runner.Auto}, Names()...)
	if !slices.Equal(got, want) {
		t.Errorf("mcpgen.schema.json lists %q as sandboxes, want %q", got, want)
	}
}
