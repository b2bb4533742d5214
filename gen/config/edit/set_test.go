package edit

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/gen/config"
)

// A comment after a server on the same line stays with that server.
func TestSetServersKeepsComments(t *testing.T) {
	const added = `"b": {
      "command": "y"
    }`
	tests := []struct{ name, text, want string }{
		{"comma, comment", "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }, // keep\n    /* tail */\n  },\n}",
			"{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }, // keep\n    /* tail */\n    " + added + ",\n  },\n}"},
		{"comment", "{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" } /* one */ // two\n  }\n}",
			"{\n  \"mcpServers\": {\n    \"a\": { \"command\": \"x\" }, /* one */ // two\n    " + added + "\n  }\n}"},
		{"comma on the next line", "{\n  \"mcpServers\": {\n    \"a\": {} // one\n    ,\n  }\n}",
			"{\n  \"mcpServers\": {\n    \"a\": {} // one\n    ,\n    " + added + ",\n  }\n}"},
		{"comment over two lines", "{\n  \"mcpServers\": {\n    \"a\": {} /* one\n two */\n  }\n}",
			"{\n  \"mcpServers\": {\n    \"a\": {}, /* one\n two */\n    " + added + "\n  }\n}"},
		{"brace on the line", "{\n  \"mcpServers\": {\n    \"a\": {} }}",
			"{\n  \"mcpServers\": {\n    \"a\": {},\n    " + added + " }}"},
		{"carriage returns", "{\r\n  \"mcpServers\": {\r\n    \"a\": {} // one\r\n  }\r\n}",
			"{\r\n  \"mcpServers\": {\r\n    \"a\": {}, // one\n    " + added + "\r\n  }\r\n}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := SetServers("f", []byte(tt.text), []Entry{{Key: "b", Value: map[string]string{"command": "y"}}})
			if err != nil || string(got) != tt.want {
				t.Fatalf("%v\ngot  %s\nwant %s", err, got, tt.want)
			}
			if names, err := ServerNames("f", got); err != nil || len(names) != 2 {
				t.Errorf("it is no longer what it was: %v %v, want len(names) 2 and no error", names, err)
			}
		})
	}
}

// FuzzSetServers adds a server to arbitrary text. The result must be readable, and contain the server.
func FuzzSetServers(f *testing.F) {
	f.Add(EmptyServers)
	f.Add("{\"mcpServers\": {\"a\": {\"command\": \"c\"}, // x\n}} ")
	f.Fuzz(func(t *testing.T, text string) {
		out, err := SetServers("f", []byte(text), []Entry{{Key: "new", Value: map[string]string{"command": "c"}}})
		if err != nil {
			return
		}
		names, err := ServerNames("f", out)
		if err != nil || !strings.Contains("\x00"+strings.Join(names, "\x00")+"\x00", "\x00new\x00") {
			t.Errorf("%q became %q: %v, want %q in it and no error", text, out, err, "\x00new\x00")
		}
	})
}

// FuzzAddSettings adds settings to arbitrary text. Nothing may panic.
func FuzzAddSettings(f *testing.F) {
	f.Add(config.StarterSettings)
	f.Add("version: 1\nservers: {a: {include: [x], oauth: {scopes: y}}}\n")
	f.Add("a: &a [*a]\nb: {<<: *a, ? [c] : d}\n--- x\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, _, _ = AddSettings("mcpgen.yaml", []byte(text), []SettingsEntry{{Key: "new", Value: config.ServerSettings{Alias: "n"}}})
	})
}
