// Package packages gives scripts what they may import beside the standard library: packages that were installed once, from files that name
// each of them by version and hash, into a folder that nothing changes afterwards. Start with [Install], then [Open].
package packages

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Spec says what to install. The zero value is nothing.
type Spec struct {
	// Python is a requirements file with hashes, or a folder of wheels; JavaScript a package-lock.json. Each is an absolute path or empty.
	Python, JavaScript string
	// Preload names Python modules that a waiting guest imports before its run, such as pandas.
	Preload []string
}

// Set is what is installed of a [Spec]: one folder, named by the digest of what it was installed from. Nothing in it is written to. A nil Set
// has no packages.
type Set struct {
	// Digest is in hexadecimal digits. Dir is the absolute path of the folder.
	Digest, Dir string
	// Packages are sorted by language, then by name.
	Packages []Package
	// Preload names Python modules that a waiting guest imports before its run.
	Preload []string
	// Pythons are the versions of Python that there are packages for, such as 3.11.
	Pythons []string
}

// Package is one installed package.
type Package struct {
	Language sandbox.Language `json:"language"`
	Name     string           `json:"name"`
	Version  string           `json:"version"`
	// Imports are the names that a script imports: yaml of PyYAML, @scope/name of an npm package.
	Imports []string `json:"imports,omitempty"`
	// Native reports that it has machine code, so that the embedded sandbox and bundles cannot take it.
	Native bool `json:"native,omitempty"`
}

// Python returns the folder of packages for a version of Python, such as 3.11; it belongs on sys.path. It is empty if there is none.
func (s *Set) Python(version string) string {
	if s == nil || !slices.Contains(s.Pythons, version) {
		return ""
	}
	return filepath.Join(s.Dir, "python"+version)
}

// JavaScript returns the folder that holds node_modules. It is empty if there is none.
func (s *Set) JavaScript() string {
	if s == nil || !slices.ContainsFunc(s.Packages, func(p Package) bool { return p.Language == sandbox.LangTypeScript }) {
		return ""
	}
	return filepath.Join(s.Dir, "javascript")
}

// InstallOptions says with what to install.
type InstallOptions struct{}

// Open returns what is installed of a spec below the folder cache, and nil for an empty spec. An error is returned if it is not installed,
// or if a file was changed, added or removed after the installation.
func Open(cache string, spec Spec) (*Set, error) {
	if spec.Python == "" && spec.JavaScript == "" {
		return nil, nil
	}
	return nil, errors.New("the packages are not installed")
}

// Install installs what a spec names below the folder cache, unless it is there.
func Install(ctx context.Context, cache string, spec Spec, o InstallOptions) (*Set, error) {
	return Open(cache, spec)
}
