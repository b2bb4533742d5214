package gen

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOutIsTheWholeMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".mcp.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers":{}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Sync(t.Context(), Options{Configs: []string{path}, Out: string(filepath.Separator), Check: true})
	var bad *ConfigError
	if !errors.As(err, &bad) {
		t.Errorf("error %v, want a ConfigError", err)
	}
}
