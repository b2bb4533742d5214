package skills

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/source"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/skills"
)

type skillSaveOptions struct {
	skillOptions
	description string
	code        string
	language    string
	version     string
	shipped     bool
	force       bool
}

const skillSaveHelp = `save checks a skill and writes it to skills/NAME. The previous version is kept. FILE is a script, or
one script in each language; FOLDER has the whole skill. Without either, the folder is saved as it
is now: after an edit, or to accept that its tools have changed.

A script that cannot be bundled, or that uses a tool which does not exist, is refused. Type errors
are reported, and the skill is broken until they are fixed.`

func newSkillSaveCmd(app *cli.App, at resources.Provider) *cobra.Command {
	o := &skillSaveOptions{skillOptions: skillOptions{app: app, at: at}}
	cmd := &cobra.Command{
		Use: "save NAME [FILE|FOLDER...]", Short: "Save a script or a folder as a skill",
		Long: skillSaveHelp,
		Example: `  mcprun skill save save-sheet-as-csv sheet.ts -d "Save a sheet as CSV. Use it for exports."
  mcprun skill save save-sheet-as-csv sheet.ts sheet.py  one in each language
  mcprun skill save save-sheet-as-csv                    the folder as it is now, after an edit
  mcprun skill save save-sheet-as-csv --version 3f2a9c   an earlier version again
  mcprun skill save mcp-progressive-discovery --shipped  your own copy of a skill that comes with mcprun`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args[0], args[1:]) },
	}
	f := cmd.Flags()
	f.VarP(flags.Text(&o.description, "text"), "description", "d", "what it does, and when to use it (default: the first comment of the script)")
	f.VarP(flags.Text(&o.code, "code"), "eval", "e", "save this code instead of a file")
	f.Var(flags.Text(&o.language, "name"), "language", "language of -e and of standard input: typescript or python (default: detected)")
	f.Var(flags.Text(&o.version, "digits"), "version", "save this earlier version again")
	f.BoolVar(&o.shipped, "shipped", false, "save a copy of the skill of that name that comes with mcprun")
	f.BoolVar(&o.force, "force", false, "save it even if it does not work")
	o.bindCheckers(f)
	o.bind(cmd)
	cli.CompleteFlag(cmd, "language", cli.FixedWords(string(sandbox.LangTypeScript), string(sandbox.LangPython)))
	return cmd
}

func (o *skillSaveOptions) run(name string, paths []string) error {
	store, err := o.checkedStore(o.cmd.Context())
	if err != nil {
		return err
	}
	defer o.project.Close()
	draft := skill.Draft{Name: name, Description: o.description, Force: o.force}
	if err := o.fill(store, &draft, paths); err != nil {
		return err
	}
	saved, err := store.Save(o.cmd.Context(), draft)
	if err != nil {
		return err
	}
	if o.json {
		return o.app.JSON(struct {
			*skill.Skill
			Warnings []string `json:"warnings"`
			Before   string   `json:"before,omitempty"`
		}{saved.Skill, append([]string{}, saved.Warnings...), saved.Before})
	}
	return o.say(saved)
}

func (o *skillSaveOptions) say(saved *skill.Saved) error {
	style := o.app.OutStyle()
	was := ""
	switch {
	case saved.Before == saved.Version:
		was = ", which is what it was"
	case saved.Before != "":
		was = fmt.Sprintf(" in place of %.12s", saved.Before)
	}
	fmt.Fprintf(o.app.Stdout, "saved %s %s%s\n", style.Bold(saved.Name), style.Dim(fmt.Sprintf("%.12s", saved.Version)), was)
	for _, line := range importsOf(saved.Skill) {
		fmt.Fprintf(o.app.Stdout, "  %s\n", style.Cyan(cli.EscapeLine(line)))
	}
	for _, line := range saved.Warnings {
		fmt.Fprintf(o.app.Stderr, "mcprun: %s\n", cli.EscapeLine(line))
	}
	told := *saved.Skill
	told.Suspicious = nil // it is among the warnings
	return o.printProblems([]*skill.Skill{&told})
}

// fill sets the draft from the flags and files that were given.
func (o *skillSaveOptions) fill(store *skill.Store, draft *skill.Draft, paths []string) error {
	sources := 0
	for _, given := range []bool{len(paths) > 0, o.code != "", o.version != "", o.shipped} {
		if given {
			sources++
		}
	}
	switch {
	case sources > 1:
		return cli.Usage(o.cmd, "files, -e, --version and --shipped each say what to save: give one of them")
	case o.shipped:
		shipped, err := skill.Open([]skill.Dir{{FS: skills.FS, Shipped: true}}, nil)
		if err != nil {
			return err
		}
		return filesOf(shipped, draft, "")
	case o.code != "":
		lang, err := source.Detect(o.language, o.code)
		draft.Code, draft.Language = o.code, lang
		return err
	case len(paths) == 1 && paths[0] == "-":
		code, err := source.ReadStdin(o.cmd.Context(), o.app.Stdin)
		if err != nil {
			return err
		}
		lang, err := source.Detect(o.language, string(code))
		draft.Code, draft.Language = string(code), lang
		return err
	case len(paths) > 0:
		return o.read(draft, paths)
	}
	return filesOf(store, draft, o.version)
}

// filesOf copies the files of an existing skill into the draft.
func filesOf(store *skill.Store, draft *skill.Draft, version string) error {
	k, err := store.LoadVersion(draft.Name, version)
	if err != nil {
		return err
	}
	draft.Files = map[string][]byte{}
	for _, f := range k.Files() {
		if draft.Files[f.Path], err = k.Read(f.Path); err != nil {
			return err
		}
	}
	return nil
}

// read reads the files that were given: a folder as it is, scripts below scripts/.
func (o *skillSaveOptions) read(draft *skill.Draft, paths []string) error {
	draft.Files = map[string][]byte{}
	perLanguage := map[sandbox.Language]int{}
	for _, p := range paths {
		if lang, err := source.OfFile(p); err == nil {
			perLanguage[lang]++
		}
	}
	for _, p := range paths {
		at := o.app.Path(p)
		info, err := os.Stat(at)
		if err != nil {
			return &cli.UsageError{Err: fmt.Errorf("read the skill: %w", err)}
		}
		if info.IsDir() && project.IsLink(at) {
			return &cli.UsageError{Err: fmt.Errorf("read the skill: the folder %q is a link, which may lead anywhere; name the folder itself", p)}
		}
		if info.IsDir() {
			if err := readFolder(draft, at); err != nil {
				return err
			}
			continue
		}
		data, err := readSmall(at)
		if err != nil {
			return &cli.UsageError{Err: fmt.Errorf("read the skill: %w", err)}
		}
		to := filepath.Base(at)
		if lang, err := source.OfFile(at); err == nil {
			if perLanguage[lang] == 1 && !strings.HasSuffix(to, ".d.ts") {
				to = "main" + lang.Extensions()[0]
			}
			to = "scripts/" + to
		}
		if _, ok := draft.Files[to]; ok {
			return cli.Usage(o.cmd, "%s is given twice", to)
		}
		draft.Files[to] = data
	}
	return nil
}

// readFolder reads the files of a folder, except those whose names begin with a dot.
func readFolder(draft *skill.Draft, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return &cli.UsageError{Err: fmt.Errorf("read the skill: %w", err)}
	}
	defer root.Close()
	left := int64(skill.MaxSize)
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && (d.Name()[0] == '.' || d.Name() == "__pycache__" || d.Name() == "node_modules"):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, left+1))
		if left -= int64(len(data)); err == nil && (left < 0 || len(draft.Files) >= skill.MaxFiles) {
			err = &cli.UsageError{Err: fmt.Errorf("read the skill: the folder %s holds more than the %d files or %s that a skill may have", dir, skill.MaxFiles, flags.Bytes(skill.MaxSize))}
		}
		draft.Files[name] = data
		return err
	})
}

// readSmall reads a file of a skill, up to one byte more than a skill may have, so that saving refuses a larger one.
func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, skill.MaxSize+1))
}
