package skill

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/mcpgen/mcpgen/gen/catalog"
)

// What the store keeps for itself in a folder of skills: earlier versions, definitions of tools as they were when a skill
// was saved, results of type checks, and what is being written. Losing it loses no skill.
const (
	keptDir     = ".mcprun"
	versionsDir = keptDir + "/versions"
	toolsDir    = keptDir + "/tools"
	checksFile  = keptDir + "/checks.json"
	stagePrefix = keptDir + "/stage-"
	ignoreFile  = keptDir + "/.gitignore"
)

// ignored leaves to Git what it would keep twice. Definitions are few, and say what has changed.
const ignored = "*\n!.gitignore\n!tools/\n!tools/*.json\n"

// Bounds of what is read back.
const (
	maxDefinition = 1 << 20
	maxChecks     = 4 << 20
)

func rawList(raw []byte) []json.RawMessage { return []json.RawMessage{raw} }

// definitionFile is where the definition with a digest is kept; empty for what is no digest.
func definitionFile(digest string) string {
	sum, ok := strings.CutPrefix(digest, "sha256:")
	if b, err := hex.DecodeString(sum); !ok || err != nil || len(b) != 32 || strings.ToLower(sum) != sum {
		return ""
	}
	return toolsDir + "/" + sum + ".json"
}

// kept is the definition of a tool with a digest, as it was when the skill was saved. Nil: it is not there any more.
func (s *Store) kept(k *Skill, digest string) []byte {
	name := definitionFile(digest)
	if name == "" {
		return nil
	}
	for _, d := range s.dirs {
		fsys, leave, err := d.open()
		if err != nil {
			continue
		}
		raw, err := readBounded(fsys, name, maxDefinition)
		leave()
		if err != nil || len(raw) > maxDefinition {
			continue
		}
		if sum, err := catalog.Digest(raw); err == nil && sum == digest {
			return raw
		}
	}
	return nil
}

// keepDefinitions writes down what the tools are that a skill uses.
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

// prepareKept makes the folder for what is kept.
func prepareKept(root *os.Root) error {
	for _, dir := range []string{keptDir, versionsDir, toolsDir} {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make %s in the folder of skills: %w", dir, err)
		}
	}
	if _, err := root.Lstat(ignoreFile); errors.Is(err, fs.ErrNotExist) {
		return writeFile(root, ignoreFile, []byte(ignored))
	}
	return nil
}

// writeFile writes a file whole, or not at all. Its folder is made if it is missing.
func writeFile(root *os.Root, name string, data []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	temp := path.Join(path.Dir(name), ".tmp-"+rand.Text())
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), root.Remove(temp))
	}
	return nil
}
