package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/doctor"
	"github.com/mcpgen/mcpgen/runner/risk"
)

// TestDoctor examines this machine. The embedded sandbox works everywhere.
func TestDoctor(t *testing.T) {
	code, stdout, stderr := mcprun(t, "doctor", "--json", "--no-speed")
	var report doctor.Report
	err := json.Unmarshal([]byte(stdout), &report)
	found := report.Sandboxes
	if err != nil || code != 0 || stderr != "" {
		t.Fatalf(`exit code %d, %v, stdout %q, stderr %q, want 0, "" and no error`, code, err, stdout, stderr)
	}
	i := slices.IndexFunc(found, func(f doctor.Finding) bool { return f.Name == "embedded" })
	if i < 0 || !found[i].Usable || found[i].GoodFor != risk.Low {
		t.Fatalf("%+v", found)
	}
	for _, f := range found {
		if !f.Usable && (f.Detail == "" || f.Remedy == "") {
			t.Errorf("%s is not usable: detail %q, remedy %q", f.Name, f.Detail, f.Remedy)
		}
		if f.Usable && (len(f.Holds) == 0 || len(f.Lacks) == 0) {
			t.Errorf("%s does not say what it holds (%q) or what it does not (%q)", f.Name, f.Holds, f.Lacks)
		}
	}
}

func TestDoctorForPeople(t *testing.T) {
	code, stdout, _ := mcprun(t, "doctor", "--no-speed")
	summary, _, _ := strings.Cut(stdout, "\n\n")
	lines := strings.Split(summary, "\n")
	if len(lines) != 8 || !strings.HasPrefix(lines[0], "embedded  usable      typescript; code of low risk") || !strings.HasPrefix(lines[4], "auto      selects ") || !strings.HasPrefix(lines[5], "types     ") || !strings.HasPrefix(lines[6], "personal  ") || !strings.HasPrefix(lines[7], "state     ") {
		t.Errorf("the summary is not eight lines:\n%s", summary)
	}
	for _, want := range []string{"embedded  usable", "good for:        code of low risk\n", "runs:            typescript\n", "--risk critical: "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in:\n%s", want, stdout)
		}
	}
	if code != 0 || strings.Contains(stdout, "takes:") {
		t.Errorf("exit code %d, want 0 and no \"takes:\" in it:\n%s", code, stdout)
	}
}
