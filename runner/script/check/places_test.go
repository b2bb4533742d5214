package check

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check/tools"
)

// TestFind removes the places one by one: each time, the checker of the next is found.
func TestFind(t *testing.T) {
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".cmd"
	}
	for lang, name := range map[sandbox.Language]string{sandbox.LangTypeScript: "tsc", sandbox.LangPython: "pyright"} {
		all := tools.All(runtime.GOOS, runtime.GOARCH)
		i := slices.IndexFunc(all, func(tool tools.Tool) bool { return tool.Name == name })
		if i < 0 {
			t.Skipf("%s is not made for this platform", name)
		}
		top, tool := t.TempDir(), all[i]
		places := Places{
			TSC: filepath.Join(top, "named"), Pyright: filepath.Join(top, "named"), Project: filepath.Join(top, "project"), Tools: filepath.Join(top, "tools"),
			Program: filepath.Join(top, "npm/node_modules/@mcpgen/platform/bin"),
		}
		onPath, node := filepath.Join(top, "path", name), true
		places.LookPath = func(wanted string) (string, error) {
			if wanted == "node" && node {
				return filepath.Join(top, "node"), nil
			}
			if _, err := os.Stat(onPath); err == nil && wanted == name {
				return onPath, nil
			}
			return "", &exec.Error{Name: wanted, Err: exec.ErrNotFound}
		}
		installed, _ := tool.Installed(places.Tools)
		rel, err := filepath.Rel(tool.Folder(places.Tools), installed)
		if err != nil {
			t.Fatal(err)
		}
		beside := filepath.Join(top, "npm/node_modules", filepath.FromSlash(tool.Package), rel)
		order := []string{places.TSC, filepath.Join(places.Project, "node_modules/.bin", name+suffix), onPath, installed, beside}
		for _, file := range order {
			write(t, file, "x")
		}
		for i, file := range order {
			want := []string{file}
			if tool.Node && i >= 3 {
				want = []string{filepath.Join(top, "node"), file}
			}
			got, err := places.Find(lang)
			if err != nil || !slices.Equal(got.Command, want) {
				t.Errorf("%s: Find() = %+v, %v, want %s", name, got, err, want)
			}
			if tool.Node && i >= 3 {
				node = false
				var missing *MissingError
				if _, err := places.Find(lang); !errors.As(err, &missing) || !strings.Contains(err.Error(), "needs node") {
					t.Errorf("%s without node: Find() = %v", name, err)
				}
				node = true
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			places.TSC, places.Pyright = "", ""
		}
		var missing *MissingError
		if _, err := places.Find(lang); !errors.As(err, &missing) || !strings.Contains(missing.Hint(), "mcprun tools install") {
			t.Errorf("%s: Find() in no place = %v", name, err)
		}
	}
}

// TestMemoryLimit: the checker's own processes have the limit.
func TestMemoryLimit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux limits the data of a process from outside")
	}
	// It begins when it has been limited, at the latest after a minute.
	text := "for i in $(seq 600); do [ $(ulimit -d) = unlimited ] || break; sleep 0.1; done; sh -c 'ulimit -d' >&2; exit 3"
	_, err := Run(t.Context(), script.Source{Name: "script.ts", Code: "1", Language: sandbox.LangTypeScript}, Options{Places: Places{TSC: fake(t, text)}})
	if err == nil || !strings.Contains(err.Error(), "2097152") {
		t.Errorf("Run() = %v, want the limit 2097152", err)
	}
}
