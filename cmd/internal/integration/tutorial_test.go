package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTutorial runs the commands of docs/tutorial.md as they stand, except those that install mcpgen.
func TestTutorial(t *testing.T) {
	t.Parallel()
	entry(t, filesystemPackage)
	page, err := os.ReadFile(filepath.Join(root, "docs", "tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	script := "set -e\n"
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(block[1], "npm install") {
			script += block[1]
		}
	}
	dir := t.TempDir()
	// npx finds the server here, and does not ask the registry.
	if err := os.Symlink(filepath.Join(root, "testdata", "npm", "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+built+string(os.PathListSeparator)+os.Getenv("PATH"), "npm_config_offline=true")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the tutorial failed: %v\n%s", err, out)
	}
	for _, want := range []string{
		"14 tools from 1 server; files: 49 created",
		`callMCPTool("files__read_text_file", input)`,
		"total of 300 orders: { Ben: 25150, Cleo: 23350, Ada: 27050 }",
		"% saved",
		`missing "path" (there is "pth")`,
		"servers is up to date",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the tutorial does not print %q; it prints\n%s", want, out)
		}
	}
}
