package upstream

import (
	"bytes"
	"encoding/json"
	"slices"
)

// stub returns what the SDK sees in place of a result, or nil for methods whose real results it must see.
func stub(method string) json.RawMessage {
	member := map[string]string{
		methodListTools: "tools", methodCallTool: "content", methodListResources: "resources", methodListTemplates: "resourceTemplates",
		methodReadResource: "contents", methodListPrompts: "prompts", methodGetPrompt: "messages",
	}[method]
	switch {
	case slices.Contains(taskMethods, method):
		return json.RawMessage(`{"resultType":"complete"}`)
	case member == "":
		return nil
	}
	return json.RawMessage(`{"resultType":"complete","` + member + `":[]}`)
}

// headerTools reduces a tools/list result to the tools with x-mcp-header: the SDK drops those with invalid
// annotations, and sends the headers of the others.
func headerTools(result json.RawMessage) json.RawMessage {
	type tool struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"inputSchema"`
	}
	out := struct {
		ResultType string `json:"resultType"`
		Tools      []tool `json:"tools"`
	}{ResultType: "complete", Tools: []tool{}}
	var list struct {
		Tools []json.RawMessage `json:"tools"`
	}
	_ = json.Unmarshal(result, &list) // parsePage reports what is wrong with it
	for _, raw := range list.Tools {
		var t tool
		if hasHeaders(raw) && json.Unmarshal(raw, &t) == nil {
			out.Tools = append(out.Tools, t)
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return stub(methodListTools)
	}
	return text
}

// hasHeaders reports whether a tool's definition mentions x-mcp-header.
func hasHeaders(tool json.RawMessage) bool { return bytes.Contains(tool, []byte(`"x-mcp-header"`)) }
