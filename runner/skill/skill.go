// Package skill stores scripts as skills: folders in the Agent Skills format (SKILL.md with YAML front matter, and scripts/).
// Agents and people write them, scripts import them as ./skills/NAME, and hosts show them to models. Start with [Open].
//
// A skill records the digests of the tools it uses. If one of these tools is removed or changes, the skill is broken: it is
// still listed and can be loaded, always with the reasons, but is not served over MCP.
//
// Names, front matter and code are hostile, whoever wrote them. All files are read and written below folders that were opened,
// and the size of everything that is read is limited. The package never runs a script.
package skill

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/skill/internal/frontmatter"
)

// File is the name of the file that describes a skill. A folder without it is not a skill.
const File = "SKILL.md"

// Limits of what is saved and read.
const (
	MaxName        = 64       // bytes of a name
	MaxDescription = 1024     // characters of a description
	MaxFiles       = 512      // files of one skill
	MaxSize        = 16 << 20 // bytes of all files of a skill
	MaxSavedFiles  = 64       // files of a skill that a script or an agent saves
	MaxSavedSize   = 2 << 20  // bytes of a skill that a script or an agent saves
	MaxSkills      = 1000     // skills in one folder; further ones are ignored
	maxVersions    = 20       // earlier versions that are kept of a skill
	maxTriggers    = 32       // triggers of a skill; further ones are ignored
	maxTrigger     = 100      // characters of one
)

// Authors of a skill. Any other author is a person.
const (
	AuthorScript = "script" // a script in a sandbox
	AuthorAgent  = "agent"  // a model, over MCP
)

// Keys of metadata that we write. Their values are strings, as the format demands.
const (
	keyVersion = "mcprun-version"
	keyGiven   = "mcprun-name"
	keySkills  = "mcprun-skills" // names separated by spaces
	keyAuthor  = "author"
	keyTaint   = "mcprun-taint" // a JSON list
	keyTool    = "tool/"        // followed by the id; the value is the digest
	keyLearned = "learned/"     // followed by the id; the value is Tool.Learned
)

// Skill is one saved skill.
type Skill struct {
	Name        string             `json:"name"` // kebab-case; the name of its folder
	Description string             `json:"description"`
	Languages   []sandbox.Language `json:"languages"` // of its scripts, sorted; empty if it has instructions only
	Version     string             `json:"version"`   // SHA-256 of its content, hexadecimal
	Path        string             `json:"path"`      // absolute path of its folder; "shipped:NAME" for a skill in the program itself
	Author      string             `json:"author,omitempty"`
	Given       string             `json:"given,omitempty"` // the name it was saved under, if that differs from Name
	Shipped     bool               `json:"shipped,omitempty"`
	ReadOnly    bool               `json:"readOnly,omitempty"` // nothing can be saved to its folder
	Edited      bool               `json:"edited,omitempty"`   // its files were changed after it was saved
	Tools       []Tool             `json:"tools,omitempty"`    // the tools it used when it was saved, sorted by id
	Broken      bool               `json:"broken,omitempty"`
	Reasons     []Reason           `json:"reasons,omitempty"` // why it is broken, the worst first

	// Drifted lists harmless changes of its tools. They do not make it broken.
	Drifted []Reason `json:"drifted,omitempty"`

	// Marked lists the tools whose results have another learned type than when the skill was saved. That does not make it broken: learning
	// changes types, not results. A type check that passes removes the marks.
	Marked []Reason `json:"marked,omitempty"`

	// Triggers are words in which people ask for the skill, as its author lists them. They are searched.
	Triggers []string `json:"triggers,omitempty"`

	// Suspicious describes passages that try to instruct a model, one line each. A person must review them.
	Suspicious []string `json:"suspicious,omitempty"`

	// Skills lists the names of the skills it imported when it was saved.
	Skills []string `json:"skills,omitempty"`

	// Taint lists the servers whose data the skill may hold, because it was saved by a run or a model that had received that data.
	Taint []string `json:"taint,omitempty"`

	front   *frontmatter.Front
	content *content
	dir     Dir
}

// Origin maps each of the servers to a description of where its data lies: in a skill.
func Origin(name string, taint []string) map[string]string {
	out, what := map[string]string{}, "the skill"
	if version, ok := strings.CutPrefix(name, versionsDir+"/"); ok {
		what = "an earlier version of the skill"
		name, _, _ = strings.Cut(version, "/")
	}
	for _, server := range taint {
		out[server] = fmt.Sprintf("%s %q", what, name)
	}
	return out
}

// Tool is a tool that a skill uses, with the digest it had when the skill was saved.
type Tool struct {
	ID     string `json:"id"`
	Digest string `json:"digest"` // as in the lock file
	// Learned is a digest of the type of its result that mcpgen learn had found; empty if there was none.
	Learned string `json:"learned,omitempty"`
}

// Kind is the kind of a reason.
type Kind string

// The kinds of reasons.
const (
	KindFormat  Kind = "format"       // SKILL.md or the name does not follow the format
	KindRemoved Kind = "tool-removed" // a tool that it uses was removed
	KindChanged Kind = "tool-changed" // a tool that it uses has changed since it was saved
	KindLearned Kind = "tool-learned" // the type of a tool's result was learned since it was saved; never why it is broken
	KindScript  Kind = "script"       // one of its scripts cannot be bundled
	KindTypes   Kind = "types"        // it has type errors
	KindSkill   Kind = "skill"        // a skill that it uses was removed or is broken
)

// Reason is why a skill is broken. Its texts may quote servers and the author of the skill.
type Reason struct {
	Kind    Kind     `json:"kind"`
	Tool    string   `json:"tool,omitempty"` // the tool's id
	Text    string   `json:"text"`           // one line
	Details []string `json:"details,omitempty"`
	// Fatal reports whether the skill cannot work. Otherwise it may still work, and somebody must review it.
	Fatal bool `json:"fatal"`
}

// Reason returns why the skill is broken, in one line. It is empty if the skill is not broken.
func (s *Skill) Reason() string {
	texts := make([]string, len(s.Reasons))
	for i, r := range s.Reasons {
		texts[i] = r.Text
	}
	return strings.Join(texts, "; ")
}

// Fatal reports whether the skill cannot work as it is.
func (s *Skill) Fatal() bool {
	return slices.ContainsFunc(s.Reasons, func(r Reason) bool { return r.Fatal })
}

// Files returns the skill's files, including SKILL.md, sorted by path.
func (s *Skill) Files() []FileInfo { return slices.Clone(s.content.infos) }

// Read returns the content of a file of the skill, by its path below the skill's folder, with slashes.
func (s *Skill) Read(name string) ([]byte, error) {
	data, err := s.data(name)
	return slices.Clone(data), err
}

// Main returns the script that an import of the skill runs: its path below the skill's folder, and its text. If lang is
// empty, it is the TypeScript script, or else the Python script. The result ok is false if there is none.
func (s *Skill) Main(lang sandbox.Language) (name, code string, ok bool) {
	if lang == "" {
		for _, l := range []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython} {
			if name, code, ok = s.Main(l); ok {
				return name, code, true
			}
		}
		return "", "", false
	}
	if name = mainOf(s.content, lang); name == "" {
		return "", "", false
	}
	data, _ := s.data(name) // empty if the file has just been changed
	return name, string(data), true
}

// Language returns the language of the script that Main("") returns. It is empty if there is none.
func (s *Skill) Language() sandbox.Language {
	for _, l := range []sandbox.Language{sandbox.LangTypeScript, sandbox.LangPython} {
		if mainOf(s.content, l) != "" {
			return l
		}
	}
	return ""
}

// Instructions returns the text of SKILL.md after the front matter.
func (s *Skill) Instructions() string { return s.front.Body }

// Frontmatter returns the front matter of SKILL.md as a JSON object, with its keys in order.
func (s *Skill) Frontmatter() json.RawMessage { return s.front.JSON() }

// FileInfo describes a file of a skill.
type FileInfo struct {
	Path   string `json:"path"` // below the skill's folder, with slashes
	Size   int64  `json:"size"` // in bytes
	Digest string `json:"digest"`
}
