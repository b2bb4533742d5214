package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzFiles reads arbitrary text as every host's file. Nothing may panic, and accepted servers must be complete.
func FuzzFiles(f *testing.F) {
	for name := range hostCases() {
		text, err := os.ReadFile(filepath.Join("testdata", "hosts", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(`{"mcpServers": {"a": {"command": "c", "args": ["x"], "env": {"A": "1"}}}}`)
	f.Add(`{"mcpServers": {"": null, "b": [], "c": {"url": {}}}} // end`)
	f.Add("a = [[1], {b = 2}]\n[[t]]\nx = 1979-05-27\n[t.y]\n")
	names := []string{"f.json", "f.toml", ".mcp.json", ".claude.json", "opencode.json", "mcp_config.json"}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range names {
			read, err := parseFile(name, "/d/"+name, []byte(text), ReadOptions{})
			if err != nil {
				checkFileErrors(t, err)
			}
			if read == nil {
				continue
			}
			for _, s := range read.Servers {
				if strings.TrimSpace(s.Key) == "" || (s.Command == "") == (s.URL == "") {
					t.Errorf("%s: accepted %s from %q", name, serverText(s), text)
				}
				_, err := s.Expand(func(string) (string, bool) { return "", false })
				var bad *ExpandError
				if err != nil && !errors.As(err, &bad) {
					t.Errorf("%s: expand: %v", name, err)
				}
			}
		}
	})
}

// checkFileErrors checks that every error says what to do.
func checkFileErrors(t *testing.T, err error) {
	t.Helper()
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			checkFileErrors(t, e)
		}
		return
	}
	var bad *FileError
	if !errors.As(err, &bad) || bad.Problem == "" || bad.Remedy == "" {
		t.Errorf("error %#v", err)
	}
}

func FuzzSettings(f *testing.F) {
	f.Add(StarterSettings)
	f.Add("version: 1\nservers: {a: {include: [x], oauth: {scopes: y}}}\n")
	f.Add("a: &a [*a]\nb: {<<: *a, ? [c] : d}\n--- x\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseSettings("mcpgen.yaml", []byte(text), []Server{{Key: "a"}}); err != nil {
			checkFileErrors(t, err)
		}
	})
}
