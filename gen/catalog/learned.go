package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// LearnedDir holds what was learned of tools' replies, one file per server folder.
const LearnedDir = MetaDir + "/learned"

// Learned is what is known of a tool's replies where its server declares no output schema. It holds no value of any
// reply.
type Learned struct {
	// Digest is that of the tool's definition when the last reply was learned.
	Digest string `json:"digest"`
	// Replies is how many were learned from.
	Replies int `json:"replies"`
	// JSON reports whether the replies were JSON in a text block, which Schema then describes.
	JSON bool `json:"json,omitempty"`
	// Schema is a JSON Schema.
	Schema json.RawMessage `json:"schema"`
}

// learnedFile is the form of a file below [LearnedDir].
type learnedFile struct {
	Server string             `json:"server"`
	Tools  map[string]Learned `json:"tools"` // by the server's own names for them
}

// LearnedPath is the file that keeps what was learned of the tools of a server's folder.
func LearnedPath(dir string) string { return LearnedDir + "/" + dir + ".json" }

// MarshalLearned writes what was learned of a server's tools, sorted by name.
func MarshalLearned(server string, tools map[string]Learned) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(learnedFile{Server: server, Tools: tools}); err != nil {
		return nil, fmt.Errorf("write what was learned of %q: %w", server, err)
	}
	return escapeHidden(b.Bytes()), nil
}

// DamagedLearnedError is a file of what was learned that can't be read. Unlike other files of a tree no server can give
// it again, so nothing is written over it.
type DamagedLearnedError struct {
	// File is its path below the tree.
	File string
	Err  error
}

func (e *DamagedLearnedError) Error() string {
	return fmt.Sprintf("%s cannot be read: %v", e.File, e.Err)
}

// Unwrap returns what is wrong with it.
func (e *DamagedLearnedError) Unwrap() error { return e.Err }

// Hint suggests a remedy.
func (e *DamagedLearnedError) Hint() string {
	return `mend it or restore it from version control; or remove it, and learn anew with "mcpgen learn"`
}

// ExitCode is 2.
func (e *DamagedLearnedError) ExitCode() int { return 2 }

// ReadLearned reads what a tree keeps of tools' replies, by server and tool. A tree that isn't there has learned
// nothing. A file that can't be read is a *[DamagedLearnedError].
func ReadLearned(dir string) (map[string]map[string]Learned, error) {
	learned := map[string]map[string]Learned{}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return learned, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the tree: %w", err)
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), LearnedDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".json") {
			continue
		}
		name := LearnedDir + "/" + entry.Name()
		var file learnedFile
		b, err := readFile(root, name)
		if err == nil {
			err = json.Unmarshal(b, &file)
		}
		if err == nil && file.Server == "" {
			err = errors.New("it does not name its server")
		}
		if err != nil {
			return nil, &DamagedLearnedError{File: name, Err: err}
		}
		if learned[file.Server] == nil {
			learned[file.Server] = map[string]Learned{}
		}
		for tool, known := range file.Tools {
			if _, twice := learned[file.Server][tool]; !twice { // a sync that was cut off may leave two files of one server
				learned[file.Server][tool] = known
			}
		}
	}
	return learned, nil
}
