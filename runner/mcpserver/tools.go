package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/progress"
)

// tool is one tool. Every client pays for the definition in tokens, so a description has only what the name does not say,
// and a schema only what a model must know; arguments are checked more strictly than the schema says.
type tool struct {
	name, description string
	// input is a JSON Schema. There is none of the output: it would cost tokens, and require structured content even with images.
	input string
	hints *mcp.ToolAnnotations
	run   func(ctx context.Context, c *toolCall) (*reply, error)
	// long calls wait for a place in the queue, and may ask the client's user; stage is what they do while no call of the
	// script is in progress.
	long  bool
	stage string
}

func (t *tool) definition() *mcp.Tool {
	return &mcp.Tool{Name: t.name, Description: t.description, Annotations: t.hints, InputSchema: json.RawMessage(t.input)}
}

// anyObject is the schema of an arbitrary object. OpenAI refuses objects without properties and enums without a type; Gemini
// has refused empty properties at the root. Models take an invented property for a real one.
const anyObject = `{"type":"object","properties":{}}`

// readOnly returns the hints of tools that change nothing and reach no other machine.
func readOnly() *mcp.ToolAnnotations { return &mcp.ToolAnnotations{ReadOnlyHint: true} }

// additive returns the hints of tools that write without deleting anything.
func additive() *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{DestructiveHint: &no}
}

// tools returns the tools of the mode. Clients get them sorted by name.
func (s *Server) tools() []*tool {
	code := []*tool{s.executeCodeTool()}
	if s.opt.Mode == ModeCode {
		return append(code, searchToolsTool())
	}
	return append(code,
		searchToolsTool(),
		&tool{
			name: "get_tool_definition", description: "A tool's signature and wrapper.", run: withArgs(callGetToolDefinition), hints: readOnly(),
			input: `{"type":"object","properties":{"tool_name":{"type":"string"},"category":{"type":"string"}},"required":["tool_name"]}`,
		},
		&tool{
			name: "list_tool_categories", description: "Categories, for search_tools.", run: withArgs(callListToolCategories), hints: readOnly(),
			input: `{"type":"object","properties":{"query":{"type":"string"}}}`,
		},
		&tool{
			name: "call_tool", description: "Call one tool without a script.", run: withArgs(callCallTool), long: true, stage: "call_tool running",
			input: `{"type":"object","properties":{"tool":{"type":"string","description":"server__tool"},"arguments":` + anyObject + `},"required":["tool"]}`,
		},
		&tool{
			name: "save_skill", description: "Save a script to import later: ./skills/NAME.", run: withArgs(callSaveSkill), hints: additive(),
			input: `{"type":"object","properties":{"name":{"type":"string"},"code":{"type":"string"},"description":{"type":"string"},` +
				`"language":` + s.languageSchema() + `},"required":["name","code"]}`,
		},
		&tool{
			name: "load_skill", description: "A skill's code.", run: withArgs(callLoadSkill), hints: readOnly(),
			input: `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`,
		},
		&tool{name: "list_skills", run: withArgs(callListSkills), hints: readOnly(), description: "Saved skills.", input: `{"type":"object","properties":{"query":{"type":"string"}}}`},
		&tool{
			name: "sanitize_pii", description: "Replace personal data with tokens such as [EMAIL_1].", run: withArgs(callSanitizePII), hints: additive(),
			input: `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`,
		},
		&tool{
			name: "restore_pii", description: "The reverse.", run: withArgs(callRestorePII), hints: readOnly(),
			input: `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`,
		},
		&tool{
			name: "write_workspace_file", description: "Write a file that scripts can read.", run: withArgs(callWriteWorkspaceFile),
			input: `{"type":"object","properties":{"filename":{"type":"string"},"content":{"type":"string"}},"required":["filename","content"]}`,
		},
		&tool{
			name: "read_workspace_file", description: "Read a file that a script wrote.", run: withArgs(callReadWorkspaceFile), hints: readOnly(),
			input: `{"type":"object","properties":{"filename":{"type":"string"}},"required":["filename"]}`,
		},
		&tool{
			name: "list_workspace_files", description: "Files with sizes.", run: withArgs(callListWorkspaceFiles), hints: readOnly(),
			input: `{"type":"object","properties":{"subpath":{"type":"string"}}}`,
		},
		&tool{
			name: "checkpoint", run: withArgs(callCheckpoint),
			description: "Keep a step's data, for later sessions too. Without data: read it; without name: list all.",
			input:       `{"type":"object","properties":{"name":{"type":"string"},"data":` + anyObject + `}}`,
		},
		&tool{
			name: "get_execution_stats", description: "Runs, tokens saved, workspace, limits.", run: withArgs(callGetExecutionStats), hints: readOnly(),
			input: `{"type":"object","properties":{"top":{"type":"integer","description":"tools to list"}}}`,
		},
	)
}

// languageSchema returns the schema of an argument that names a language.
func (s *Server) languageSchema() string {
	return `{"type":"string","enum":["` + strings.Join(s.opt.Languages, `","`) + `"]}`
}

// resultHint returns how scripts return a value, for the languages allowed.
func (s *Server) resultHint() string {
	switch {
	case !slices.Contains(s.opt.Languages, Python):
		return "exports as `result`"
	case !slices.Contains(s.opt.Languages, TypeScript):
		return "assigns to `result`"
	}
	return "exports (Python: assigns) as `result`"
}

func (s *Server) executeCodeTool() *tool {
	return &tool{
		name: "execute_code", run: withArgs(callExecuteCode), long: true, stage: progress.StageSandbox,
		description: "Run code in a sandbox. It imports MCP tools from ./servers and returns only what it prints, or " + s.resultHint() + "." + s.index,
		input: `{"type":"object","properties":{"code":{"type":"string"},"language":` + s.languageSchema() + `,` +
			`"context_vars":{"type":"object","description":"become variables","properties":{}},` +
			`"timeout_seconds":{"type":"number","default":` + formatNumber(s.opt.Time.Seconds()) + `},"memory_mb":{"type":"number","default":` + formatNumber(float64(s.opt.Memory)/1e6) + `}},"required":["code"]}`,
	}
}

func searchToolsTool() *tool {
	return &tool{
		name: "search_tools", description: "Find tools by what they do.", run: withArgs(callSearchTools), hints: readOnly(),
		input: `{"type":"object","properties":{"query":{"type":"string"},"category":{"type":"string"},` +
			`"detail_level":{"type":"string","enum":["name","description","summary","full"]}},"required":["query"]}`,
	}
}
