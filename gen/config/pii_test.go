package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPII(t *testing.T) {
	cfg, err := loadWith(t, `version: 1
pii:
  mode: output
  servers: {crm: bridge, git hub: off}
  fields: {who: NAME, salesforceId: off}
  customers:
    acme: {mode: off, servers: {git hub: output}, fields: {who: off}}
    empty:
  detector: {url: "http://127.0.0.1:5002", timeout: 1s, on_error: closed}
  retention: 90d
`)
	if err != nil {
		t.Fatal(err)
	}
	p := cfg.Settings.PII
	want := PIIPart{PIIOutput, map[string]PIIMode{"crm": PIIBridge, "git hub": PIIOff}, map[string]string{"who": "NAME", "salesforceId": "off"}}
	for _, customer := range []string{"", "empty", "unknown"} {
		if diff := cmp.Diff(want, p.For(customer)); diff != "" {
			t.Errorf("For(%q) (-want +got):\n%s", customer, diff)
		}
	}
	want = PIIPart{PIIOff, map[string]PIIMode{"crm": PIIBridge, "git hub": PIIOutput}, map[string]string{"who": "off", "salesforceId": "off"}}
	if diff := cmp.Diff(want, p.For("acme")); diff != "" {
		t.Errorf("For(acme) (-want +got):\n%s", diff)
	}
	detector := &PIIDetector{URL: "http://127.0.0.1:5002", Timeout: time.Second}
	if diff := cmp.Diff(detector, p.Detector); diff != "" {
		t.Errorf("the detector (-want +got):\n%s", diff)
	}
	if p.RetentionTime() != 90*24*time.Hour || (&PII{}).RetentionTime() != 0 {
		t.Errorf("RetentionTime() = %v and %v, want 90 days and 0", p.RetentionTime(), (&PII{}).RetentionTime())
	}
}

func TestPIIEffective(t *testing.T) {
	p := &PII{PIIPart: PIIPart{Servers: map[string]PIIMode{"crm": PIIBridge, "web": PIIOff}}, Customers: map[string]PIIPart{"acme": {Mode: PIIOff}, "beta": {Mode: PIIBridge}}}
	for _, c := range []struct {
		customer         string
		given, otherwise PIIMode
		want             PIIMode
		crm, web         PIIMode
		off              bool
	}{
		{"", "", PIIOff, PIIOff, PIIBridge, PIIOff, false},
		{"", "", PIIOutput, PIIOutput, PIIBridge, PIIOff, false},
		{"acme", "", PIIOutput, PIIOff, PIIBridge, PIIOff, false},
		{"acme", PIIOutput, PIIOff, PIIOutput, PIIBridge, "", false}, // what is given is the least
		{"beta", PIIOutput, PIIOff, PIIBridge, PIIBridge, "", false}, // the file hides more
		{"beta", PIIOff, PIIOutput, PIIOff, "", "", true},
		{"", PIIBridge, PIIOff, PIIBridge, PIIBridge, "", false},
		{"", PIIOff, PIIOutput, PIIOff, "", "", true},
	} {
		got := p.Effective(c.customer, c.given, c.otherwise)
		if got.Mode != c.want || got.Servers["crm"] != c.crm || got.Servers["web"] != c.web || got.IsOff() != c.off {
			t.Errorf("Effective(%q, %q, %q) = %+v, off %v, want %+v", c.customer, c.given, c.otherwise, got, got.IsOff(), c)
		}
	}
	if p.Servers["crm"] != PIIBridge || p.Servers["web"] != PIIOff {
		t.Errorf("the settings have changed: %+v", p)
	}
}

func TestPIIErrors(t *testing.T) {
	for yaml, want := range map[string]string{
		"pii: {mode: on}":                              `pii.mode: "on" is not known; write one of off, output, bridge`,
		"pii: {servers: {crn: bridge}}":                `pii.servers.crn: no such server is configured`,
		"pii: {customers: {a: {servers: {crn: off}}}}": `pii.customers.a.servers.crn: no such server is configured`,
		"pii: {fields: {who: PERSON}}":                 `pii.fields.who: "PERSON" is not known; write one of ADDRESS, `,
		"pii: {retention: 3 months}":                   `pii.retention: it is not a number of days; write it as 90d`,
		"pii: {detector: {}}":                          `pii.detector.url: it is missing`,
		"pii: {detector: {url: 127.0.0.1}}":            `pii.detector.url: it is not an http or https address`,
	} {
		if _, err := loadWith(t, "version: 1\n"+yaml); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", yaml, err, want)
		}
	}
}

func TestPIIModeHides(t *testing.T) {
	modes := append([]PIIMode{""}, PIIModes()...)
	for i, m := range modes {
		for j, other := range modes {
			if got := m.Hides(other); got != (i >= j) {
				t.Errorf("%q.Hides(%q) = %v, want %v", m, other, got, i >= j)
			}
		}
	}
}
