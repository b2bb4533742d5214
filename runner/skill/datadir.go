package skill

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/mcpgen/mcpgen/gen/atomicfile"
	"github.com/mcpgen/mcpgen/gen/catalog"
)

// The data folder in a folder of skills holds earlier versions, definitions of tools at the time a skill was saved, results of
// type checks, and files that are being written. Removing it does not remove a skill.
const (
	dataDir     = ".mcprun"
	versionsDir = dataDir + "/versions"
	toolsDir    = dataDir + "/tools"
	checksFile  = dataDir + "/checks.json"
	lockFile    = dataDir + "/lock" // held while a skill is saved or removed
	stagePrefix = dataDir + "/stage-"
	ignoreFile  = dataDir + "/.gitignore"
)

// gitignore keeps the data folder out of git, except for definitions, which show what has changed.
const gitignore = "*\n!.gitignore\n!tools/\n!tools/*.json\n"

// Limits of what is read back, in bytes.
const (
	maxDefinition = 1 << 20
	maxChecks     = 4 << 20
)

// definitionFile returns the path of the definition with a digest. It is empty if the digest is malformed.
func definitionFile(digest string) string {
	sum, ok := strings.CutPrefix(digest, "sha256:")
	if b, err := hex.DecodeString(sum); !ok || err != nil || len(b) != 32 || strings.ToLower(sum) != sum {
		return ""
	}
	return toolsDir + "/" + sum + ".json"
}

// definition returns the definition of a tool by its digest, as it was when the skill was saved. It is nil if it was not
// kept.
func (s *Store) definition(digest string) []byte {
	name := definitionFile(digest)
	if name == "" {
		return nil
	}
	for _, d := range s.dirs {
		fsys, done, err := d.open()
		if err != nil {
			continue
		}
		raw, err := readBounded(fsys, name, maxDefinition)
		done()
		if err != nil || len(raw) > maxDefinition {
			continue
		}
		if sum, err := catalog.Digest(raw); err == nil && sum == digest {
			return raw
		}
	}
	return nil
}

// keepDefinitions saves the current definitions of tools.
func (s *Store) keepDefinitions(root *os.Root, all []Tool) error {
	for _, tool := range all {
		name := definitionFile(tool.Digest)
		_, raw := s.tools.definition(tool.ID)
		if name == "" || raw == nil || len(raw) > maxDefinition {
			continue
		}
		if _, err := root.Stat(name); err == nil {
			continue
		}
		if err := writeFile(root, name, raw); err != nil {
			return err
		}
	}
	return nil
}

// prepareDataDir creates the data folder.
func prepareDataDir(root *os.Root) error {
	for _, dir := range []string{dataDir, versionsDir, toolsDir} {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("create %s in the folder of skills: %w", dir, err)
		}
	}
	if _, err := root.Lstat(ignoreFile); errors.Is(err, fs.ErrNotExist) {
		return writeFile(root, ignoreFile, []byte(gitignore))
	}
	return nil
}

// writeFile writes a file completely or not at all. It creates missing folders.
func writeFile(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return atomicfile.WriteIn(root, name, data, 0o644)
}
