package config

import "testing"

// TestPolicyDigest changes with the rules, not with comments and lines.
func TestPolicyDigest(t *testing.T) {
	digest := func(text string) string {
		t.Helper()
		s, err := parseSettings("mcpgen.yaml", []byte("version: 1\n"+text), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Policy.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	const rules = "policy:\n  customers: {b: {level: read_only}, a: {level: read_only}}\n  rules:\n    - {name: a, deny: 'crm__*', over: {run: 3}}\n"
	first := digest(rules)
	if again := digest("# a comment\n\n" + rules + "    # another\n"); again != first || len(first) != 64 {
		t.Errorf("Digest() = %q, then %q with comments, want the same", first, again)
	}
	if other := digest(rules + "    - {allow: 'crm__*'}\n"); other == first {
		t.Error("a further rule does not change the digest")
	}
	if empty := digest(""); empty != "" {
		t.Errorf("without a policy, Digest() = %q", empty)
	}
}

func TestNetworkDigest(t *testing.T) {
	digest := func(text string) string {
		t.Helper()
		s, err := parseSettings("mcpgen.yaml", []byte("version: 1\n"+text), nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.Network.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	one := digest("network: {allow: [api.example.com]}\n")
	if one == "" || one != digest("network:\n  # the same\n  allow: [{host: api.example.com}]\n") {
		t.Errorf("the digest is %q, and another one of the same rules", one)
	}
	if other := digest("network: {allow: [api.example.com, b.example.com]}\n"); other == one {
		t.Error("other rules have the same digest")
	}
	if got := digest("run: {}\n"); got != "" {
		t.Errorf("the digest without rules is %q", got)
	}
}
