package folder_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workflow/folder"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const greet = "document: {dsl: 1.0.3, name: greet, version: 1.0.0}\ndo:\n  - greet: {set: hello}\n"

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	text := strings.Replace(greet, "set: hello", "call: crm.create", 1)
	if err := os.WriteFile(filepath.Join(dir, "greet.workflow.yaml"), []byte(text), 0o600); err != nil {
		panic(err)
	}
	all, err := folder.List(dir, "workflows")
	if err != nil {
		panic(err)
	}
	for _, f := range all {
		if err := (&folder.Checker{}).Check(context.Background(), f); err != nil {
			panic(err)
		}
		fmt.Println(f.Problems[0])
	}
	// Output:
	// workflows/greet.workflow.yaml:3:19: the tool "crm.create" is not known: there is no generated tree; make one with mcpgen sync, or name it with --servers
}

// TestScripts checks that a script's type errors and imports that do not exist make it broken.
func TestScripts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"types.ts":   `import { workflow } from "mcprun"; await workflow.step("a", () => 1);`,
		"missing.ts": "import { workflow } from \"mcprun\";\nimport { a } from \"./elsewhere\";\nawait workflow.sleep(a);\n",
		"helper.ts":  "export const step = 1;\n",
	})
	store, err := skill.Open(nil, &skill.Options{Check: func(_ context.Context, src script.Source) ([]check.Problem, error) {
		if src.Name == "types.ts" {
			return []check.Problem{{File: "types.ts", Line: 1, Column: 7, Text: "a number\nis no text"}}, nil
		}
		return nil, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := folder.List(dir, "w")
	if err != nil {
		t.Fatal(err)
	}
	c := &folder.Checker{Skills: store, Reading: func() (script.Options, error) { return script.Options{}, nil }}
	var got []string
	for _, f := range all {
		if err := c.Check(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.Base(f.Name))
		for _, p := range f.Problems {
			got = append(got, filepath.ToSlash(p.String()))
		}
	}
	text := strings.Join(got, "\n")
	want := []string{"missing.ts\nw/missing.ts:2:19: ", "types.ts\nw/types.ts:1:7: a number is no text"}
	for _, line := range want {
		if !strings.Contains(text, line) || strings.Contains(text, "helper") {
			t.Errorf("workflows and their problems:\n%s\nwant %q in them, and no helper.ts", text, line)
		}
	}
}

// TestHostileFolder checks that what is not an ordinary file is a problem of its own, and that no link leads out of the folder.
func TestHostileFolder(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret.workflow.yaml")
	if err := os.WriteFile(outside, []byte("secret: text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"good.workflow.yaml": greet, "big.workflow.json": strings.Repeat(" ", 2<<20), "other.yaml": "x"})
	if err := os.Mkdir(filepath.Join(dir, "folder.workflow.yml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.workflow.yaml")); err != nil {
		t.Fatal(err)
	}
	all, err := folder.List(dir, "w")
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string]string{}
	for _, f := range all {
		broken[filepath.Base(f.Path)] = ""
		for _, p := range f.Problems {
			broken[filepath.Base(f.Path)] += p.String()
		}
	}
	if len(all) != 4 || broken["good.workflow.yaml"] != "" || broken["folder.workflow.yml"] == "" || broken["link.workflow.yaml"] == "" || strings.Contains(broken["link.workflow.yaml"], "secret:") {
		t.Errorf("List() = %q, want good.workflow.yaml without a problem, and problems of the three others", broken)
	}
	if !strings.Contains(broken["big.workflow.json"], "bytes") {
		t.Errorf("big.workflow.json: %q, want a problem about its size", broken["big.workflow.json"])
	}
	if absent, err := folder.List(filepath.Join(dir, "nothing"), "w"); err != nil || len(absent) != 0 {
		t.Errorf("List of a folder that does not exist = %v, %v", absent, err)
	}
}
