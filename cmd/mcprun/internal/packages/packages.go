// Package packages gives runs the packages that the project's settings name, and has the commands packages install and list.
package packages

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/runner/packages"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// Of returns the packages of the project's runs, and nil if it names none.
func Of(app *cli.App, p *project.Project) (*packages.Set, error) {
	cache, spec, err := specOf(app, p)
	if err != nil {
		return nil, err
	}
	return packages.Open(cache, spec)
}

// ToRead is Of for a command that only reads. What a project names is not read before a person has agreed to its configuration.
func ToRead(app *cli.App, o *project.LocationFlags, p *project.Project) (*packages.Set, error) {
	if s := &p.Settings.Packages; (s.Python != "" || s.JavaScript != "") && !o.Agreed(app, p.Cfg) {
		return nil, cli.WithHint(errors.New("run.packages is there, and is not read, because nobody has agreed to this configuration yet"), "agree to it: mcpgen trust")
	}
	return Of(app, p)
}

// specOf returns what the project names, and the folder below which it is installed.
func specOf(app *cli.App, p *project.Project) (cache string, spec packages.Spec, err error) {
	s := &p.Settings.Packages
	spec = packages.Spec{Python: s.Python, JavaScript: s.JavaScript, Dir: p.Base, Preload: s.Preload}
	if cache = app.CacheDir(); cache == "" && (s.Python != "" || s.JavaScript != "") {
		err = cli.WithHint(errors.New("there is no place for packages"), "set HOME or XDG_CACHE_HOME")
	}
	return cache, spec, err
}

// NewCommand returns the command packages.
func NewCommand(app *cli.App, at resources.Provider) *cobra.Command {
	cmd := &cobra.Command{
		Use: "packages", Short: "Install what scripts may import, and list it",
		Long: `Installs and lists the packages that run.packages in mcpgen.yaml names: a requirements file with
hashes or a folder of wheels for Python, a package-lock.json for TypeScript.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newInstall(app, at), newList(app, at))
	return cmd
}

func newInstall(app *cli.App, at resources.Provider) *cobra.Command {
	var o project.LocationFlags
	cmd := &cobra.Command{
		Use: "install", Short: "Install the packages of mcpgen.yaml, for this user",
		Long: `install downloads the packages that run.packages in mcpgen.yaml names, with pip and npm, into a
read-only folder of this user's cache. Each file must have the hash that is written down for it,
and no code of a package runs. An index is taken from PIP_INDEX_URL, a registry from npm's own
configuration. What is installed already is left alone, and repaired if it was changed.`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := o.Open(cmd.Context(), app, at, app.Stderr)
			if err != nil {
				return err
			}
			defer p.Close()
			cache, spec, err := specOf(app, p)
			if err != nil {
				return err
			}
			named := func(name string) string { value, _ := p.Lookup(name); return value }
			set, err := packages.Install(cmd.Context(), cache, spec, packages.InstallOptions{
				LookPath: func(name string) (string, error) {
					if name == "python3" {
						name = cmp.Or(named("MCPRUN_PYTHON"), name) // the one that sandboxes take
					}
					return exec.LookPath(name)
				},
				Environment: environment(),
				Say:         func(line string) { fmt.Fprintln(app.Stderr, "mcprun: "+cli.Escape(line)) },
			})
			if err == nil && set == nil {
				err = none(p)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(app.Stdout, "Installed in %s: %s.\nTo see them: mcprun packages list\n", set.Dir, Summary(set))
			return nil
		},
	}
	o.Bind(cmd.Flags())
	return cmd
}

// environment returns the variables that installing programs get.
func environment() []string {
	var out []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); packages.Passes(name) {
			out = append(out, v)
		}
	}
	return out
}

// none reports that the project names no packages.
func none(p *project.Project) error {
	return cli.WithHint(errors.New("the project names no packages"), "write run: {packages: {python: requirements.txt}} into mcpgen.yaml; javascript: package-lock.json is for TypeScript")
}

// Summary says how many packages a set has.
func Summary(set *packages.Set) string {
	counts := map[sandbox.Language]int{}
	for _, p := range set.Packages {
		counts[p.Language]++
	}
	var parts []string
	if len(set.Pythons) > 0 {
		parts = append(parts, cli.Count(counts[sandbox.LangPython], "package")+" for Python "+strings.Join(set.Pythons, " and "))
	}
	if set.JavaScript() != "" {
		parts = append(parts, cli.Count(counts[sandbox.LangTypeScript], "package")+" for TypeScript")
	}
	return strings.Join(parts, ", ")
}

// listed is the output of list --json.
type listed struct {
	Folder   string             `json:"folder"`
	Pythons  []string           `json:"pythons"`
	Packages []packages.Package `json:"packages"`
	Preload  []string           `json:"preload"`
}

func newList(app *cli.App, at resources.Provider) *cobra.Command {
	var o project.LocationFlags
	asJSON := false
	cmd := &cobra.Command{
		Use: "list", Short: "List the installed packages, and what scripts import of them",
		Args: cli.Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			p, err := o.OpenToRead(app, at, app.Stderr)
			if err != nil {
				return err
			}
			defer p.Close()
			set, err := ToRead(app, &o, p)
			if err == nil && set == nil {
				err = none(p)
			}
			if err != nil {
				return err
			}
			if asJSON {
				return app.JSON(&listed{set.Dir, append([]string{}, set.Pythons...), set.Packages, append([]string{}, set.Preload...)})
			}
			var rows [][]string
			for _, p := range set.Packages {
				rows = append(rows, []string{string(p.Language), p.Name, p.Version, strings.Join(p.Imports, ", "), note(&p)})
			}
			return app.Table([]string{"language", "package", "version", "import", ""}, rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	o.Bind(cmd.Flags())
	return cmd
}

// note says where a package cannot be used, or why it is there.
func note(p *packages.Package) string {
	switch {
	case p.Native && p.Language == sandbox.LangTypeScript:
		return "has machine code (.node), which scripts cannot load"
	case p.Indirect:
		return "needed by another package"
	}
	return ""
}
