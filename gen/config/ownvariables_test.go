package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDotEnvSettings: a .env sets what run: sets and takes precedence over it; paths start at its folder. Nothing that says what is trusted
// or read comes from it.
func TestDotEnvSettings(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		OwnName:      `{"mcpServers": {}}`,
		SettingsName: "version: 1\nrun: {timeout: 9s, memory: 512, risk: high}\n",
		DotEnvName: "MCPRUN_TIMEOUT=1\nMCPRUN_WORKSPACE=w\nMCPRUN_TSC=tsc\nMCPRUN_STATE=s.db\nMCPRUN_RISK=low\nMCPRUN_NODE=./node\nLOG_FILE=x.log\nMCPRUN_LOG_LEVEL=debug\nOTEL_SERVICE_NAME=me\n" +
			"MCPRUN_PACKAGES=x\nMCPRUN_TIMOUT=2\nMCPRUN_NETWORK_CONNECT_TO=a\nMCPGEN_TRUST=1\nMCPGEN_CONFIG=other.json\nMCPRUN_QUOTA=\nOTHER=1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := Load(filepath.Join(dir, OwnName))
	if err != nil {
		t.Fatal(err)
	}
	got := cfg.Settings
	at := func(name string) string { return filepath.Join(dir, name) }
	want := RunSettings{
		"timeout": {Value: "1", Variable: "MCPRUN_TIMEOUT"}, "workspace": {Value: at("w"), Variable: "MCPRUN_WORKSPACE"}, "tsc": {Value: "tsc", Variable: "MCPRUN_TSC"},
		"state": {Value: at("s.db"), Variable: "MCPRUN_STATE"}, "memory": {Value: "512", Line: 2}, "risk": {Value: "high", Line: 2},
	}
	if diff := cmp.Diff(want, got.Run); diff != "" {
		t.Errorf("run settings (-want +got):\n%s", diff)
	}
	variables := map[string]string{
		"MCPRUN_TIMEOUT": "1", "MCPRUN_WORKSPACE": at("w"), "MCPRUN_TSC": "tsc", "MCPRUN_STATE": at("s.db"), "MCPRUN_RISK": "low", "MCPRUN_NODE": at("node"),
		"LOG_FILE": at("x.log"), "MCPRUN_LOG_LEVEL": "debug", "OTEL_SERVICE_NAME": "me",
	}
	if diff := cmp.Diff(variables, got.Variables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if want := []string{"MCPRUN_NETWORK_CONNECT_TO", "MCPRUN_PACKAGES", "MCPRUN_TIMOUT"}; !slices.Equal(got.Unknown, want) {
		t.Errorf("unknown names %q, want %q", got.Unknown, want)
	}
}
