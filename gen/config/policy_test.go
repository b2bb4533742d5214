package config

import (
	"strings"
	"testing"
)

// TestPolicyText changes with the rules, not with comments and lines.
func TestPolicyText(t *testing.T) {
	textOf := func(text string) string {
		t.Helper()
		s, err := parseSettings("mcpgen.yaml", []byte("version: 1\n"+text), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Policy.Text()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const rules = "policy:\n  customers: {b: {level: read_only}, a: {level: read_only}}\n  rules:\n    - {name: a, deny: 'crm__*', over: {run: 3}}\n"
	first := textOf(rules)
	if again := textOf("# a comment\n\n" + rules + "    # another\n"); again != first || first == "" {
		t.Errorf("Text() = %q, then %q with comments, want the same", first, again)
	}
	if other := textOf(rules + "    - {allow: 'crm__*'}\n"); other == first {
		t.Error("a further rule does not change the text")
	}
	if empty := textOf(""); empty != "" {
		t.Errorf("without a policy, Text() = %q", empty)
	}
}

func TestNetworkText(t *testing.T) {
	textOf := func(text string) string {
		t.Helper()
		s, err := parseSettings("mcpgen.yaml", []byte("version: 1\n"+text), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Network.Text()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	one := textOf("network: {allow: [api.example.com]}\n")
	if one == "" || one != textOf("network:\n  # the same\n  allow: [{host: api.example.com}]\n") {
		t.Errorf("the text is %q, and another one of the same rules", one)
	}
	if other := textOf("network: {allow: [api.example.com, b.example.com]}\n"); other == one {
		t.Error("other rules have the same text")
	}
	if got := textOf("run: {}\n"); got != "" {
		t.Errorf("the text without rules is %q", got)
	}
}

// TestServersText has addresses and programs, and of variables and headers only names.
func TestServersText(t *testing.T) {
	conceal := func(text string) string { return strings.ReplaceAll(text, "hunter2", "[TOKEN]") }
	got, err := ServersText([]Server{
		{Key: "crm", Command: "crm-server", Args: []string{"--token=hunter2", "hunter2"}, Env: map[string]string{"B": "hunter3", "A": "${A}"}},
		{Key: "web", URL: "https://hunter2@web.example/mcp", Headers: map[string]string{"X-Key": "hunter3"}, Trusted: true},
	}, conceal)
	want := "crm:\n    command: crm-server\n    args:\n        - --token=[TOKEN]\n        - '[TOKEN]'\n    variables:\n        - A\n        - B\n" +
		"web:\n    url: https://[TOKEN]@web.example/mcp\n    headers:\n        - X-Key\n    trusted: true\n"
	if err != nil || got != want {
		t.Errorf("ServersText() = %q, %v, want %q", got, err, want)
	}
	if got, err := ServersText(nil, conceal); got != "" || err != nil {
		t.Errorf("without servers, ServersText() = %q, %v", got, err)
	}
	for text, set := range map[string]string{"": "", "pii: {mode: bridge}": "mode: bridge"} {
		s, err := parseSettings("mcpgen.yaml", []byte("version: 1\n"+text), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.PII.Text(); err != nil || !strings.Contains(got, set) || (got == "") != (set == "") {
			t.Errorf("%q: PII.Text() = %q, %v", text, got, err)
		}
		if got, err := s.Audit.Text(); err != nil || got != "" {
			t.Errorf("%q: Audit.Text() = %q, %v", text, got, err)
		}
	}
}
