package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// ProjectFiles returns the names of the files that make a folder a project: mcpgen and mcprun start the programs named in them. A workspace
// must contain none of them.
func ProjectFiles() []string { return []string{"mcpgen.yaml", "mcpgen.json", ".mcp.json"} }

// ReservedFiles returns the names that scripts must not give to files at the top of a workspace: the project's files, and .env,
// which mcpgen and mcprun read beside them. The guest library refuses the same names.
func ReservedFiles() []string { return append(ProjectFiles(), ".env") }

// HasReserved returns the reserved names that exist in dir.
func HasReserved(dir string) []string {
	var has []string
	root, err := OpenLocked(dir)
	if err != nil {
		return nil // there is nothing, or the run will fail anyway
	}
	defer root.Close()
	for _, name := range ReservedFiles() {
		if _, err := root.Lstat(name); err == nil {
			has = append(has, name)
		}
	}
	return has
}

// SetAside renames what a script left in dir under a reserved name, except for names in before, and returns the new names by old name.
// Otherwise later runs would be refused, or a program could be started there with the script's configuration.
func SetAside(dir string, before []string) (map[string]string, error) {
	root, err := OpenLocked(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read workspace: %w", err)
	}
	defer root.Close()
	var moved map[string]string
	var errs []error
	for _, name := range ReservedFiles() {
		if _, err := root.Lstat(name); err != nil || slices.Contains(before, name) {
			continue
		}
		to := MovedName(name)
		if err := root.Rename(name, to); err != nil {
			errs = append(errs, fmt.Errorf("rename %s in the workspace: %w", name, err))
			continue
		}
		if moved == nil {
			moved = map[string]string{}
		}
		moved[name] = to
	}
	return moved, errors.Join(errs...)
}

// MovedName returns a new name for a file of a workspace that is moved aside. It is unused and harmless.
func MovedName(name string) string {
	return strings.TrimPrefix(name, ".") + ".moved-" + strings.ToLower(rand.Text()[:6])
}
