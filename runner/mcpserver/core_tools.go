package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"
)

// ownCategory is the category, and the server's name in ids, of the tools of this server that tools/list leaves out.
const ownCategory = "mcprun"

// coreTools are the tools that tools/list shows in [ModeCore]. With them a model finds and calls all others.
var coreTools = []string{"execute_code", "search_tools", "call_tool"}

// lists reports whether tools/list shows the tool.
func (s *Server) lists(tool string) bool {
	if s.opt.Mode != ModeCore || slices.Contains(coreTools, tool) {
		return true
	}
	v := s.now.Load()
	at, ok := v.place[tool]
	return ok && v.tools[at].listed
}

// unlisted returns the tools that tools/list leaves out.
func (s *Server) unlisted() []*tool {
	return slices.DeleteFunc(slices.Clone(s.now.Load().tools), func(t *tool) bool { return s.lists(t.name) })
}

func ownID(tool string) string { return ownCategory + "__" + tool }

// ownTool returns the unlisted tool with that id, or nil.
func (s *Server) ownTool(id string) *tool {
	for _, t := range s.unlisted() {
		if id == ownID(t.name) || id == ownCategory+"."+t.name {
			return t
		}
	}
	return nil
}

// ownTools shows tools of this server in the form in which call_tool takes them: those that mention one of the wordings, or else all.
func ownTools(tools []*tool, wordings ...string) *reply {
	type entry struct {
		Tool        string          `json:"tool"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	show := slices.DeleteFunc(slices.Clone(tools), func(t *tool) bool {
		return !slices.ContainsFunc(wordings, func(w string) bool { return mentions(w, t.name, t.description) })
	})
	if len(show) == 0 {
		show = tools
	}
	list, rows := []entry{}, []string{"Call these with call_tool."}
	for _, t := range show {
		list = append(list, entry{ownID(t.name), t.description, json.RawMessage(t.input)})
		rows = append(rows, ownID(t.name)+": "+t.description+"\n"+t.input)
	}
	return &reply{text: strings.Join(rows, "\n"), data: map[string]any{"tools": list}, hidden: true}
}
