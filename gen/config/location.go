package config

import (
	"fmt"
	"io/fs"
)

// Location is the result of [Locate]: the files that list the servers of a project.
type Location struct {
	// Paths are the files; [Locate] returns absolute ones.
	Paths []string
	// Project is the absolute folder of the mcpgen.yaml whose key config names the file. Relative paths in the file start there. If it is
	// empty, the project is the first file's own.
	Project string
	// Idle is an mcpgen.yaml with a policy, a network, settings of run or of personal data that [Locate] passed on its way up, and IdleKey the
	// first of these keys. There is no list of servers beside it, so they have no effect. Both are empty without such a file.
	Idle, IdleKey string
}

// Dir returns the absolute folder of the project.
func (l Location) Dir() string {
	if l.Project != "" {
		return l.Project
	}
	return projectDir(l.Paths[0])
}

// NotFoundError reports that [Locate] found no list of servers. It is an [fs.ErrNotExist].
type NotFoundError struct {
	// Dir is where the search began, and Root where it ended.
	Dir, Root string
	// Idle and IdleKey are as in [Location].
	Idle, IdleKey string
}

func (e *NotFoundError) Error() string {
	text := fmt.Sprintf("no %s or %s in %s", OwnName, FileName, e.Dir)
	if e.Dir != e.Root {
		text += " or above it, up to " + e.Root
	}
	if e.Idle != "" {
		text += "; the key " + e.IdleKey + " in " + e.Idle + " does not apply without a list of servers"
	}
	return text
}

// Hint returns what to do about the error.
func (e *NotFoundError) Hint() string {
	if e.Idle != "" {
		return fmt.Sprintf("\"mcpgen init\" creates %s beside it; the list may stay empty", OwnName)
	}
	return "create one with \"mcpgen init\", take over what an editor has with \"mcpgen init --from cursor\", or name a file with --config"
}

// Is reports whether target is [fs.ErrNotExist].
func (e *NotFoundError) Is(target error) bool { return target == fs.ErrNotExist }
