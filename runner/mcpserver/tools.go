package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is one tool as it is shown, and what answers it. Everything in its definition is paid for by every client, so
// descriptions say what names do not, and schemas what a model must know; arguments are checked more closely than they say.
type tool struct {
	name, description string
	// input and output are JSON Schemas. Output is empty for a tool whose result may be without structured content: where
	// there are images to show, and where it is another tool's.
	input, output string
	hints         *mcp.ToolAnnotations
	run           func(ctx context.Context, c *conversation) (*reply, error)
	// long says that it takes a place among the runs, and may go on while the client is asked something.
	long bool
}

func (t *tool) definition() *mcp.Tool {
	def := &mcp.Tool{Name: t.name, Description: t.description, Annotations: t.hints, InputSchema: json.RawMessage(t.input)}
	if t.output != "" {
		def.OutputSchema = json.RawMessage(t.output)
	}
	return def
}

const anyObject = `{"type":"object"}`

// readOnly are the hints of tools that change nothing and reach no other machine; a tool that has them need say no more.
func readOnly() *mcp.ToolAnnotations { return &mcp.ToolAnnotations{ReadOnlyHint: true} }

// adds are the hints of tools that write without taking anything away.
func adds() *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{DestructiveHint: &no}
}

// tools are the tools that are shown. Clients get them sorted by name.
func (s *Server) tools() []*tool {
	code := []*tool{s.executeCode()}
	if s.opt.Mode == ModeCode {
		return append(code, searchTools())
	}
	return append(code,
		searchTools(),
		&tool{
			name: "get_tool_definition", description: "A tool's signature and wrapper.", run: getToolDefinition, hints: readOnly(),
			input:  `{"type":"object","properties":{"tool_name":{"type":"string"},"category":{"type":"string"}},"required":["tool_name"]}`,
			output: anyObject,
		},
		&tool{
			name: "list_tool_categories", description: "Categories, for search_tools.", run: listToolCategories, hints: readOnly(),
			input: anyObject, output: anyObject,
		},
		&tool{
			name: "call_tool", description: "Call one tool without a script.", run: callTool, long: true,
			input: `{"type":"object","properties":{"tool":{"type":"string","description":"server__tool"},"arguments":{"type":"object"}},"required":["tool"]}`,
		},
		&tool{
			name: "save_skill", description: "Save a script to import later: ./skills/NAME.", run: saveSkill, hints: adds(),
			input: `{"type":"object","properties":{"name":{"type":"string"},"code":{"type":"string"},"description":{"type":"string"},` +
				`"language":{"enum":` + s.languages() + `}},"required":["name","code"]}`,
			output: anyObject,
		},
		&tool{
			name: "load_skill", description: "A skill's code.", run: loadSkill, hints: readOnly(),
			input: `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`, output: anyObject,
		},
		&tool{name: "list_skills", run: listSkills, hints: readOnly(), description: "Saved skills.", input: anyObject, output: anyObject},
		&tool{
			name: "sanitize_pii", description: "Replace personal data with tokens such as [EMAIL_1].", run: sanitizePII, hints: adds(),
			input: `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, output: anyObject,
		},
		&tool{
			name: "restore_pii", description: "The reverse.", run: restorePII, hints: readOnly(),
			input: `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, output: anyObject,
		},
		&tool{
			name: "write_workspace_file", description: "Write a file that scripts can read.", run: writeFile,
			input:  `{"type":"object","properties":{"filename":{"type":"string"},"content":{"type":"string"}},"required":["filename","content"]}`,
			output: anyObject,
		},
		&tool{
			name: "read_workspace_file", description: "Read a file that a script wrote.", run: readFile, hints: readOnly(),
			input: `{"type":"object","properties":{"filename":{"type":"string"}},"required":["filename"]}`, output: anyObject,
		},
		&tool{
			name: "list_workspace_files", description: "Files with sizes.", run: listFiles, hints: readOnly(),
			input: `{"type":"object","properties":{"subpath":{"type":"string"}}}`, output: anyObject,
		},
		&tool{
			name: "get_execution_stats", description: "Runs, calls, tokens saved.", run: executionStats, hints: readOnly(),
			input: anyObject, output: anyObject,
		},
	)
}

func (s *Server) languages() string {
	return `["` + strings.Join(s.opt.Languages, `","`) + `"]`
}

// leaving is how a script hands a value back, in the languages that it may be in.
func (s *Server) leaving() string {
	switch {
	case !slices.Contains(s.opt.Languages, Python):
		return "exports as `result`"
	case !slices.Contains(s.opt.Languages, TypeScript):
		return "assigns to `result`"
	}
	return "exports (Python: assigns) as `result`"
}

func (s *Server) executeCode() *tool {
	return &tool{
		name: "execute_code", run: executeCode, long: true,
		description: "Run code in a sandbox. It calls MCP tools by importing their wrappers from ./servers; only what it prints, or " + s.leaving() + ", is returned." + s.index,
		input: `{"type":"object","properties":{"code":{"type":"string"},"language":{"enum":` + s.languages() + `},` +
			`"context_vars":{"type":"object","description":"become variables"},` +
			`"timeout_seconds":{"type":"number","default":` + number(s.opt.Time.Seconds()) + `},"memory_mb":{"type":"number","default":` + number(float64(s.opt.Memory)/1e6) + `}},"required":["code"]}`,
	}
}

func searchTools() *tool {
	return &tool{
		name: "search_tools", description: "Find tools by what they do.", run: searchForTools, hints: readOnly(),
		input: `{"type":"object","properties":{"query":{"type":"string"},"category":{"type":"string"},` +
			`"detail_level":{"enum":["name","description","full"]}},"required":["query"]}`,
		output: anyObject,
	}
}
