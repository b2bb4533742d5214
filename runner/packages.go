package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/packages"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

// maxOffered bounds the text of OfferPackages, in tokens. A word is taken to have one for every two letters, which is more than it has;
// counting them would take longer than most runs.
const maxOffered = 60

// OfferPackages names the packages that scripts in the languages may import, for people and models: "Python: pandas, yaml; TypeScript: zod".
// image are the packages of a sandbox's own, as in sandbox.Status. The text has at most 60 tokens, and is empty without packages.
func OfferPackages(set *packages.Set, image []string, languages ...sandbox.Language) string {
	var parts []string
	total := 0
	for _, lang := range languages {
		names := importNames(set, image, lang)
		if len(names) == 0 {
			continue
		}
		text, room := "", (maxOffered-total)/(len(languages)-len(parts))-8 // for the language, and how many there are more
		for i, name := range names {
			if room -= len(name)/2 + 2; room < 0 {
				text += fmt.Sprintf(" and %d more", len(names)-i)
				break
			}
			text += ", " + name
			total += len(name)/2 + 2
		}
		total += 8
		title := map[sandbox.Language]string{sandbox.LangPython: "Python", sandbox.LangTypeScript: "TypeScript"}[lang]
		parts = append(parts, title+":"+strings.TrimPrefix(text, ","))
	}
	return strings.Join(parts, "; ")
}

// importNames returns what a script in a language may import: first what is imported ahead of runs, which an operator finds most important.
func importNames(set *packages.Set, image []string, lang sandbox.Language) []string {
	var names []string
	if set != nil {
		for _, p := range set.Packages {
			if p.Language != lang || p.Indirect {
				continue
			}
			name := p.Name
			if public := slices.IndexFunc(p.Imports, func(n string) bool { return !strings.HasPrefix(n, "_") }); public >= 0 {
				name = p.Imports[public]
			}
			names = append(names, name)
		}
	}
	if lang == sandbox.LangPython {
		for _, p := range image {
			name, _, _ := strings.Cut(p, " ")
			names = append(names, name)
		}
		if set != nil {
			slices.SortStableFunc(names, func(a, b string) int {
				return indexOr(set.Preload, a) - indexOr(set.Preload, b)
			})
		}
	}
	var once []string
	for _, n := range names {
		if !slices.Contains(once, n) {
			once = append(once, n)
		}
	}
	return once
}

// indexOr returns the index of a name in a list, or the list's length.
func indexOr(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// isInstalled returns what judge.Options.Installed asks for.
func isInstalled(set *packages.Set, lang sandbox.Language) func(module string) bool {
	if set == nil {
		return nil
	}
	return func(module string) bool {
		return slices.ContainsFunc(set.Packages, func(p packages.Package) bool {
			return p.Language == lang && (p.Name == module || slices.Contains(p.Imports, module))
		})
	}
}

// PackagesError refuses a run of a script that imports an installed package, in a sandbox with a Python for which none are installed.
type PackagesError struct {
	Sandbox string
	Version string   // of the sandbox's Python
	Have    []string // versions that there are packages for
}

func (e *PackagesError) Error() string {
	return fmt.Sprintf("sandbox %s runs Python %s, and the packages of run.packages are installed for %s", e.Sandbox, e.Version, strings.Join(e.Have, ", "))
}

// Hint says what to do.
func (e *PackagesError) Hint() string {
	return "mcprun packages install installs them for Python " + packages.ImagePython + " and for this machine's, and says why if it cannot; for another version, choose another image or sandbox"
}

// ExitCode returns the exit code of a script that was refused before it ran.
func (*PackagesError) ExitCode() int { return exit.Refused }

// addPackages adds the installed packages of Python to a spec. A script that imports none of them runs without, wherever they do not fit.
func (x *run) addPackages(ctx context.Context, spec *sandbox.Spec, program *script.Program) error {
	set := x.runner.opt.Packages
	if set == nil || spec.Runtime != sandbox.Python || len(set.Pythons) == 0 {
		return nil
	}
	version, err := x.runner.pythons.version(ctx, x.script.Backend)
	switch {
	case err == nil && set.Python(version) != "":
		spec.Packages, spec.Preload = set.Python(version), set.Preload
	case !program.ImportsModule(isInstalled(set, sandbox.LangPython)):
	case err != nil:
		return fmt.Errorf("find out which packages fit sandbox %q: %w", x.script.Backend.Name(), err)
	default:
		return &PackagesError{Sandbox: x.script.Backend.Name(), Version: version, Have: set.Pythons}
	}
	return nil
}

// pythons keeps the versions of sandboxes' Pythons for a while, because an engine takes longer to say it than a warm start takes.
type pythons struct {
	mu    sync.Mutex
	known map[string]pythonVersion // by the name of the sandbox
}

type pythonVersion struct {
	version string
	until   time.Time
}

// keepPython is how long a version is kept.
const keepPython = time.Minute

func (p *pythons) version(ctx context.Context, b sandbox.Backend) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, ok := p.known[b.Name()]; ok && time.Now().Before(v.until) {
		return v.version, nil
	}
	version, err := sandbox.PythonVersion(ctx, b)
	if err != nil {
		return "", err
	}
	if p.known == nil {
		p.known = map[string]pythonVersion{}
	}
	p.known[b.Name()] = pythonVersion{version, time.Now().Add(keepPython)}
	return version, nil
}

// importable says which packages a script may import, as a part of a sentence, or "" without packages. image are those of its sandbox.
func importable(set *packages.Set, image []string, lang sandbox.Language) string {
	text := OfferPackages(set, image, lang)
	if text == "" {
		return ""
	}
	_, names, _ := strings.Cut(text, ": ")
	return "the installed packages are " + names
}
