package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/mcpgen/mcpgen/gen/exit"
)

// LearnedDir is the folder of the learned output types, one file per server folder.
const LearnedDir = MetaDir + "/learned"

// Learned is the output type of a tool whose server declares none, inferred from replies. It holds no value of any reply.
type Learned struct {
	// Digest is the digest of the tool's definition when the last reply was read.
	Digest string `json:"digest"`
	// Replies is the number of replies read.
	Replies int `json:"replies"`
	// JSON reports whether the replies were JSON in a text block. Schema then describes that JSON.
	JSON bool `json:"json,omitempty"`
	// Schema is a JSON Schema.
	Schema json.RawMessage `json:"schema"`
}

// learnedFile is the form of a file below [LearnedDir].
type learnedFile struct {
	Server string             `json:"server"`
	Tools  map[string]Learned `json:"tools"` // by the server's own names for them
}

// LearnedPath returns the path of the file for a server's folder.
func LearnedPath(dir string) string { return LearnedDir + "/" + dir + ".json" }

// MarshalLearned encodes the learned types of a server's tools, sorted by name.
func MarshalLearned(server string, tools map[string]Learned) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(learnedFile{Server: server, Tools: tools}); err != nil {
		return nil, fmt.Errorf("encode the learned types of %q: %w", server, err)
	}
	return escapeHidden(b.Bytes()), nil
}

// DamagedLearnedError is a file of learned types that cannot be read. Unlike the other files of a tree it cannot be generated
// again, so nothing overwrites it.
type DamagedLearnedError struct {
	// File is its path below the tree.
	File string
	Err  error
}

func (e *DamagedLearnedError) Error() string {
	return fmt.Sprintf("%s cannot be read: %v", e.File, e.Err)
}

// Unwrap returns the cause.
func (e *DamagedLearnedError) Unwrap() error { return e.Err }

// Hint suggests a remedy.
func (e *DamagedLearnedError) Hint() string {
	return `repair it or restore it from version control; or remove it, and learn again with "mcpgen learn"`
}

// ExitCode is exit.Usage.
func (e *DamagedLearnedError) ExitCode() int { return exit.Usage }

// ReadLearned reads the learned types of a tree, by server and tool. It returns an empty map if the tree does not exist, and a
// *[DamagedLearnedError] for a file that cannot be read.
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
			if _, twice := learned[file.Server][tool]; !twice { // an interrupted sync may leave two files of one server
				learned[file.Server][tool] = known
			}
		}
	}
	return learned, nil
}
