package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Host is a program with a list of MCP servers, and stands for the form of its file.
type Host string

// The forms of file that are understood.
const (
	Project       Host = "project" // .mcp.json, and whatever else has an mcpServers object
	ClaudeCode    Host = "claude-code"
	ClaudeDesktop Host = "claude-desktop"
	Cursor        Host = "cursor"
	VSCode        Host = "vscode"
	Windsurf      Host = "windsurf"
	Codex         Host = "codex"
	Gemini        Host = "gemini"
	Zed           Host = "zed"
	OpenCode      Host = "opencode"
)

// Hosts returns every host but [Project], in the order in which their servers are preferred.
func Hosts() []Host {
	return []Host{ClaudeCode, ClaudeDesktop, Cursor, VSCode, Windsurf, Codex, Gemini, Zed, OpenCode}
}

// dialect is what is special about a host's form of file.
type dialect struct {
	// root is the key of the servers.
	root string
	// translate converts the host's variables to ours.
	translate func(*translator, string) string
	// fallsBack reports whether the host tries the older SSE transport if a server refuses streamable HTTP.
	fallsBack bool
	// launch returns an entry that starts a program; nil stands for {"command": …, "args": […]}.
	launch func(Launch) any
	// keys are those with another meaning than in other hosts' files, or that only this host has.
	keys map[string]setter
}

// Launch is a program that a host is to start as a server.
type Launch struct {
	Command string   `json:"command" toml:"command"`
	Args    []string `json:"args" toml:"args"`
}

// Entry returns launch in the form of the host's file.
func (h Host) Entry(launch Launch) any {
	if form := dialectOf(h).launch; form != nil {
		return form(launch)
	}
	return launch
}

func dialectOf(h Host) dialect {
	switch h {
	case ClaudeDesktop:
		return dialect{root: "mcpServers", translate: (*translator).literal}
	case Cursor:
		return dialect{root: "mcpServers", translate: (*translator).editor, fallsBack: true}
	case VSCode:
		return dialect{root: "servers", translate: (*translator).editor, fallsBack: true, launch: func(l Launch) any {
			return struct {
				Type string `json:"type"`
				Launch
			}{"stdio", l}
		}}
	case Windsurf:
		return dialect{root: "mcpServers", translate: (*translator).ours, fallsBack: true}
	case Codex:
		return dialect{root: "mcp_servers", translate: (*translator).literal}
	case Gemini:
		return dialect{root: "mcpServers", translate: (*translator).dollar, keys: map[string]setter{
			"url": (*entry).setSSE, "timeout": into(timeout, (*entry).millis),
		}}
	case Zed:
		return dialect{root: "context_servers", translate: (*translator).literal, fallsBack: true, keys: map[string]setter{
			"command": (*entry).setZedCommand, "source": (*entry).setZedSource,
		}}
	case OpenCode:
		launch := func(l Launch) any {
			return struct {
				Type    string   `json:"type"`
				Command []string `json:"command"`
			}{"local", append([]string{l.Command}, l.Args...)}
		}
		return dialect{root: "mcp", translate: (*translator).braces, fallsBack: true, launch: launch, keys: map[string]setter{
			"command": (*entry).setCommandList, "timeout": into(startup, (*entry).millis),
		}}
	}
	return dialect{root: "mcpServers", translate: (*translator).ours}
}

// detect returns the host whose form a file has, by its content and, if several hosts share the form, by its name.
func detect(path string, toml bool, root node.Node) Host {
	if toml {
		return Codex
	}
	has := func(key string, k node.Kind) bool { v, ok := root.Get(key); return ok && v.Kind == k }
	switch {
	case has("mcpServers", node.KindObject):
		return hostByName(path)
	case has("context_servers", node.KindObject):
		return Zed
	case has("servers", node.KindObject):
		return VSCode
	case has("mcp", node.KindObject):
		return OpenCode
	}
	return hostByName(path)
}

// hostByName returns the host that gives its file this name.
func hostByName(path string) Host {
	base, dir := strings.ToLower(filepath.Base(path)), strings.ToLower(filepath.Base(filepath.Dir(path)))
	switch {
	case base == ".claude.json":
		return ClaudeCode
	case base == "claude_desktop_config.json":
		return ClaudeDesktop
	case base == "mcp_config.json":
		return Windsurf
	case base == "settings.json" && dir == ".gemini":
		return Gemini
	case base == "mcp.json" && dir == ".cursor":
		return Cursor
	case base == "opencode.json" || base == "opencode.jsonc":
		return OpenCode
	case base == "mcp.json" && dir == ".vscode":
		return VSCode
	case base == "settings.json" && (dir == ".zed" || dir == "zed"):
		return Zed
	}
	return Project
}

// projectDir returns the folder of the project of a file: its own folder, or the one above a host's folder such as .vscode.
func projectDir(abs string) string {
	dir := filepath.Dir(abs)
	switch strings.ToLower(filepath.Base(dir)) {
	case ".vscode", ".cursor", ".gemini", ".codex", ".zed", ".opencode":
		return filepath.Dir(dir)
	}
	return dir
}

// IsTOML reports whether a file is TOML rather than JSON, by its first characters or else by its name.
func IsTOML(path string, text []byte) bool {
	ext := strings.ToLower(filepath.Ext(path))
	trimmed := strings.TrimLeft(string(text[:min(len(text), 4096)]), " \t\r\n")
	switch {
	case strings.HasPrefix(trimmed, "{"), strings.HasPrefix(trimmed, "//"), strings.HasPrefix(trimmed, "/*"):
		return false
	case ext == ".toml":
		return true
	}
	return ext != ".json" && ext != ".jsonc" && trimmed != ""
}

// rootHint returns a hint if the file has the key under which another host has its servers.
func rootHint(root node.Node, want string) string {
	for _, name := range root.Names() {
		if name != want && slices.Contains([]string{"mcpServers", "servers", "mcp", "context_servers", "mcp_servers"}, name) {
			return fmt.Sprintf("; this file has %q, which is another program's form", name)
		}
	}
	return ""
}
