package packages

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// requirement is one line of a requirements file.
type requirement struct {
	name, extras, version, marker string
	hashes                        []string // in hexadecimal digits, of SHA-256
}

// String returns the line as pip and uv read it.
func (r *requirement) String() string {
	line := r.name + r.extras + "==" + r.version
	if r.marker != "" {
		line += " ; " + r.marker
	}
	for _, h := range r.hashes {
		line += " --hash=sha256:" + h
	}
	return line
}

var (
	// requirementLine matches a line that pins one package, with hashes. The marker has no character that pip gives another meaning.
	requirementLine = regexp.MustCompile(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(\[[A-Za-z0-9._,\s-]+\])?\s*==\s*([^\s;=]+)\s*(?:;((?:\s*[A-Za-z0-9_.<>=!~'"()*+]+-?)+))?((?:\s+--hash=sha256:[0-9a-f]{64})+)$`)
	// exactVersion matches a version as Python's packages have it, and no name of an archive.
	exactVersion = regexp.MustCompile(`(?i)^(?:\d+!)?\d+(?:\.\d+)*(?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview)[-_.]?\d*)?(?:-\d+|[-_.]?(?:post|rev|r)[-_.]?\d*)?(?:[-_.]?dev[-_.]?\d*)?(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?$`)
	comment      = regexp.MustCompile(`(^|\s)#.*$`)
	archive      = regexp.MustCompile(`(?i)\.(whl|tar|tar\.[a-z0-9]+|tgz|tbz|txz|zip|egg)$`)
)

const makeHashes = "make the file with hashes: uv pip compile --universal --python-version " + ImagePython + " --generate-hashes requirements.in -o requirements.txt"

// readRequirements reads a requirements file. Only lines with a name, an exact version and hashes are taken.
func readRequirements(path string) ([]requirement, error) {
	text, err := readText(path, "python")
	if err != nil {
		return nil, err
	}
	var out []requirement
	lines := strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n")
	for i := 0; i < len(lines); i++ {
		first, line := i+1, ""
		for {
			part := comment.ReplaceAllString(strings.TrimSuffix(lines[i], "\r"), "")
			more, continues := strings.CutSuffix(part, `\`)
			line += " " + more
			if !continues || i+1 == len(lines) {
				break
			}
			i++
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		r, problem, remedy := parseRequirement(line)
		if problem != "" {
			return nil, &Error{Place: fmt.Sprintf("%s:%d", path, first), Problem: problem, Remedy: remedy}
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, &Error{Place: path, Problem: "it names no package", Remedy: "remove run.packages.python from mcpgen.yaml, or write name==version --hash=sha256:… into the file"}
	}
	return out, nil
}

// parseRequirement reads a line without comments. The problem is empty if the line is valid.
func parseRequirement(line string) (r requirement, problem, remedy string) {
	if m := requirementLine.FindStringSubmatch(line); m != nil {
		r = requirement{name: m[1], extras: strings.Join(strings.Fields(m[2]), ""), version: m[3], marker: strings.TrimSpace(m[4])}
		for _, h := range strings.Fields(m[5]) {
			r.hashes = append(r.hashes, strings.TrimPrefix(h, "--hash=sha256:"))
		}
		if !exactVersion.MatchString(r.version) {
			return r, shown(r.name) + " has no exact version", "write the version in full, such as 2.1.4"
		}
		return r, "", ""
	}
	word := strings.Fields(line)[0]
	_, hashed, _ := strings.Cut(line, "--hash=")
	switch {
	case strings.HasPrefix(word, "-"):
		return r, "the option " + shown(word) + " is not taken from this file", "remove the line; write the lines of a further file into this one, and name another index with PIP_INDEX_URL in your environment"
	case strings.Contains(line, "://") || strings.Contains(line, "@"):
		return r, shown(word) + " is installed from an address", "write it as name==version with hashes; a wheel of your own goes into a folder of wheels, which run.packages.python can name instead"
	case archive.MatchString(word) || strings.ContainsAny(word, `/\`) || strings.HasPrefix(word, "."):
		return r, shown(word) + " is a file", "put wheels into a folder, and name that folder in run.packages.python"
	case !strings.Contains(line, "=="):
		return r, shown(word) + " has no exact version", "write name==version with hashes; " + makeHashes
	case hashed == "":
		return r, shown(word) + " has no hash", makeHashes
	}
	return r, shown(word) + " is not name==version ; marker --hash=sha256:…", makeHashes
}

// showable matches the beginning of a word that is a name or an option.
var showable = regexp.MustCompile(`^-{0,2}[A-Za-z0-9._-]{1,40}`)

// shown returns what an error may say of a word in a file, which may be any file and have secrets: as much of it as is a name.
func shown(word string) string {
	name := showable.FindString(word)
	if name == "" {
		return "the entry"
	}
	return strconv.Quote(name)
}
