package integration

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The compilers that judge generated code.
const (
	typescriptVersion = "7.0.2"
	pyrightVersion    = "1.1.414"
)

// needCompilers asks for both, in the versions that the product promises.
func needCompilers(t testing.TB) {
	t.Helper()
	needVersion(t, "typescript", typescriptVersion)
	needVersion(t, "pyright", pyrightVersion)
}

// checkTypes compiles the tree as it stands, and then the scripts in the project's folder with it, strictly.
func (p *project) checkTypes(t testing.TB) {
	t.Helper()
	needCompilers(t)
	p.compile(t, "tsc", "-p", "servers")
	p.compile(t, "pyright", "-p", "servers")

	// What the documentation tells a person to write, and strict rules on top.
	p.writeJSON("tsconfig.json", map[string]any{
		"extends": "./servers/.mcpgen/editor/tsconfig.json",
		"compilerOptions": map[string]any{
			"noUncheckedIndexedAccess": true, "erasableSyntaxOnly": true, "verbatimModuleSyntax": true,
		},
		"include": []string{"servers/**/*.ts", "*.ts"},
	})
	p.compile(t, "tsc", "-p", ".")
	p.writeJSON("pyrightconfig.json", map[string]any{
		"extends": "./servers/.mcpgen/editor/pyright.json", "include": []string{"servers", "*.py"}, "typeCheckingMode": "strict",
	})
	p.compile(t, "pyright", "-p", ".")
}

// compile runs a compiler, which cannot fetch anything, because there is nothing behind its proxy.
func (p *project) compile(t testing.TB, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, needNPM(t, ".bin", name), args...)
	cmd.Dir = p.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "LANG=C.UTF-8"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		cmd.Env = append(cmd.Env, name+"=http://127.0.0.1:9")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s %q: %v\n%s", name, args, err, clip(string(out)))
	}
}

// snapshot is a folder's files with their content and time of change.
type snapshot map[string]string

func takeSnapshot(t testing.TB, dir string) snapshot {
	t.Helper()
	found := snapshot{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		found[rel] = info.ModTime().String() + "\n" + string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// holds lists the files that hold a text.
func (s snapshot) holds(text string) []string {
	var found []string
	for name, content := range s {
		if bytes.Contains([]byte(content), []byte(text)) {
			found = append(found, name)
		}
	}
	return found
}
