package doctor

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/backends"
	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/runner/risk"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script/check"
	"github.com/mcpgen/mcpgen/runner/script/check/tools"
)

// told is a sandbox that reports what the test sets, and starts nothing.
type told struct {
	sandbox.Backend
	name   string
	status sandbox.Status
}

func (s told) Name() string { return s.name }

func (s told) Probe(context.Context) sandbox.Status { return s.status }

func (s told) Strength() sandbox.Strength {
	switch s.name {
	case "docker":
		return sandbox.Container
	case "gvisor":
		return sandbox.OwnKernel
	}
	return sandbox.SharedKernel
}

func (s told) Runtime(lang sandbox.Language) (sandbox.Runtime, bool) {
	return sandbox.Node, s.name != "embedded" || lang == sandbox.LangTypeScript
}

func (s told) Start(context.Context, sandbox.Spec) (sandbox.Process, error) {
	return nil, errors.New("nothing starts here")
}

func both() []sandbox.Language {
	return []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython}
}

// TestDoctorKnowsTheProject checks that doctor examines the image that a run of this project would use.
func TestDoctorKnowsTheProject(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{".mcp.json": `{"mcpServers": {}}`, "mcpgen.yaml": "version: 1\nrun: {image: my/own}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stderr bytes.Buffer
	app := &cli.App{Dir: dir, Stderr: &stderr, LookupEnv: func(string) (string, bool) { return "", false }}
	settle := func() (image string, err error) {
		o, flags := &command{app: app}, pflag.NewFlagSet("", pflag.ContinueOnError)
		o.Bind(flags)
		err = o.applyDefaults(t.Context(), flags)
		return o.Image, err
	}
	if image, err := settle(); err != nil || image != "my/own" || stderr.Len() > 0 {
		t.Errorf("image = %q, %v, want my/own; stderr %q", image, err, &stderr)
	}
	if err := os.WriteFile(filepath.Join(dir, "mcpgen.yaml"), []byte("version: 1\nrun: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if image, err := settle(); err != nil || image != "" || !strings.Contains(stderr.String(), "mcpgen.yaml:2") {
		t.Errorf("image = %q, %v, want none; stderr %q", image, err, &stderr)
	}
}

// TestPyrightWithoutNode checks that what is installed already is not reported as missing.
func TestPyrightWithoutNode(t *testing.T) {
	all := tools.All(runtime.GOOS, runtime.GOARCH)
	i := slices.IndexFunc(all, func(tool tools.Tool) bool { return tool.Node })
	if i < 0 {
		t.Fatal("there is no checker that needs node")
	}
	dir := t.TempDir()
	file, _ := all[i].Installed(dir)
	for _, name := range []string{file, filepath.Join(dir, "tsc")} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := &command{places: check.Places{TSC: filepath.Join(dir, "tsc"), Tools: dir, LookPath: func(string) (string, error) { return "", exec.ErrNotFound }}}
	if got := o.checkers(); !strings.Contains(got, "install node") || strings.Contains(got, "tools install") {
		t.Errorf(`checkers() = %q, want "install node" in it and no "tools install" in it`, got)
	}
}

// TestSpeed measures the embedded sandbox, which starts everywhere.
func TestSpeed(t *testing.T) {
	list, err := backends.List(backends.Options{LookupEnv: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	defer resources.CloseAll(list)
	f := probe(t.Context(), list[:1])[0]
	f.measure(t.Context())
	if s := f.Starts; f.Name != "embedded" || !f.Usable || len(s) != 1 || s[0].Language != sandbox.LangTypeScript || s[0].MS <= 0 || s[0].Error != "" {
		t.Errorf("%+v", f)
	}
}

// TestASandboxThatStartsNothing checks that such a sandbox is not usable, whatever its parts report.
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
	for least, want := range map[risk.Risk]string{
		risk.None: "docker", risk.Low: "embedded for typescript, process for python", risk.Medium: "docker", risk.High: "docker", risk.Critical: "none of these",
	} {
		if got := choices(t.Context(), backends, least); got != want {
			t.Errorf("risk %q: %q, want %q", least, got, want)
		}
	}
}
