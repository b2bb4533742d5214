package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/index"
	"github.com/mcpgen/mcpgen/runner/mcpserver/internal/progress"
)

// anyObject is the schema of an arbitrary object. OpenAI refuses objects without properties and enums without a type. Gemini has refused
// empty properties at the root. Models mistake an invented property for a real one.
const anyObject = `{"type":"object","properties":{}}`

// readOnly returns the hints of tools that change nothing and contact no other machine.
func readOnly() *mcp.ToolAnnotations { return &mcp.ToolAnnotations{ReadOnlyHint: true} }

// additive returns the hints of tools that write without deleting anything.
func additive() *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{DestructiveHint: &no}
}

// tools returns the tools that clients may call, in the order of the list.
func (s *Server) tools(v *view) []*tool {
	if s.opt.Mode == ModePassthrough {
		return passthroughTools(&v.Project)
	}
	code := []*tool{s.executeCodeTool(v), s.searchToolsTool()}
	if s.opt.Mode == ModeCode {
		return code
	}
	const query, name, text, file = `{"query":{"type":"string"}}`, `{"name":{"type":"string"}}`, `{"text":{"type":"string"}}`, `{"filename":{"type":"string"}}`
	all := append(code,
		&tool{
			name: "get_tool_definition", description: "A tool's wrapper: its arguments, with what its server says of them, and its result.", run: withArgs(callGetToolDefinition), hints: readOnly(),
			input: inputSchema(`{"tool_name":{"type":"string","description":"its id, or its own name"},"category":{"type":"string","description":"where tools of several servers have that name"}}`, "tool_name"),
		},
		&tool{
			name: "call_tool", description: "Call one tool without a script.", run: withArgs(callCallTool), long: true, stage: "call_tool running",
			input: inputSchema(`{"tool":{"type":"string","description":"server__tool or server.tool"},"arguments":`+anyObject+`}`, "tool"),
		},
		&tool{
			name: "list_tool_categories", description: "Categories, for search_tools; query filters.", run: withArgs(callListToolCategories), hints: readOnly(),
			input: inputSchema(query),
		},
		&tool{
			name: "save_skill", description: "Save a script to import later: ./skills/NAME.", run: withArgs(callSaveSkill), hints: additive(),
			input: inputSchema(`{"name":{"type":"string"},"code":{"type":"string"},"description":{"type":"string"},"language":`+v.languageSchema()+`}`, "name", "code"),
		},
		&tool{name: "load_skill", description: "A skill's code.", run: withArgs(callLoadSkill), hints: readOnly(), input: inputSchema(name, "name")},
		&tool{name: "list_skills", description: "Saved skills.", run: withArgs(callListSkills), hints: readOnly(), input: inputSchema(query)},
		&tool{
			name: "sanitize_pii", description: "Replace personal data with tokens like [EMAIL_1].", run: withArgs(callSanitizePII), hints: additive(),
			input: inputSchema(text, "text"),
		},
		&tool{
			name: "restore_pii", description: "Undo sanitize_pii; only if personal data is shown.", run: withArgs(callRestorePII), hints: readOnly(),
			input: inputSchema(text, "text"),
		},
		&tool{
			name: "write_workspace_file", description: "Write a file that scripts can read.", run: withArgs(callWriteWorkspaceFile),
			input: inputSchema(`{"filename":{"type":"string"},"content":{"type":"string"}}`, "filename", "content"),
		},
		&tool{
			name: "read_workspace_file", description: "Read a file that a script wrote.", run: withArgs(callReadWorkspaceFile), hints: readOnly(),
			input: inputSchema(file, "filename"),
		},
		&tool{
			name: "list_workspace_files", description: "Files with sizes.", run: withArgs(callListWorkspaceFiles), hints: readOnly(),
			input: inputSchema(`{"subpath":{"type":"string"}}`),
		},
		&tool{
			name: "checkpoint", run: withArgs(callCheckpoint),
			description: "Keep a step's data, for later sessions too. Without data: read; without name: list.",
			input:       inputSchema(`{"name":{"type":"string"},"data":` + anyObject + `}`),
		},
		&tool{
			name: "get_execution_stats", description: "Runs, the top called tools, tokens saved, workspace, limits.", run: withArgs(callGetExecutionStats), hints: readOnly(),
			input: inputSchema(`{"top":{"type":"integer"}}`),
		},
	)
	if v.Forms {
		all = append(all, &tool{
			name: "fill_form", description: "Fill in a form of the project, and submit it if it is complete. The user is asked for what is missing.", run: withArgs(callFillForm), long: true, stage: progress.StageSandbox,
			input: inputSchema(`{"form":{"type":"string"},"data":`+anyObject+`,"id":{"type":"string","description":"of one that stayed open"},"submit":{"type":"boolean"}}`, "form"),
		})
	}
	if s.opt.Workflows != nil {
		all = append(all, s.workflowTools(v, all)...)
	}
	return all
}

// listed makes tools/list show the tools of the mode in the order of tools; the SDK shows all, sorted by name.
func (cs *customerServer) listed(next mcp.MethodHandler) mcp.MethodHandler {
	s := cs.s
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if list, ok := res.(*mcp.ListToolsResult); ok && err == nil {
			v := s.now.Load()
			place, denied := v.place, v.denied(cs.customer.ID)
			list.Tools = slices.DeleteFunc(list.Tools, func(t *mcp.Tool) bool {
				at, known := place[t.Name]
				return !known || !s.lists(t.Name) || denied[v.tools[at].id]
			})
			slices.SortFunc(list.Tools, func(a, b *mcp.Tool) int { return place[a.Name] - place[b.Name] })
		}
		return res, err
	}
}

func (s *Server) executeCodeTool(v *view) *tool {
	return &tool{
		name: "execute_code", always: true, run: withArgs(callExecuteCode), long: true, stage: progress.StageSandbox,
		description: v.executeCodeDescription() + v.index,
		input: inputSchema(`{"code":{"type":"string"},"language":`+v.languageSchema()+`,"context_vars":{"type":"object","description":"variables for the script","properties":{}},`+
			`"timeout_seconds":{"type":"number","default":`+formatNumber(v.Time.Seconds())+`},"memory_mb":{"type":"number","default":`+formatNumber(float64(v.Memory)/1e6)+`},`+
			`"risk":{"type":"string","enum":["low","medium","high","critical"],"description":"raises the rating"}`+v.networkSchema()+`}`, "code"),
	}
}

// executeCodeDescription says what a model needs to be told about scripts in the allowed languages.
func (v *view) executeCodeDescription() string {
	result, detected := "exports (Python: assigns) as `result`", " The language is detected."
	typescript, python := slices.Contains(v.Languages, TypeScript), slices.Contains(v.Languages, Python)
	switch {
	case !python:
		result, detected = "exports as `result`", ""
	case !typescript:
		result, detected = "assigns to `result`", ""
	}
	text := "Run a script that calls MCP tools: no network, files persist. Returns what it prints, or " +
		result + "." + detected
	if v.Network != "" {
		text = strings.Replace(text, "no network", "no network without network: true", 1)
	}
	if v.Packages != "" {
		text += " Installed packages: " + v.Packages + "."
	}
	if v.Personal {
		text += " Tokens such as [EMAIL_1] stand for personal data; pass them to tools as they are."
	}
	example := index.ExampleOf(v.Catalog, v.Lock)
	if example == nil {
		return text
	}
	if name := example.Functions[TypeScript]; name != "" && typescript {
		text += fmt.Sprintf("\nTypeScript, top-level await: import { %[1]s } from \"./servers/%[2]s\"; await %[1]s({ key: value })", name, example.Dir)
	}
	if name := example.Functions[Python]; name != "" && python {
		text += fmt.Sprintf("\nPython, no await, results are dicts: from servers.%[2]s import %[1]s; %[1]s(key=value)", name, example.Dir)
	}
	return text
}

// networkSchema is the argument network, with a comma, if there is any.
func (v *view) networkSchema() string {
	if v.Network == "" {
		return ""
	}
	text, _ := json.Marshal("connect to " + v.Network) // a string can always be marshalled
	return `,"network":{"type":"boolean","description":` + string(text) + `}`
}

func (s *Server) searchToolsTool() *tool {
	category := "a server: without query all its tools"
	if s.opt.Mode == ModeCore {
		category += ". " + ownCategory + ": skills, files, checkpoints, personal data, statistics"
	}
	return &tool{
		name: "search_tools", always: true, description: "Find tools by purpose or id, and how to call them.", run: withArgs(callSearchTools), hints: readOnly(),
		input: inputSchema(`{"query":{"type":"array","items":{"type":"string"},"description":"two wordings, one in the service's words"},"category":{"type":"string","description":"` + category + `"},` +
			`"detail_level":{"type":"string","enum":["name","signature","description","full"]}}`),
	}
}
