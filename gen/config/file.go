package config

import (
	"fmt"
	"io"
	"os"

	"github.com/mcpgen/mcpgen/gen/config/node"
)

// The files that list the servers of a project. The first one that exists is used.
const (
	// OwnName is read only by mcpgen and mcprun.
	OwnName = "mcpgen.json"
	// FileName is also read by Claude Code.
	FileName = ".mcp.json"
)

// SettingsName is the file with our own settings. It is in the folder of the list of servers, or names the list with its key
// config.
const SettingsName = "mcpgen.yaml"

// maxFileSize bounds every file this package reads, in bytes.
const maxFileSize = 4 << 20

// FileError is a mistake in a configuration file.
type FileError = node.FileError

// Note is something about a configuration that a person should know.
type Note = node.Note

// readFile reads a file of at most maxFileSize bytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFileSize {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFileSize)
	}
	return text, nil
}
