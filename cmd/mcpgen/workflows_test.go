package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// workflow is a file of .github/workflows as GitHub reads it.
type workflow struct {
	On   map[string]any `yaml:"on"`
	Jobs map[string]struct {
		Uses  string
		Needs any
		Steps []struct{ Run string }
	}
}

func readWorkflow(t *testing.T, name string) workflow {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository(t), ".github", "workflows", name))
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return w
}

// TestWorkflows checks that pull requests and releases run .ci/run, and that nothing is published before it passed.
func TestWorkflows(t *testing.T) {
	ci := readWorkflow(t, "ci.yml")
	for _, event := range []string{"pull_request", "workflow_call"} {
		if _, ok := ci.On[event]; !ok {
			t.Errorf("ci.yml does not run on %s", event)
		}
	}
	if !slices.ContainsFunc(ci.Jobs["run"].Steps, func(s struct{ Run string }) bool {
		return strings.HasSuffix(strings.TrimSpace(s.Run), ` env "PATH=$PATH" .ci/run`)
	}) {
		t.Error("no step of ci.yml ends with .ci/run")
	}
	for name, job := range readWorkflow(t, "release.yml").Jobs {
		if job.Uses == "./.github/workflows/ci.yml" {
			continue
		}
		if job.Needs != "test" {
			t.Errorf("release.yml: job %s needs %v, want test", name, job.Needs)
		}
	}
	if got := readWorkflow(t, "release.yml").Jobs["test"].Uses; got != "./.github/workflows/ci.yml" {
		t.Errorf("release.yml: job test uses %q, want ci.yml", got)
	}
}
