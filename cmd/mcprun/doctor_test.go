package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// told is a sandbox that says what it is told to, and starts nothing.
type told struct {
	sandbox.Backend
	name   string
	status sandbox.Status
}

func (s told) Name() string                         { return s.name }
func (s told) Probe(context.Context) sandbox.Status { return s.status }
func (s told) Runtime(lang sandbox.Language) (sandbox.Runtime, bool) {
	return sandbox.Node, s.name != "embedded" || lang == sandbox.LangTypeScript
}
func (s told) Start(context.Context, sandbox.Spec) (sandbox.Process, error) {
	return nil, errors.New("nothing starts here")
}

func both() []sandbox.Language {
	return []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython}
}

// TestDoctor looks at this machine. The embedded sandbox works on each.
func TestDoctor(t *testing.T) {
	code, stdout, stderr := mcprun(t, "doctor", "--json", "--no-speed")
	var found []finding
	if err := json.Unmarshal([]byte(stdout), &found); err != nil || code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %v, stdout %q, stderr %q", code, err, stdout, stderr)
	}
	i := slices.IndexFunc(found, func(f finding) bool { return f.Name == "embedded" })
	if i < 0 || !found[i].Usable || found[i].GoodFor != runner.RiskLow {
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

// TestDoctorKnowsTheProject: it looks at the image that a run of this project would take.
func TestDoctorKnowsTheProject(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{".mcp.json": `{"mcpServers": {}}`, "mcpgen.yaml": "version: 1\nrun: {image: my/own}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer
	app := &cli.App{Dir: dir, Stderr: &stderr, LookupEnv: func(string) (string, bool) { return "", false }}
	o := &doctorOptions{app: app}
	if o.settle(); o.imageName(app) != "my/own" || stderr.Len() > 0 {
		t.Errorf("image %q, stderr %q", o.imageName(app), &stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "mcpgen.yaml"), []byte("version: 1\nrun: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o = &doctorOptions{app: app}
	if o.settle(); o.imageName(app) != "" || !strings.Contains(stderr.String(), "mcpgen.yaml:2") {
		t.Errorf("image %q, stderr %q", o.imageName(app), &stderr)
	}
}

// TestSpeed measures the embedded sandbox, which starts everywhere.
func TestSpeed(t *testing.T) {
	list, err := (&backendOptions{}).backends(&cli.App{LookupEnv: func(string) (string, bool) { return "", false }}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(list)
	f := probe(t.Context(), list[:1])[0]
	f.measure(t.Context())
	if s := f.Starts; f.Name != "embedded" || !f.Usable || len(s) != 1 || s[0].Language != sandbox.LangTypeScript || s[0].MS <= 0 || s[0].Error != "" {
		t.Errorf("%+v", f)
	}
}

func TestDoctorForPeople(t *testing.T) {
	code, stdout, _ := mcprun(t, "doctor", "--no-speed")
	for _, want := range []string{"embedded  usable", "good for:        code of low risk\n", "runs:            typescript\n", "--risk critical: "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is missing in:\n%s", want, stdout)
		}
	}
	if code != 0 || strings.Contains(stdout, "starts in:") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}

// TestASandboxThatStartsNothing is not usable, whatever its parts say.
func TestASandboxThatStartsNothing(t *testing.T) {
	f := probe(t.Context(), []sandbox.Backend{told{name: "process", status: sandbox.Status{Usable: true, Detail: "all is there", Languages: both()}}})[0]
	f.measure(t.Context())
	if f.Usable || !strings.Contains(f.Detail, "nothing starts here") || f.Remedy == "" || len(f.Starts) != 2 {
		t.Errorf("%+v", f)
	}
}

func TestWhatAutoTakes(t *testing.T) {
	usable := sandbox.Status{Usable: true, Languages: both()}
	backends := []sandbox.Backend{
		told{name: "embedded", status: usable}, told{name: "process", status: usable}, told{name: "docker", status: usable}, told{name: "gvisor"},
	}
	for risk, want := range map[runner.Risk]string{
		"": "docker", "low": "embedded for typescript, process for python", "medium": "docker", "high": "docker", "critical": "none of these",
	} {
		if got := choices(t.Context(), backends, risk); got != want {
			t.Errorf("risk %q: %q, want %q", risk, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"a short line", 40, []string{"a short line"}},
		{"a line that is longer than it may be", 20, []string{"a line that is", "longer than it may", "be"}},
		{"one-word-that-has-no-place-to-break then more", 20, []string{"one-word-that-has-no-place-to-break", "then more"}},
		{"no terminal, or too narrow a one", -25, []string{"no terminal, or too narrow a one"}},
		{"", 40, []string{""}},
	} {
		if got := fold(c.text, c.width); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
}
