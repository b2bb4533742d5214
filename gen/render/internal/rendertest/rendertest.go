// Package rendertest contains what the tests of package render and of its languages share: recorded tool lists, and type checkers.
package rendertest

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/schema"
	"github.com/mcpgen/mcpgen/gen/tree"
)

// Root returns the folder of the module, as a path relative to the test's package.
func Root(t testing.TB) string {
	t.Helper()
	for dir := "."; len(dir) < 40; dir = filepath.Join(dir, "..") {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("there is no go.mod above the test")
	return ""
}

// GoldenDir returns the folder of the golden tree and of the tool lists from which it is generated.
func GoldenDir(t testing.TB) string { return filepath.Join(Root(t), "testdata/golden") }

// GoldenServers returns the servers of the golden tree.
func GoldenServers(t testing.TB) []render.Server {
	t.Helper()
	dir := GoldenDir(t)
	servers := []render.Server{LoadServer(t, dir+"/google-drive.json"), LoadServer(t, dir+"/hostile.json"), LoadServer(t, dir+"/docs.json")}
	// The catalog deals with the ids of tools with unusual names; here they only have to differ.
	for i := range servers[1].Tools {
		servers[1].Tools[i].ID = "hostile__" + string(rune('a'+i))
	}
	return servers
}

// wireTool is a tool definition as listed by servers.
type wireTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  struct {
		ReadOnlyHint, DestructiveHint, IdempotentHint, OpenWorldHint *bool
	} `json:"annotations"`
}

func (w wireTool) convert(dir string) render.Tool {
	t := render.Tool{ID: dir + "__" + ident.Snake(w.Name), Name: w.Name, Title: w.Title, Description: w.Description, Hints: render.Hints{
		ReadOnly: w.Annotations.ReadOnlyHint, Destructive: w.Annotations.DestructiveHint,
		Idempotent: w.Annotations.IdempotentHint, OpenWorld: w.Annotations.OpenWorldHint}}
	t.Input, _ = schema.Convert(w.InputSchema)
	if len(w.OutputSchema) > 0 {
		output, _ := schema.Convert(w.OutputSchema)
		t.Output = &output
	}
	return t
}

// LoadServer reads one file that holds the list of tools of a server.
func LoadServer(t testing.TB, path string) render.Server {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		ID           string `json:"id"`
		Instructions string `json:"instructions"`
		ServerInfo   struct {
			Title string `json:"title"`
		} `json:"serverInfo"`
		Tools     []json.RawMessage `json:"tools"`
		Resources bool              `json:"resources"`
		Prompts   []render.Prompt   `json:"prompts"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	s := render.Server{Key: file.ID, Dir: ident.Snake(file.ID), Title: file.ServerInfo.Title, Instructions: file.Instructions,
		Resources: file.Resources, HasPrompts: file.Prompts != nil, Prompts: file.Prompts}
	for i, definition := range file.Tools {
		var w wireTool
		if err := json.Unmarshal(definition, &w); err != nil {
			t.Fatalf("%s: tool %d: %v", path, i, err)
		}
		s.Tools = append(s.Tools, w.convert(s.Dir))
	}
	return s
}

// Write writes a tree to a new folder and returns the path of that folder's "servers".
func Write(t testing.TB, files tree.Tree) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "servers")
	for path, content := range files {
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Checker returns the path of a type checker in testdata/npm. If it is missing, the test fails in CI and is skipped elsewhere.
func Checker(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(Root(t), "testdata/npm/node_modules/.bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("MCPGEN_TEST_NODE_BIN"); dir != "" {
		path = filepath.Join(dir, name)
	}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is needed: run `npm ci` in testdata/npm: %v", name, err)
		}
		t.Skipf("skipped because %s is not installed; run `npm ci` in testdata/npm", name)
	}
	return path
}

// Run runs a program in dir. If the program fails, the test fails with its output.
func Run(t testing.TB, dir, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	start := time.Now()
	out, err := cmd.CombinedOutput()
	t.Logf("%s %s: %s", filepath.Base(program), strings.Join(args, " "), time.Since(start).Round(10*time.Millisecond))
	if err != nil {
		if len(out) > 6000 {
			out = append(out[:6000], "\n…"...)
		}
		t.Errorf("%s: %v\n%s", program, err, bytes.TrimSpace(out))
	}
}

// CheckMypy runs mypy over a tree. If mypy is missing, the test fails in CI and continues elsewhere.
func CheckMypy(t *testing.T, dir string) {
	t.Helper()
	program, err := exec.LookPath("mypy")
	switch {
	case err == nil:
		Run(t, filepath.Dir(dir), program, "--strict", "--python-version", "3.11", "--cache-dir", "/dev/null", filepath.Base(dir))
	case os.Getenv("CI") != "":
		t.Fatalf("mypy is needed: run `apt-get install mypy`: %v", err)
	default:
		t.Log("mypy is not installed; run `apt-get install mypy`")
	}
}

// CorpusPaths returns the recorded tool lists beside the repository, if there are any.
func CorpusPaths(t testing.TB) []string {
	t.Helper()
	dir := os.Getenv("MCPGEN_TEST_CORPUS")
	if dir == "" {
		dir = filepath.Join(Root(t), "../shared/corpus")
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// Hostile are texts that try to escape from the place where they are written.
var Hostile = []string{
	"", "*/", "**/", "* /", "/", "*\u200b/", `"""`, `""""`, `"`, `\`, `\\`, `\"`, "a\\", "${x}", "`", "\u2028", "\u2029", "\x00", "\u202e", "\u2066",
	"\ufeff", "\r", "\n", "\r\n*/", "\v\f\u0085", "\x1b[31m", "__proto__", "constructor", "@ts-ignore", "@ts-nocheck", "@TS-expect-error",
	"@__NO_SIDE_EFFECTS__", "#__PURE__", "//# sourceMappingURL=x", "type: ignore", "x # type: ignore", "# type:ignore", "pyright: basic",
	"NoQA", "coding: latin-1", "\xff\xfe", "\U000E0041", "\U0001F600", strings.Repeat("x\n", 3000), "'", "'''", "\ud7ff", "\ufffd", "\u3164",
}

// CheckLines reports characters in lines that are invisible to a reader.
func CheckLines(t testing.TB, text string, lines []string) {
	t.Helper()
	for _, line := range lines {
		for _, r := range line {
			if r != ' ' && (!unicode.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r)) {
				t.Errorf("%q leaves %q in %q", text, r, line)
			}
		}
	}
}

// Unquote reads a string literal the way both languages do.
func Unquote(t testing.TB, literal string) string {
	t.Helper()
	inner := literal[1 : len(literal)-1]
	var b strings.Builder
	for i := 0; i < len(inner); {
		r, size := utf8.DecodeRuneInString(inner[i:])
		i += size
		if r == '"' {
			t.Errorf("%s ends early", literal)
		}
		if r != '\\' {
			b.WriteRune(r)
			continue
		}
		escape := inner[i]
		i++
		digits := 0
		switch escape {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '"', '\\':
			b.WriteByte(escape)
		case 'u':
			digits = 4
			if inner[i] == '{' {
				i++
				digits = strings.IndexByte(inner[i:], '}')
			}
		case 'U':
			digits = 8
		default:
			t.Errorf("%s has the escape %q", literal, escape)
		}
		if digits > 0 {
			code, err := strconv.ParseUint(inner[i:i+digits], 16, 32)
			if err != nil {
				t.Errorf("%s: %v", literal, err)
			}
			b.WriteRune(rune(code))
			i += digits
			if i < len(inner) && inner[i] == '}' && strings.HasPrefix(inner[i-digits-1:], "{") {
				i++
			}
		}
	}
	return b.String()
}
