package config

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPlugins(t *testing.T) {
	const text = `version: 1
plugins:
  - plugins/limit.py
  - {run: [python3, -u, plugins/mask.py], on: [result], check: privacy, mode: stream, timeout: 2s, on_error: allow, tools: ["crm__*"]}
  - {run: ../common/audit.sh, name: shared}
`
	s, err := parseSettings("mcpgen.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Plugins) != 3 {
		t.Fatalf("%d plugins, want 3", len(s.Plugins))
	}
	limit, mask, shared := s.Plugins[0], s.Plugins[1], s.Plugins[2]
	if limit.Name != "limit" || !limit.IsFile || limit.Check != CheckBusiness || limit.Mode != PluginOnce || limit.Timeout != 5*time.Second || limit.OnError != "deny" || limit.On != nil {
		t.Errorf("the short form is %+v, want the defaults", limit)
	}
	if mask.Name != "mask" || mask.IsFile || !slices.Equal(mask.Run, []string{"python3", "-u", "plugins/mask.py"}) || mask.Mode != PluginStream || mask.OnError != "allow" || mask.Timeout != 2*time.Second {
		t.Errorf("the long form is %+v", mask)
	}
	if shared.Name != "shared" || !shared.IsFile || shared.Timeout != 5*time.Second {
		t.Errorf("a mapping with a file is %+v", shared)
	}
	if s.Guardrails.Present || !s.Guardrails.Checked(CheckBusiness) {
		t.Errorf("guardrails without the key: %+v, want all plugins asked and nothing else", s.Guardrails)
	}
}

func TestPluginErrors(t *testing.T) {
	for text, want := range map[string]string{
		`[""]`:                                         `mcpgen.yaml:2: plugins[0]: it is empty`,
		`[{on: [call]}]`:                               `plugins[0].run: it is missing; write a file, such as plugins/limit.py`,
		`[{run: []}]`:                                  `plugins[0].run: the list is empty; write a file`,
		`[{run: a.py, on: [before]}]`:                  `plugins[0].on[0]: "before" is not known; write one of run, run_end, call, result`,
		`[{run: a.py, timeout: 0s}]`:                   `plugins[0].timeout: it leaves no time for an answer; write a time such as 5s`,
		`[{run: a.py, on_error: open}]`:                `plugins[0].on_error: "open" is not known; write one of deny, allow`,
		`[plugins/a.py, other/a.js]`:                   `plugins[1]: another plugin is called "a" too; give it a name of its own`,
		`[plugins/my limit.py]`:                        `plugins[0]: a plugin cannot be called "my limit"`,
		`[{run: a.py, check: law}]`:                    `plugins[0].check: "law" is not known; write one of security, privacy, business`,
		`[{run: a.py, strict_mode: true}]`:             `the key "strict_mode" is not known`,
		`[a.py]` + "\nguardrails: {max_time: 0s}":      `guardrails.max_time: it leaves runs no time`,
		`[a.py]` + "\nguardrails: {max_memory: lots}":  `guardrails.max_memory: "lots" is not a memory size`,
		`[a.py]` + "\nguardrails: {strict_mode: true}": `guardrails: the key "strict_mode" is not known; did you mean strict?`,
	} {
		_, err := parseSettings("mcpgen.yaml", []byte("version: 1\nplugins: "+text+"\n"), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
}

// TestGuardrails checks the defaults of the key: on, not strict, 300 s and 512 MB.
func TestGuardrails(t *testing.T) {
	for _, text := range []string{"guardrails:\n", "guardrails: {}\n", "guardrails: {enabled: true}\n", "guardrails: {checks: }\n"} {
		s, err := parseSettings("mcpgen.yaml", []byte("version: 1\n"+text), nil)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		g := s.Guardrails
		if maxTime, maxMemory := g.Ceilings(); !g.Checked(CheckSecurity) || !g.Checked(CheckPrivacy) || !g.Checked(CheckBusiness) || g.RefusesFindings() || maxTime != 300*time.Second || maxMemory != 512_000_000 {
			t.Errorf("%q: %+v, want everything on, not strict, 300 s and 512 MB", text, g)
		}
	}
	s, err := parseSettings("mcpgen.yaml", []byte("version: 1\nguardrails: {strict: true, checks: {privacy: false}, max_time: 1m}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if g := s.Guardrails; !g.RefusesFindings() || g.Checked(CheckPrivacy) || !g.Checked(CheckBusiness) || g.MaxTime != time.Minute || g.MaxMemory != "512MB" {
		t.Errorf("guardrails %+v", g)
	}
	s.Guardrails.Checks.Security = false
	if s.Guardrails.RefusesFindings() || s.Guardrails.Checked(CheckSecurity) {
		t.Error("strict refuses findings although checks.security is false")
	}
	s.Guardrails.Enabled = false
	if maxTime, maxMemory := s.Guardrails.Ceilings(); maxTime != 0 || maxMemory != 0 || s.Guardrails.Checked(CheckBusiness) {
		t.Error("guardrails that are off still do something")
	}
}

func TestGuardrailsVariables(t *testing.T) {
	strict := DefaultGuardrails()
	strict.Strict = true
	for _, c := range []struct {
		from            Guardrails
		on, strict      string
		enabled, isHard bool
		loosened        string
	}{
		{Guardrails{}, "", "", false, false, ""},
		{Guardrails{}, "true", "", true, false, ""},
		{Guardrails{}, "", "1", true, true, ""},
		{Guardrails{}, "false", "", false, false, GuardrailsVariable},
		{strict, "", "false", true, false, GuardrailsStrictVariable},
		{strict, "false", "", false, true, GuardrailsVariable},
		{DefaultGuardrails(), "true", "true", true, true, ""},
	} {
		got, loosened, err := c.from.With(func(name string) string {
			return map[string]string{GuardrailsVariable: c.on, GuardrailsStrictVariable: c.strict}[name]
		})
		if err != nil || got.Enabled != c.enabled || got.Strict != c.isHard || loosened != c.loosened {
			t.Errorf("%+v with %q and %q = %+v, %q, %v", c.from, c.on, c.strict, got, loosened, err)
		}
	}
	if _, _, err := strict.With(func(string) string { return "maybe" }); err == nil {
		t.Error("With() accepts \"maybe\"")
	}
}
