package workspace

import (
	"strings"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
)

// nestedName is the folder that published examples of scripts write to, as in "./workspace/out.csv". They mean the workspace,
// which is already their working directory, so the folder must exist inside it.
const nestedName = "workspace"

// Nested reports whether a script names a folder "workspace" below its working directory: in quotes, with or without "./".
func Nested(code string) bool {
	for {
		i := strings.Index(code, nestedName)
		if i < 0 {
			return false
		}
		before := strings.TrimSuffix(code[:i], "./")
		after := code[i+len(nestedName):]
		if before != "" && isQuote(before[len(before)-1]) && after != "" && (after[0] == '/' || isQuote(after[0])) {
			return true
		}
		code = after
	}
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// Nest creates the folder "workspace" in a workspace if the name is unused, and reports whether it did. The workspace's access
// control list decides who may write to it.
func Nest(dir string) bool {
	root, err := safeopen.Root(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	return root.Mkdir(nestedName, 0o775) == nil // otherwise the script finds what is there, or fails
}

// Unnest removes the folder "workspace" from a workspace if it is empty.
func Unnest(dir string) {
	root, err := safeopen.Root(dir)
	if err != nil {
		return
	}
	defer root.Close()
	_ = root.Remove(nestedName)
}
