package check

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/packages"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// pythonPackages returns the folder of the installed Python packages, or "". Of several versions it takes the one whose rules are checked.
func pythonPackages(set *packages.Set) string {
	if set == nil || len(set.Pythons) == 0 {
		return ""
	}
	if dir := set.Python(packages.ImagePython); dir != "" {
		return dir
	}
	return set.Python(set.Pythons[0])
}

// copyTypes copies the declarations of the installed packages that texts name, and of those that these need, to where the compiler looks for
// packages. It returns their names in the mirror.
func (c *checker) copyTypes(texts []string) ([]string, error) {
	dir := c.opt.Packages.JavaScript()
	if dir == "" {
		return nil, nil
	}
	wanted := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		from := filepath.Join(dir, "node_modules", filepath.FromSlash(name))
		text, err := os.ReadFile(filepath.Join(from, "package.json"))
		if err != nil || wanted[name] || !filepath.IsLocal(filepath.FromSlash(name)) {
			return
		}
		wanted[name] = true
		var manifest struct{ Dependencies, PeerDependencies map[string]string }
		_ = json.Unmarshal(text, &manifest) // one that cannot be read needs nothing
		scope, plain, scoped := strings.Cut(strings.TrimPrefix(name, "@"), "/")
		if !scoped {
			add("@types/" + name)
		} else if scope != "types" {
			add("@types/" + scope + "__" + plain)
		}
		for _, list := range []map[string]string{manifest.Dependencies, manifest.PeerDependencies} {
			for other := range list {
				add(other)
			}
		}
	}
	for _, p := range c.opt.Packages.Packages {
		if p.Language == sandbox.LangTypeScript && slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, p.Name) }) {
			add(p.Name)
		}
	}
	var declared []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		to := "node_modules/" + name
		err := c.mirror.copyTree(filepath.Join(dir, filepath.FromSlash(to)), to, declares, func(file, text string) string {
			if !strings.HasSuffix(file, ".json") {
				declared = append(declared, file)
			}
			return text
		})
		if err != nil {
			return nil, err
		}
	}
	return declared, nil
}

// declares reports whether a file of a package says something of its types.
func declares(name string) bool {
	return filepath.Base(name) == "package.json" || declaration.MatchString(name)
}

var (
	declaration = regexp.MustCompile(`\.d\.[cm]?ts$`)
	notFound    = regexp.MustCompile(`^Cannot find module '((?:@[^'/]+/)?[^'/]+)`)
)

// lacksTypes reports whether a problem is that an installed package declares no types. What is imported of it is any.
func (c *checker) lacksTypes(text string) bool {
	found := notFound.FindStringSubmatch(text)
	return found != nil && c.opt.Packages != nil && slices.ContainsFunc(c.opt.Packages.Packages, func(p packages.Package) bool {
		return p.Language == sandbox.LangTypeScript && p.Name == found[1]
	})
}
