package config

import (
	"go.yaml.in/yaml/v3"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// Packages is the key run.packages of mcpgen.yaml: what scripts may import beside the standard library.
type Packages struct {
	// Python is a requirements file or a folder of wheels, JavaScript a package-lock.json. Each may be empty.
	Python, JavaScript string
	// Preload names Python modules that waiting sandboxes import ahead.
	Preload []string
	// Line is the line in mcpgen.yaml, 0 if the key is not there.
	Line int `yaml:"-"`
}

// takePackages moves the key packages out of the settings of run:, which are flags.
func (s *Settings) takePackages(file *node.File, root *yaml.Node) error {
	delete(s.Run, "packages")
	n := node.Value(node.Value(root, "run"), "packages")
	if n == nil {
		return nil
	}
	if err := n.Decode(&s.Packages); err != nil {
		return file.YAMLError(err)
	}
	if s.Packages.Line = n.Line; len(s.Packages.Preload) > 0 && s.Packages.Python == "" {
		return file.ErrorAt(n.Line, "run.packages.preload", "it has no effect without packages of Python", "name them in run.packages.python, or remove preload")
	}
	return nil
}
