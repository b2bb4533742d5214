package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
	"github.com/mcpgen/mcpgen/gen/exit"
)

// PhrasesPath is the file of a tree that has the [Phrases] of its tools. People and models write it: the lock does not have its
// digest, and a sync only removes from it what belongs to no tool.
const PhrasesPath = MetaDir + "/phrases.json"

// Bounds of the phrases of one tool.
const (
	// MaxPhrases is the maximum number of phrases of a tool, and MaxPhrase the maximum length of each, in bytes.
	MaxPhrases, MaxPhrase = 8, 100
	// maxPhrasesFile bounds the file, in bytes.
	maxPhrasesFile = 64 << 20
)

// Phrases are what people say who want a tool, in words that its own texts lack. Searches find the tool by them.
type Phrases struct {
	// Of is [Tool.TextDigest] when they were written; empty if nobody knows.
	Of      string   `json:"of,omitempty"`
	Phrases []string `json:"phrases"`
}

// Stale reports whether the texts of the tool have changed since the phrases were written.
func (p Phrases) Stale(t *Tool) bool { return p.Of != "" && p.Of != t.TextDigest() }

// TextDigest is a digest of what a tool says of itself: its title and description.
func (t *Tool) TextDigest() string {
	return digestBytes([]byte(t.Title + "\x00" + t.Description))[:len("sha256:")+16]
}

// PhrasesError is a file of phrases that cannot be read. Nothing overwrites it.
type PhrasesError struct{ Err error }

func (e *PhrasesError) Error() string {
	return fmt.Sprintf("%s cannot be read, so searches don't use it: %v", PhrasesPath, e.Err)
}

// Unwrap returns the cause.
func (e *PhrasesError) Unwrap() error { return e.Err }

// Hint suggests a remedy.
func (e *PhrasesError) Hint() string {
	return "repair it, restore it from version control, or remove it"
}

// ExitCode is exit.Usage.
func (e *PhrasesError) ExitCode() int { return exit.Usage }

// ReadPhrases reads the phrases of a tree, by server and by the server's own names for its tools. It returns an empty map if
// the tree has none, and a *[PhrasesError] if they cannot be read. They are untrusted: anybody may have written the file, and nothing
// has cut them to the bounds.
func ReadPhrases(dir string) (map[string]map[string]Phrases, error) {
	out := map[string]map[string]Phrases{}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, &PhrasesError{err}
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Lstat(PhrasesPath); err == nil && info.Size() > maxPhrasesFile {
		return nil, &PhrasesError{fmt.Errorf("it has %d bytes; the limit is %d", info.Size(), maxPhrasesFile)}
	}
	b, err := readFile(root, PhrasesPath)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		return nil, &PhrasesError{err}
	}
	return out, nil
}

// WritePhrases replaces the phrases of a tree, which must be there, in one step.
func WritePhrases(dir string, phrases map[string]map[string]Phrases) (err error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(phrases); err != nil {
		return fmt.Errorf("encode the phrases: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", PhrasesPath, err)
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, p := range []string{MetaDir, PhrasesPath} { // a link is not followed
		if info, err := root.Lstat(p); err == nil && info.IsDir() != (p == MetaDir) || err == nil && p == PhrasesPath && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a plain file in a plain folder", p)
		}
	}
	return atomicfile.WriteIn(root, PhrasesPath, escapeHidden(b.Bytes()), 0o644) // a sync removes what a killed process left
}
