package hint

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// missingFile matches the messages of Node, QuickJS and Python for a file that does not exist or cannot be written. The group is its path.
var missingFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:ENOENT|EROFS|EACCES|\[Errno (?:2|13|30)\]).*?['"]([^'"\n]+)['"]`)
})

// file returns the hint for a file that the script looked for outside its workspace, or that is in the project.
func (f *Failure) file() string {
	found := missingFile().FindStringSubmatch(f.Err.Message)
	if found == nil || strings.Contains(f.Err.Message, "spawn") || strings.Contains(f.Err.Stack, "subprocess.py") {
		return ""
	}
	name := ident.Clip(found[1], 200)
	inside := strings.HasPrefix(name, sandbox.WorkspaceDir+"/") || strings.HasPrefix(name, "/tmp/")
	if path.IsAbs(name) && !inside {
		return fmt.Sprintf("%s is not in the sandbox: files are in the script's workspace, by relative paths such as %q", name, path.Base(name))
	}
	if f.Dir == "" || !filepath.IsLocal(name) {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(f.Dir, name)); err == nil {
		return fmt.Sprintf("%s is in the project, which is not in the sandbox: pass what the script needs with --var or standard input, or put the file into its workspace", name)
	}
	return ""
}
