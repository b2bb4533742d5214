package packages

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lockFile is a package-lock.json, of which only what was checked is kept. It has no development dependencies, which are never installed.
type lockFile struct {
	packages map[string]*lockEntry // by folder, such as node_modules/a/node_modules/b; the root's is empty
	text     []byte                // the lock for npm
}

// lockEntry is one package in it.
type lockEntry struct {
	Name                 string                    `json:"name,omitzero"`
	Version              string                    `json:"version,omitzero"`
	Resolved             string                    `json:"resolved,omitzero"`
	Integrity            string                    `json:"integrity,omitzero"`
	Dev                  bool                      `json:"dev,omitzero"`
	Optional             bool                      `json:"optional,omitzero"`
	DevOptional          bool                      `json:"devOptional,omitzero"`
	Peer                 bool                      `json:"peer,omitzero"`
	OS                   jsontext.Value            `json:"os,omitzero"`
	CPU                  jsontext.Value            `json:"cpu,omitzero"`
	Libc                 jsontext.Value            `json:"libc,omitzero"`
	Dependencies         map[string]string         `json:"dependencies,omitzero"`
	OptionalDependencies map[string]string         `json:"optionalDependencies,omitzero"`
	DevDependencies      map[string]string         `json:"devDependencies,omitzero"`
	PeerDependencies     map[string]string         `json:"peerDependencies,omitzero"`
	PeerDependenciesMeta map[string]jsontext.Value `json:"peerDependenciesMeta,omitzero"`
	// The next ones are refused.
	Link       bool           `json:"link,omitzero"`
	InBundle   bool           `json:"inBundle,omitzero"`
	Workspaces jsontext.Value `json:"workspaces,omitzero"`
}

var (
	packageName    = `(?:@[A-Za-z0-9._~-]+/)?[A-Za-z0-9_~-][A-Za-z0-9._~-]*`
	packageFolder  = regexp.MustCompile(`^node_modules/` + packageName + `(?:/node_modules/` + packageName + `)*$`)
	packageVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$`)
	integrity      = regexp.MustCompile(`^(?:sha1-[A-Za-z0-9+/=]+ )?sha512-[A-Za-z0-9+/]{86}==$`)
	// wanted matches what a package may want of another: versions, or another package of the registry by versions.
	wanted = regexp.MustCompile(`^(?:npm:` + packageName + `(?:@[^:/\\#]*)?|[^:/\\#]*)$`)
)

const regenerate = "write the lock again with npm install --package-lock-only --lockfile-version 3"

// readLock reads a package-lock.json. Each package must come from a registry, with a hash.
func readLock(path string) (*lockFile, error) {
	text, err := readText(path, "javascript")
	if err != nil {
		return nil, err
	}
	var in struct {
		Version  int                   `json:"lockfileVersion"`
		Packages map[string]*lockEntry `json:"packages"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		problem := "it is not a package-lock.json"
		if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok { // other errors quote the file, which may have secrets
			problem += fmt.Sprintf(": after byte %d: %v", bad.ByteOffset, bad.Err)
		}
		return nil, &Error{Place: path, Problem: problem, Remedy: regenerate}
	}
	maps.DeleteFunc(in.Packages, func(_ string, e *lockEntry) bool { return e != nil && e.Dev })
	root := in.Packages[""]
	if root != nil {
		root.DevDependencies = nil
	}
	if in.Version < 2 || in.Version > 3 || root == nil || len(in.Packages) < 2 {
		return nil, &Error{Place: path, Problem: "it is not a package-lock.json of version 2 or 3 with packages", Remedy: regenerate}
	}
	for _, folder := range slices.Sorted(maps.Keys(in.Packages)) {
		if problem, remedy := in.Packages[folder].refuses(folder); problem != "" {
			return nil, &Error{Place: fmt.Sprintf("%s: %q", path, folder), Problem: problem, Remedy: remedy}
		}
	}
	root.Name, root.Version = "scripts", "1.0.0"
	out := &lockFile{packages: in.Packages}
	out.text, err = json.Marshal(map[string]any{
		"name": root.Name, "version": root.Version, "lockfileVersion": 3, "requires": true, "packages": in.Packages,
	}, json.Deterministic(true))
	return out, err
}

// refuses returns what is wrong with an entry. The problem is empty if nothing is.
func (e *lockEntry) refuses(folder string) (problem, remedy string) {
	if e == nil {
		return "it has no value", regenerate
	}
	for _, list := range []map[string]string{e.Dependencies, e.OptionalDependencies, e.DevDependencies, e.PeerDependencies} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if !wanted.MatchString(list[name]) || !packageFolder.MatchString("node_modules/"+name) {
				return fmt.Sprintf("it wants %s as %s, which is not a version in a registry", shown(name), shown(list[name])), "depend on a package of a registry, by its version, and " + regenerate
			}
		}
	}
	switch from, err := url.Parse(e.Resolved); {
	case e.Workspaces != nil:
		return "workspaces are not installed", "name the package-lock.json of a project without workspaces"
	case folder == "":
		return "", ""
	case e.Link || !packageFolder.MatchString(folder):
		return "it is a folder of the project, not a package of a registry", "publish it, or remove the dependency, and " + regenerate
	case e.InBundle:
		return "it is inside another package, without a hash of its own", "remove the package that bundles it"
	case err != nil || e.Resolved != "" && (from.Scheme != "https" || from.Host == "" || from.User != nil):
		return "its address is not an https address of a registry, without user and password", "depend on a package of a registry, by its version, and " + regenerate
	case !packageVersion.MatchString(e.Version) || e.Name != "" && !packageFolder.MatchString("node_modules/"+e.Name):
		return strings.TrimPrefix(shown(e.Name)+" "+shown(e.Version), "the entry ") + " is not the exact version of a package", regenerate
	case !integrity.MatchString(e.Integrity):
		return "it has no hash (integrity: sha512-…)", regenerate
	}
	return "", ""
}

// manifest returns the package.json that fits the lock.
func (l *lockFile) manifest() ([]byte, error) {
	root := *l.packages[""]
	return json.Marshal(&root, json.Deterministic(true))
}
