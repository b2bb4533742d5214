package skills

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/skill"
)

type skillShowOptions struct {
	skillOptions
	version string
	code    bool
}

func newSkillShowCmd(app *cli.App, at resources.Provider) *cobra.Command {
	o := &skillShowOptions{skillOptions: skillOptions{app: app, at: at}}
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a skill: import, tools, files, versions and problems",
		Example: `  mcprun skill show save-sheet-as-csv
  mcprun skill show save-sheet-as-csv --code > old.ts    the main script
  mcprun skill show save-sheet-as-csv --version 3f2a9c   an earlier version`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error { return o.show(args[0]) },
	}
	f := cmd.Flags()
	f.Var(flags.Text(&o.version, "digits"), "version", "show an earlier version: the first six digits or more")
	f.BoolVar(&o.code, "code", false, "print the main script, or the text of a skill without one, and nothing else")
	o.bind(cmd)
	cmd.ValidArgsFunction = o.names(1)
	return cmd
}

func (o *skillShowOptions) show(name string) error {
	store, err := o.store()
	if err != nil {
		return err
	}
	defer o.project.Close()
	k, err := store.LoadVersion(name, o.version)
	if err != nil {
		return err
	}
	versions, err := store.Versions(name)
	if err != nil {
		return err
	}
	_, code, ok := k.Main("")
	if !ok {
		code = k.Instructions()
	}
	switch {
	case o.json:
		return o.app.JSON(struct {
			*skill.Skill
			Import       map[sandbox.Language]string `json:"import"`
			Code         string                      `json:"code"`
			Instructions string                      `json:"instructions"`
			Files        []skill.FileInfo            `json:"files"`
			Versions     []skill.Version             `json:"versions"`
		}{k, importsOf(k), code, k.Instructions(), k.Files(), append([]skill.Version{}, versions...)})
	case o.code && o.app.Terminal.Stdout:
		_, err := fmt.Fprint(o.app.Stdout, cli.Escape(code))
		return err
	case o.code:
		_, err := fmt.Fprint(o.app.Stdout, code)
		return err
	}
	return o.print(k, versions)
}

func importsOf(k *skill.Skill) map[sandbox.Language]string {
	all := map[sandbox.Language]string{}
	for _, l := range sandbox.Languages() {
		if line := k.Import(l); line != "" {
			all[l] = line
		}
	}
	return all
}

func (o *skillShowOptions) print(k *skill.Skill, versions []skill.Version) error {
	style, w := o.app.OutStyle(), o.app.Stdout
	fmt.Fprintf(w, "%s  %s\n%s\n\n", style.Bold(cli.EscapeLine(k.Name)), style.Dim(fmt.Sprintf("%.12s", k.Version)), cli.EscapeLine(k.Description))
	for _, l := range sandbox.Languages() {
		if line := k.Import(l); line != "" {
			fmt.Fprintf(w, "  %s\n", style.Cyan(cli.EscapeLine(line)))
		}
	}
	fact := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "  %s %s\n", style.Dim(name+":"), cli.EscapeLine(text))
		}
	}
	fact("from", originOf(k)+", "+k.Path)
	fact("saved as", k.Given)
	if k.Edited {
		fact("edited", "its files are not those that were saved; `mcprun skill save "+k.Name+"` saves them")
	}
	var tools, files, kept []string
	for _, t := range k.Tools {
		tools = append(tools, t.ID)
	}
	fact("tools", strings.Join(tools, ", "))
	fact("skills", strings.Join(k.Skills, ", "))
	for _, f := range k.Files() {
		files = append(files, fmt.Sprintf("%s (%s)", f.Path, flags.Bytes(int(f.Size))))
	}
	fact("files", strings.Join(files, ", "))
	for _, v := range versions {
		mark := ""
		if v.Version == k.Version {
			mark = " (this)"
		}
		kept = append(kept, fmt.Sprintf("%.12s %s%s", v.Version, v.Saved.Local().Format(time.DateTime), mark))
	}
	fact("versions", strings.Join(kept, ", "))
	if err := o.printProblems([]*skill.Skill{k}); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(cli.Escape(k.Instructions())))
	return err
}
