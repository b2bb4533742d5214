package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// repository is the root of the checkout.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// action is action.yml as GitHub reads it.
type action struct {
	Name, Description string
	Inputs            map[string]struct {
		Description, Default string
		Required             bool
	}
	Outputs map[string]struct{ Description, Value string }
	Runs    struct {
		Using string
		Steps []step
	}
}

type step struct {
	ID, If, Uses, Run, Shell string
	WorkingDirectory         string `yaml:"working-directory"`
	Env, With                map[string]string
}

func readAction(t *testing.T) action {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(repository(t), "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var a action
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(false)
	if err := dec.Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestActionIsWellFormed(t *testing.T) {
	a := readAction(t)
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" || len(a.Runs.Steps) != 4 {
		t.Fatalf("%+v", a)
	}
	ids := map[string]bool{}
	for _, s := range a.Runs.Steps {
		if s.Run != "" {
			if strings.Contains(s.Run, "${{") {
				t.Errorf(`step %q: an expression in a script is run as part of it: got %q, want no "${{" in it`, s.ID, s.Run)
			}
			if s.Shell != "bash" {
				t.Errorf(`step %q: shell %q, want "bash"`, s.ID, s.Shell)
			}
			if out, err := exec.Command("bash", "-n", "-c", s.Run).CombinedOutput(); err != nil {
				t.Errorf("step %q: %v\n%s", s.ID, err, out)
			}
		}
		if s.Uses != "" && !regexp.MustCompile(`^actions/[a-z-]+@v\d+$`).MatchString(s.Uses) {
			t.Errorf("%q is not an action of GitHub's at a version", s.Uses)
		}
		ids[s.ID] = true
	}
	// Every reference must be to something that exists.
	text, err := os.ReadFile(filepath.Join(repository(t), "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`inputs\.([a-z-]+)`).FindAllStringSubmatch(string(text), -1) {
		if _, ok := a.Inputs[m[1]]; !ok {
			t.Errorf("no input %q", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`steps\.([a-z]+)\.outputs\.([a-z-]+)`).FindAllStringSubmatch(string(text), -1) {
		if !ids[m[1]] || !strings.Contains(string(text), m[2]+"=") {
			t.Errorf("nothing writes %s", m[0])
		}
	}
}

// runner imitates what a GitHub runner gives to the scripts of an action.
type runner struct {
	t      *testing.T
	action action
	dir    string // the checkout
	temp   string
	env    []string
}

func newRunner(t *testing.T) *runner {
	r := &runner{t: t, action: readAction(t), dir: t.TempDir(), temp: t.TempDir()}
	r.env = append(os.Environ(), "RUNNER_TEMP="+r.temp, "GITHUB_RUN_ID=7", "GITHUB_ACTIONS=true", "GITHUB_WORKSPACE="+r.dir,
		"GITHUB_STEP_SUMMARY="+filepath.Join(r.temp, "summary"))
	return r
}

// run runs the script of a step with inputs, and returns its output, the outputs it set, and its exit code.
func (r *runner) run(id string, inputs map[string]string, env ...string) (log string, outputs map[string]string, code int) {
	r.t.Helper()
	i := slices.IndexFunc(r.action.Runs.Steps, func(s step) bool { return s.ID == id })
	s := r.action.Runs.Steps[i]
	set := filepath.Join(r.temp, "output")
	if err := os.WriteFile(set, nil, 0o644); err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run) // as GitHub does for shell: bash
	cmd.Dir = r.dir
	cmd.Env = append(slices.Clone(r.env), "GITHUB_OUTPUT="+set)
	for name, value := range s.Env {
		if input, ok := strings.CutPrefix(value, "${{ inputs."); ok {
			input = strings.TrimSuffix(input, " }}")
			given, ok := inputs[input]
			if !ok {
				given = r.action.Inputs[input].Default
			}
			cmd.Env = append(cmd.Env, name+"="+given)
		} else if !strings.Contains(value, "${{") {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	b, err := os.ReadFile(set)
	if err != nil {
		r.t.Fatal(err)
	}
	outputs = map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		outputs[name] = value
	}
	return string(out), outputs, cmd.ProcessState.ExitCode()
}

func (r *runner) write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// The scripts of the action install mcpgen from its own source, and check a project with it.
func TestActionRuns(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Fatal("the action's scripts need bash")
	}
	r := newRunner(t)
	log, outputs, code := r.run("install", nil, "ACTION_PATH="+repository(t), "GOPROXY=off", "CGO_ENABLED=0")
	binary := outputs["binary"]
	if code != 0 || !strings.HasPrefix(log, "mcpgen ") && !strings.Contains(log, "\nmcpgen ") {
		t.Fatalf("install: exit code %d, binary %q\n%s", code, binary, log)
	}
	if _, outputs, code := r.run("install", map[string]string{"binary": binary}, "ACTION_PATH="); code != 0 || outputs["binary"] != binary {
		t.Errorf("a given binary: exit code %d, %v, want 0 and %v", code, outputs, binary)
	}
	demo := filepath.Join(buildDemo(t), "mcpdemo")
	r.write(".git/HEAD", "")
	r.write(".mcp.json", fmt.Sprintf(`{"mcpServers": {"calculator": {"command": %q, "args": ["calculator"]}}}`, demo))
	sync := func(inputs map[string]string) (string, map[string]string, int) {
		return r.run("sync", inputs, "MCPGEN="+binary)
	}

	log, outputs, code = sync(map[string]string{"args": ""})
	if code != 0 || outputs["drift"] != "true" || outputs["exit-code"] != "0" {
		t.Fatalf("write: exit code %d, %v, want 0, \"true\" and \"0\"\n%s", code, outputs, log)
	}
	log, outputs, code = sync(nil)
	if code != 0 || outputs["drift"] != "false" || outputs["breaking"] != "false" || strings.Contains(log, "::error") {
		t.Errorf("in sync: exit code %d, %v, want 0, \"false\", \"false\" and no \"::error\" in it\n%s", code, outputs, log)
	}
	r.write("servers/calculator/index.ts", "// Code generated by mcpgen. DO NOT EDIT.\n")
	for fail, want := range map[string]int{"true": 1, "false": 0} {
		log, outputs, code = sync(map[string]string{"args": " --check\n --strict ", "offline": "true", "config": ".mcp.json\n", "fail": fail})
		if code != want || outputs["drift"] != "true" || outputs["exit-code"] != "1" || !strings.Contains(log, "::error file=servers/calculator/index.ts,line=1") {
			t.Errorf("drift: exit code %d, %v, want %d, \"true\", \"1\" and \"::error file=servers/calculator/index.ts,line=1\" in it\n%s", code, outputs, want, log)
		}
		if b, err := os.ReadFile(outputs["report"]); err != nil || !strings.Contains(string(b), `"inSync": false`) {
			t.Errorf("report: %v, want %q in it and no error\n%s", err, `"inSync": false`, b)
		}
	}
	if b, err := os.ReadFile(filepath.Join(r.temp, "summary")); err != nil || strings.Count(string(b), "## mcpgen: ") != 4 {
		t.Errorf("summary: %v, want 4 and no error\n%s", err, b)
	}
	// A check that cannot be made fails, whatever fail says. Arguments are words, never code.
	log, outputs, code = sync(map[string]string{"args": "--check --config $(touch${IFS}evil);x *", "fail": "false"})
	if code != 2 || outputs["drift"] != "false" || outputs["exit-code"] != "2" {
		t.Errorf("bad arguments: exit code %d, %v, want 2, \"false\" and \"2\"\n%s", code, outputs, log)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "evil")); err == nil {
		t.Error("an argument was run: got no error, want an error")
	}
}

// TestActionDownloads checks that a release's program is used if there is one, after its checksum was compared; otherwise the
// next steps build it.
func TestActionDownloads(t *testing.T) {
	const program = "#!/bin/sh\necho mcpgen v1.2.3\n"
	var archive bytes.Buffer
	compressed := gzip.NewWriter(&archive)
	files := tar.NewWriter(compressed)
	for _, err := range []error{
		files.WriteHeader(&tar.Header{Name: "mcpgen", Mode: 0o755, Size: int64(len(program))}),
		func() error { _, err := files.Write([]byte(program)); return err }(),
		files.Close(), compressed.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const file = "mcpgen_linux_arm64.tar.gz"
	sums := fmt.Sprintf("%064d  mcpgen_linux_amd64.tar.gz\n%x  %s\n", 0, sha256.Sum256(archive.Bytes()), file)
	served := map[string]string{"/download/v6.6.6/checksums.txt": sums, "/download/v6.6.6/" + file: "something else"}
	for _, release := range []string{"/download/v1.2.3/", "/latest/download/"} {
		served[release+"checksums.txt"], served[release+file], served[release+"mcpgen_linux_amd64.tar.gz"] = sums, archive.String(), "something else"
	}
	releases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		content, ok := served[req.URL.Path]
		if !ok {
			http.NotFound(w, req)
			return
		}
		_, _ = io.WriteString(w, content)
	}))
	t.Cleanup(releases.Close)

	r := newRunner(t)
	r.write("CHANGELOG.md", "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-12-01\n\n## 1.2.2 - 2026-11-01\n")
	for _, test := range []struct {
		version, ref, arch string
		binary             bool
		code               int
		log                string
	}{
		{ref: "v1.2.3", binary: true},
		{ref: "v1", binary: true}, // the tag that moves
		{ref: "main"},
		{ref: "0123456789abcdef0123456789abcdef01234567"},
		{},
		{version: "latest", ref: "main", binary: true},
		{version: "v1.2.3", ref: "v1", binary: true},
		{version: "main", ref: "v1"},
		{version: "v9.9.9", log: "no release v9.9.9 was found; it is built with Go"},
		{version: "v1.2.3", arch: "X64", code: 1, log: "FAILED"},
		{version: "v1.2.3", arch: "RISCV64"},
		{version: "v6.6.6", code: 1, log: "FAILED"},
	} {
		if test.arch == "" {
			test.arch = "ARM64"
		}
		log, outputs, code := r.run("download", map[string]string{"version": test.version}, "ACTION_PATH="+r.dir, "ACTION_REF="+test.ref,
			"RELEASES="+releases.URL, "RUNNER_OS=Linux", "RUNNER_ARCH="+test.arch)
		if code != test.code || (outputs["binary"] != "") != test.binary || !strings.Contains(log, test.log) {
			t.Errorf("download %+v: exit code %d, %v\n%s", test, code, outputs, log)
			continue
		}
		if test.binary {
			log, outputs, code = r.run("install", nil, "DOWNLOADED="+outputs["binary"], "PATH=/usr/bin:/bin")
			if code != 0 || log != "mcpgen v1.2.3\n" || outputs["binary"] == "" {
				t.Errorf("install %+v: exit code %d, %v\n%s", test, code, outputs, log)
			}
		}
	}
}

func TestPreCommitHooks(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(repository(t), ".pre-commit-hooks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Name, Entry, Language, Files string
		PassFilenames                    *bool `yaml:"pass_filenames"`
	}
	if err := yaml.Unmarshal(b, &hooks); err != nil || len(hooks) != 2 {
		t.Fatalf("%v %+v, want len(hooks) 2 and no error", err, hooks)
	}
	for _, h := range hooks {
		if h.ID == "" || h.Name == "" || h.Language != "golang" || h.PassFilenames == nil || *h.PassFilenames || !strings.HasPrefix(h.Entry, "mcpgen sync ") {
			t.Errorf("%+v", h)
		}
		files := regexp.MustCompile(h.Files)
		for name, want := range map[string]bool{"mcpgen.json": true, "sub/mcpgen.json": true, ".mcp.json": true, "sub/.mcp.json": true, "my-mcpgen.json": false, "mcpgen.yaml": true, "servers/a/b.ts": true,
			"lib/tools/.mcpgen/lock.json": true, "main.go": false, "docs/servers.md": false} {
			if files.MatchString(name) != want {
				t.Errorf("%s: %q: %v", h.ID, name, !want)
			}
		}
	}
}

// TestGoTool checks that a Go module can name mcpgen as a tool, and so pin its version like that of any dependency.
func TestGoTool(t *testing.T) {
	root, dir := repository(t), t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	const module = "module github.com/mcpgen/mcpgen"
	own := strings.Replace(string(mod), module, "module example.com/project", 1) +
		"\nrequire github.com/mcpgen/mcpgen v0.0.0\n\nreplace github.com/mcpgen/mcpgen => " + root + "\n\ntool github.com/mcpgen/mcpgen/cmd/mcpgen\n"
	for name, content := range map[string]string{"go.mod": own, "go.sum": string(sum), ".mcp.json": `{"mcpServers": {}}`, ".git/HEAD": "",
		"gen.go": "// Package project uses MCP tools.\npackage project\n\n//go:generate go tool mcpgen sync --offline\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"tool", "mcpgen", "version"}, {"generate", "./..."}, {"tool", "mcpgen", "sync", "--check", "--offline"}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=mod -trimpath", "GOWORK=off", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "servers", ".mcpgen", "lock.json")); err != nil {
		t.Error(err)
	}
}
