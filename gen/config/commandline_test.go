package config

import (
	"slices"
	"testing"
)

func TestFromCommandLine(t *testing.T) {
	for text, want := range map[string]Server{
		"https://mcp.example.com/mcp?x=a b":        {Key: "mcp.example.com", Transport: TransportHTTP, Inferred: true, URL: "https://mcp.example.com/mcp?x=a b"},
		"npx -y @modelcontextprotocol/files@1 ./d": {Key: "files@1", Transport: TransportStdio, Command: "npx", Args: []string{"-y", "@modelcontextprotocol/files@1", "./d"}},
		"cmd /c npx -y files":                      {Key: "files", Transport: TransportStdio, Command: "cmd", Args: []string{"/c", "npx", "-y", "files"}},
		"./server.py":                              {Key: "server", Transport: TransportStdio, Command: "./server.py"},
		`sh -c "exec server 'a b'"`:                {Key: "sh", Transport: TransportStdio, Command: "sh", Args: []string{"-c", "exec server 'a b'"}},
		`server C:\data`:                           {Key: "server", Transport: TransportStdio, Command: "server", Args: []string{`C:\data`}},
		"server https://example.com":               {Key: "server", Transport: TransportStdio, Command: "server", Args: []string{"https://example.com"}},
	} {
		got, err := FromCommandLine(text, "/p")
		if err != nil || got.Key != want.Key || got.Transport != want.Transport || got.Inferred != want.Inferred || got.URL != want.URL || got.Command != want.Command ||
			!slices.Equal(got.Args, want.Args) || got.Dir != "/p" {
			t.Errorf("FromCommandLine(%q) = %#v, %v, want %#v", text, got.URL+got.Command, err, want.URL+want.Command)
		}
		if !IsServerText(text) {
			t.Errorf("IsServerText(%q) = false, want true", text)
		}
	}
	for _, text := range []string{"file:///etc/passwd", "https://", " ", `server "a`} {
		if got, err := FromCommandLine(text, "/p"); err == nil {
			t.Errorf("FromCommandLine(%q) = %v, want an error", text, got)
		}
	}
	for _, text := range []string{"crm__get", "crm.get", "drive__resources/read"} {
		if IsServerText(text) {
			t.Errorf("IsServerText(%q) = true, want false", text)
		}
	}
}

func TestProgram(t *testing.T) {
	for _, test := range []struct {
		command string
		args    []string
		name    string
		rest    []string
	}{
		{"npx", []string{"-y", "x"}, "npx", []string{"-y", "x"}},
		{"/usr/bin/npx", nil, "npx", nil},
		{"NPX.CMD", []string{"x"}, "npx", []string{"x"}},
		{"cmd", []string{"/c", "npx", "-y", "x"}, "npx", []string{"-y", "x"}},
		{"cmd.exe", []string{"/C", "npx.cmd", "x"}, "npx", []string{"x"}},
		{"cmd", []string{"/k", "npx", "x"}, "cmd", []string{"/k", "npx", "x"}},
	} {
		if name, rest := Program(test.command, test.args); name != test.name || !slices.Equal(rest, test.rest) {
			t.Errorf("Program(%q, %q) = %q, %q, want %q, %q", test.command, test.args, name, rest, test.name, test.rest)
		}
	}
}
