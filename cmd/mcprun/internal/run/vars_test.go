package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
)

func TestVars(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("v.json", ` {"a": [1, 2], "b": 9007199254740993, "c": "file"}`)
	write("list.json", `[1]`)
	write("null.json", `null`)
	write("bad.json", `{"a": }`)
	write("unnamed.json", `{"": 1}`)
	app := &cli.App{Dir: dir, Stdin: strings.NewReader(`{"piped": true}`)}
	for _, c := range []struct {
		name string
		args []string
		want map[string]string // JSON
		err  string
	}{
		{"none", nil, map[string]string{}, ""},
		{"kinds", []string{"--var", "n=5", "--var", "t=five", "--var", `q="5"`, "--var", "o={\"x\": [true]}", "--var", "e=", "--var", "z=007", "--var", "eq=a=b", "--var", "html=<&>"},
			map[string]string{"n": "5", "t": `"five"`, "q": `"5"`, "o": `{"x": [true]}`, "e": `""`, "z": `"007"`, "eq": `"a=b"`, "html": `"<&>"`}, ""},
		{"the last counts", []string{"--var", "n=5", "--var", "n=6"}, map[string]string{"n": "6"}, ""},
		{"file", []string{"--vars", "v.json", "--var", "c=flag"}, map[string]string{"a": "[1, 2]", "b": "9007199254740993", "c": `"flag"`}, ""},
		{"standard input", []string{"--vars", "-"}, map[string]string{"piped": "true"}, ""},
		{"no name", []string{"--var", "=5"}, nil, "NAME=VALUE"},
		{"no value", []string{"--var", "five"}, nil, "NAME=VALUE"},
		{"no file", []string{"--vars", "nothing.json"}, nil, "nothing.json"},
		{"a list", []string{"--vars", "list.json"}, nil, "list.json"},
		{"null", []string{"--vars", "null.json"}, nil, "null.json"},
		{"no JSON", []string{"--vars", "bad.json"}, nil, "bad.json"},
		{"unnamed", []string{"--vars", "unnamed.json"}, nil, "without a name"},
	} {
		o := &Options{App: app}
		cmd := NewCommand(app, resources.Cold{}, "mcprun", "")
		cmd.ResetFlags()
		o.Bind(cmd)
		err := cmd.ParseFlags(c.args)
		var got map[string]json.RawMessage
		if err == nil {
			if got, err = o.values(t.Context(), app); err == nil {
				got, err = o.values(t.Context(), app) // the second time from memory
			}
		}
		if c.err != "" || err != nil {
			if err == nil || c.err == "" || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.err)
			}
			continue
		}
		texts := map[string]string{}
		for k, v := range got {
			texts[k] = string(v)
		}
		if diff := cmp.Diff(c.want, texts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
