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
			t.Fatalf("%s is not made for this platform", name)
		}
		top, tool := t.TempDir(), all[i]
		places := Places{
			TSC: filepath.Join(top, "named"), Pyright: filepath.Join(top, "named"), Project: filepath.Join(top, "project"), Tools: filepath.Join(top, "tools"),
			Workspace: filepath.Join(top, "workspace"), Program: filepath.Join(top, "npm/node_modules/@mcpgen/platform/bin"),
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
		for _, file := range append(order, filepath.Join(top, "node")) {
			write(t, file, "x")
		}
		for i, file := range order {
			want := []string{file}
			if tool.Node && i >= 3 {
				want = []string{filepath.Join(top, "node"), file}
			}
			inside := places
			inside.Workspace = filepath.Dir(file)
			var in *MissingError
			if _, err := inside.Find(lang); !errors.As(err, &in) || !strings.Contains(err.Error(), "lies in the workspace") {
				t.Errorf("%s: Find() in the workspace = %v", name, err)
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

// TestLinkIntoWorkspace: a link elsewhere does not hide that a script may have written the checker.
func TestLinkIntoWorkspace(t *testing.T) {
	top := t.TempDir()
	program, link := filepath.Join(top, "workspace", "tsc"), filepath.Join(top, "tsc")
	write(t, program, "x")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	places := Places{TSC: link, Workspace: filepath.Join(top, "workspace")}
	if c, err := places.Find(sandbox.LangTypeScript); err == nil {
		t.Errorf("Find() = %+v: got no error, want an error", c)
	}
}

// TestOldCompiler: one that does not know the options checks without them, so that what it says means nothing.
func TestOldCompiler(t *testing.T) {
	tsc := fake(t, "echo \"tsconfig.json(1,217): error TS6046: Argument for '--module' option must be: 'none', 'commonjs'.\"; exit 2")
	_, err := Run(t.Context(), script.Source{Name: "script.ts", Code: "1", Language: sandbox.LangTypeScript}, Options{Places: Places{TSC: tsc}})
	if err == nil || !strings.Contains(err.Error(), "older than 5.4") {
		t.Errorf(`Run() = %v, want an error and "older than 5.4" in it`, err)
	}
}

func TestTreeTypes(t *testing.T) {
	var types treeTypes
	types.add("import x\nexport type ListOutput = {\n /** All. */\n documents: {\n  id: string // The id.\n  title?: string\n }[]\n next: string\n};\nexport interface ListInput {\n limit?: number\n}\n\nclass Documents(TypedDict):\n    id: str\n")
	for message, want := range map[string]bool{
		"Property 'docs' does not exist on type 'ListOutput'.":                                                              true,
		"Property 'docs' does not exist on type 'Promise<ListOutput>'.":                                                     true,
		"Property 'titel' does not exist on type '{ id: string; title?: string; }'. Did you mean 'title'?":                  true,
		"Property 'lenght' does not exist on type '{ documents: { id: string; }[]; ... 1 more ...; next: string; }[]'.":     true,
		"Object literal may only specify known properties, and 'limitt' does not exist in type 'ListInput'.":                true,
		"Argument of type 'string' is not assignable to parameter of type 'ListInput'.":                                     true,
		`Cannot access attribute "titel" for class "Documents"`:                                                             true,
		`"titel" is not a defined key in "Documents"`:                                                                       true,
		"Property 'total' does not exist on type '{}'.":                                                                     false,
		"Property 'total' does not exist on type '{ sum: number; }'.":                                                       false,
		"Property 'total' does not exist on type '{ id: string; sum: number; }'.":                                           false,
		"Property 'docs' does not exist on type 'ListOutput | string'.":                                                     false,
		"Argument of type 'ListOutput' is not assignable to parameter of type '{ sum: number; }'.":                          false,
		"Argument of type '(a: ListOutput) => boolean' is not assignable to parameter of type '(a: ListOutput) => number'.": false,
		`Argument of type "Literal['x']" cannot be assigned to parameter "value" of type "int" in function "__setitem__"`:   false,
		"Cannot find name 'x'.": false,
	} {
		if got := types.about(message); got != want {
			t.Errorf("about(%q) = %t, want %t", message, got, want)
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
