package render_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/render/internal/rendertest"
	"github.com/mcpgen/mcpgen/gen/render/internal/text"
	"github.com/mcpgen/mcpgen/gen/tokens"
)

// maxOver is the share of tools whose wrappers may cost a model more than what hosts send about them.
const maxOver = 0.05

// TestWrappersCostLessThanDefinitions checks the two promises of a wrapper with the recorded tools of real servers, and one of ours: it
// says everything that its server says about the tool, and costs a model no more than name, description and input schema as compact JSON.
// MCPGEN_TEST_CORPUS names another folder of tool lists; -v prints the figures and what costs most.
func TestWrappersCostLessThanDefinitions(t *testing.T) {
	paths := append([]string{rendertest.GoldenDir(t) + "/google-drive.json"}, rendertest.CorpusPaths(t)...)
	for _, target := range languages() {
		var all []cost
		for _, path := range paths {
			all = append(all, costs(t, path, target)...)
		}
		slices.SortFunc(all, func(a, b cost) int { return -strings.Compare(ratioKey(a), ratioKey(b)) })
		over, cutShort := 0, 0
		for i, c := range all {
			if c.wrapper > c.definition {
				over++
				if testing.Verbose() && i < 40 {
					t.Logf("%s: %s costs %d of %d", target.Name, c.tool, c.wrapper, c.definition)
				}
			}
			if c.cut {
				cutShort++
				t.Errorf("%s: %s says less than its server does", target.Name, c.tool)
			}
		}
		median := all[len(all)/2].ratio()
		t.Logf("%s: %d tools, %.3f of the definition at the median, %.1f %% cost more, %d descriptions cut",
			target.Name, len(all), median, 100*float64(over)/float64(len(all)), cutShort)
		if few := len(all) < 100; median > 1 || (!few && float64(over) > maxOver*float64(len(all))) {
			t.Errorf("%s: a wrapper costs %.3f of its definition at the median, and %d of %d cost more; want at most 1, and %.0f %%",
				target.Name, median, over, len(all), 100*maxOver)
		}
	}
}

// cost is the cost of one tool for a model, in tokens.
type cost struct {
	tool                string
	wrapper, definition int
	// cut reports whether a word in the description, which is no longer than text.Max, is missing from the wrapper.
	cut bool
}

func (c cost) ratio() float64 { return float64(c.wrapper) / float64(c.definition) }

func ratioKey(c cost) string {
	b, _ := json.Marshal(c.ratio() + 10)
	return string(b) + c.tool
}

// costs measures the tools of one recorded server.
func costs(t *testing.T, path string, target *render.Language) []cost {
	t.Helper()
	server := rendertest.LoadServer(t, path)
	result, err := render.Render([]render.Server{server}, []*render.Language{target})
	if err != nil {
		t.Fatal(err)
	}
	var out []cost
	raw := rawTools(t, path)
	for _, tool := range server.Tools {
		var d struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if err := json.Unmarshal(raw[tool.ID], &d); err != nil {
			t.Fatal(err)
		}
		var sent strings.Builder
		enc := json.NewEncoder(&sent)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(d); err != nil {
			t.Fatal(err)
		}
		source := string(result.Tree[result.Names[target.Name][tool.ID].File])
		if dir := os.Getenv("MCPGEN_TEST_DUMP"); dir != "" {
			name := filepath.Join(dir, filepath.FromSlash(result.Names[target.Name][tool.ID].File))
			_ = os.MkdirAll(filepath.Dir(name), 0o755)
			_ = os.WriteFile(name, []byte(source), 0o644)
		}
		out = append(out, cost{
			tool: tool.ID, definition: tokens.Count(strings.TrimSpace(sent.String())), wrapper: tokens.Count(said(source)),
			cut: utf8.RuneCountInString(tool.Description) <= text.Max && !says(source, tool.Description),
		})
	}
	return out
}

// said returns a wrapper without the parts that do not come from the definition: header, imports, the lines of the function itself, and the
// types of its result.
func said(source string) string {
	var out []string
	skip := false // within a type of the result
	for line := range strings.Lines(source) {
		for _, start := range []string{"export ", "class ", "/** ", "@tool(", "@any_tool(", "def "} {
			if strings.HasPrefix(line, start) {
				skip = false
			}
		}
		switch {
		case strings.HasPrefix(line, "export type ") && strings.Contains(line, "Output = "), strings.HasPrefix(line, "class ") && strings.Contains(line, "Output("):
			skip = true
		}
		code := strings.TrimSpace(line)
		switch {
		case skip, strings.HasPrefix(line, "// Code generated"), strings.HasPrefix(line, "# Code generated"), strings.HasPrefix(line, "# mypy: "),
			strings.HasPrefix(line, "import "), strings.HasPrefix(line, "from "),
			strings.HasPrefix(line, "export async function "),
			strings.HasPrefix(line, "@tool("), strings.HasPrefix(line, "@any_tool("), strings.HasPrefix(line, ") -> "), code == "...",
			strings.HasPrefix(line, "def ") && strings.HasSuffix(code, "(*,"):
			continue
		}
		out = append(out, line)
	}
	return strings.TrimSpace(strings.Join(out, ""))
}

// says reports whether every word of a description is in the source, in order or elsewhere. It ignores the line above arguments, and types
// beside their names.
func says(source, description string) bool {
	source = strings.ToLower(source)
	for _, word := range strings.FieldsFunc(strings.ToLower(description), func(r rune) bool { return r < 'a' || r > 'z' }) {
		if !strings.Contains(source, word) && !slices.Contains(unsaid, word) {
			return false
		}
	}
	return true
}

var unsaid = []string{
	"args", "arguments", "params", "parameter", "parameters", "options", "required", "optional", "explained",
	"bool", "dict", "float", "int", "integer", "list", "str",
}

// rawTools returns the definitions in a file of a server's tools as they were sent, by the ids that loadServer assigns.
func rawTools(t testing.TB, path string) map[string]json.RawMessage {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	out := map[string]json.RawMessage{}
	for i, tool := range rendertest.LoadServer(t, path).Tools {
		out[tool.ID] = file.Tools[i]
	}
	return out
}
