package runner_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestChoose(t *testing.T) {
	both := []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython}
	yes := func(name string, langs ...sandbox.Language) sandbox.Backend {
		return &fakeBackend{name: name, status: sandbox.Status{Usable: true, Languages: langs}}
	}
	no := func(name string) sandbox.Backend {
		return &fakeBackend{name: name, status: sandbox.Status{Detail: name + " is broken", Remedy: "mend " + name}}
	}
	for _, c := range []struct {
		name     string
		backends []sandbox.Backend
		ask      string
		lang     sandbox.Language
		want     string // the backend, or a part of the error
	}{
		{"docker first", []sandbox.Backend{yes("embedded", sandbox.LangTypeScript), yes("process", both...), yes("docker", both...)}, "auto", sandbox.LangPython, "docker"},
		{"process for Python", []sandbox.Backend{yes("embedded", sandbox.LangTypeScript), yes("process", both...), no("docker")}, "auto", sandbox.LangPython, "process"},
		{"embedded for TypeScript", []sandbox.Backend{yes("embedded", sandbox.LangTypeScript), yes("process", both...), no("docker")}, "auto", sandbox.LangTypeScript, "embedded"},
		{"a usable one without the language", []sandbox.Backend{yes("process", sandbox.LangTypeScript), no("docker")}, "auto", sandbox.LangPython, "it has no python here"},
		{"none", []sandbox.Backend{no("embedded"), no("docker")}, "auto", sandbox.LangTypeScript, "embedded is broken"},
		{"by name", []sandbox.Backend{no("process"), yes("docker", both...)}, "process", sandbox.LangPython, "process"},
		{"by an unknown name", []sandbox.Backend{no("process")}, "vm", sandbox.LangPython, `unknown sandbox "vm"`},
		{"by name, without the language", []sandbox.Backend{yes("process", both...)}, "process", sandbox.LangTypeScript, "does not run typescript"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := runner.Choose(t.Context(), c.backends, c.ask, c.lang)
			var b *runner.BackendError
			switch {
			case err == nil && got.Backend.Name() != c.want:
				t.Errorf("chose %s, want %s", got.Backend.Name(), c.want)
			case err == nil && c.ask == "auto" && got.Reason == "":
				t.Error("no reason given")
			case err != nil && (!errors.As(err, &b) || b.ExitCode() != 127 || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
