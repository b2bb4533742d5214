package skills

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/runner/skill"
)

// skillHost is a program that looks for skills in a folder of its own.
type skillHost struct {
	name string
	// own lists files and folders. One of them exists if the project uses the host. If own is empty, links are always created.
	own    []string
	folder string // of skills, below the project
}

// skillHosts lists the hosts with a known folder. Many hosts read .agents/skills.
func skillHosts() []skillHost {
	return []skillHost{
		{"agents", nil, ".agents/skills"},
		{"claude-code", []string{".claude", ".mcp.json"}, ".claude/skills"},
		{"cursor", []string{".cursor"}, ".cursor/skills"},
	}
}

func (h skillHost) in(base string) string { return filepath.Join(base, filepath.FromSlash(h.folder)) }

type skillLinkOptions struct {
	skillOptions
	hosts  []string
	to     []string
	remove bool
}

const skillLinkHelp = `link makes skills visible to agents that look for them in a folder of their own: .agents/skills, which
many hosts read, and the folders of known hosts that the project uses. It makes relative links,
or copies where links are not possible and for skills that come with mcprun. Without NAME, it
links all skills that are not broken and that no script or agent saved.
Files and folders that mcprun did not make stay as they are.`

func newSkillLinkCmd(app *cli.App, at resources.Provider) *cobra.Command {
	o := &skillLinkOptions{skillOptions: skillOptions{app: app, at: at}}
	cmd := &cobra.Command{
		Use: "link [NAME...]", Short: "Link skills into the folders where agents look for them",
		Long: skillLinkHelp,
		Example: `  mcprun skill link mcp-progressive-discovery    tell agents here how to use the tree
  mcprun skill link --host claude-code           all of them, in .claude/skills
  mcprun skill link save-sheet-as-csv --to ~/.claude/skills
  mcprun skill link --remove                     remove the links`,
		RunE: func(_ *cobra.Command, args []string) error { return o.run(args) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.hosts, "host", nil, "`name` of a host: "+strings.Join(hostNames(), ", ")+"; may be repeated")
	f.StringArrayVar(&o.to, "to", nil, "this `folder`; may be repeated")
	f.BoolVar(&o.remove, "remove", false, "remove links and copies instead")
	o.bind(cmd)
	cmd.ValidArgsFunction = o.names(0)
	cli.CompleteFlag(cmd, "host", cli.FixedWords(hostNames()...))
	return cmd
}

func hostNames() []string {
	var names []string
	for _, h := range skillHosts() {
		names = append(names, h.name)
	}
	return names
}

// linked is one link that was created or removed.
type linked struct {
	Skill   string `json:"skill"`
	Path    string `json:"path"`
	Copied  bool   `json:"copied,omitempty"`
	Made    bool   `json:"made,omitempty"`
	Removed bool   `json:"removed,omitempty"`
}

func (o *skillLinkOptions) run(names []string) error {
	store, err := o.store()
	if err != nil {
		return err
	}
	defer o.project.Close()
	folders, err := o.folders()
	if err != nil {
		return err
	}
	all, err := o.wanted(store, names, folders)
	if err != nil {
		return err
	}
	done := []linked{}
	var errs []error
	for _, k := range all {
		for _, folder := range folders {
			l, err := o.one(store, k, folder)
			if _, broken := errors.AsType[*skill.BrokenError](err); broken {
				errs = append(errs, err)
				break // the same for all folders
			}
			if err != nil {
				errs = append(errs, err)
			} else if l != nil {
				done = append(done, *l)
			}
		}
	}
	if o.json {
		return errors.Join(o.app.JSON(map[string]any{"links": done}), errors.Join(errs...))
	}
	o.print(done)
	return errors.Join(errs...)
}

func (o *skillLinkOptions) print(done []linked) {
	for _, l := range done {
		rel, err := filepath.Rel(o.app.Dir, l.Path)
		if err != nil || strings.HasPrefix(rel, "..") {
			rel = l.Path
		}
		how := map[bool]string{false: "is there", true: "linked"}[l.Made]
		switch {
		case l.Removed:
			how = "removed"
		case l.Copied:
			how = "copied"
		}
		fmt.Fprintf(o.app.Stdout, "%s %s\n", cli.EscapeLine(rel), o.app.OutStyle().Dim(how))
	}
	if len(done) == 0 {
		fmt.Fprintln(o.app.Stdout, "nothing to do")
	}
}

// one links or unlinks one skill. It returns nil if there was nothing to do.
func (o *skillLinkOptions) one(store *skill.Store, k *skill.Skill, folder string) (*linked, error) {
	if o.remove {
		removed, err := store.Unlink(k, folder)
		if err != nil || !removed {
			return nil, err
		}
		return &linked{Skill: k.Name, Path: filepath.Join(folder, k.Name), Removed: true}, nil
	}
	made, err := store.Link(k.Name, folder)
	if err != nil {
		return nil, err
	}
	return &linked{Skill: k.Name, Path: made.Path, Copied: made.Copied, Made: made.Made}, nil
}

// wanted returns the named skills, or without names all that can be linked to the folders.
func (o *skillLinkOptions) wanted(store *skill.Store, names, folders []string) ([]*skill.Skill, error) {
	var all []*skill.Skill
	for _, name := range names {
		k, err := store.Load(name)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	if len(names) > 0 {
		return all, nil
	}
	found, err := store.List()
	for _, k := range found {
		why := ""
		switch {
		case o.remove:
		case k.Broken:
			why = k.Reason()
		case k.Author != "": // its author can change it, and every agent here would read that
			why = fmt.Sprintf("it was saved by %s; read it, and name it to have it linked", map[string]string{skill.AuthorScript: "a script", skill.AuthorAgent: "an agent"}[k.Author])
		}
		if why == "" {
			all = append(all, k)
			continue
		}
		state := "is not linked"
		if k.Broken && slices.ContainsFunc(folders, func(at string) bool { return store.IsLinked(k, at) }) {
			state = "is broken and still linked (mcprun skill link --remove " + k.Name + " takes it away)"
		}
		fmt.Fprintf(o.app.Stderr, "mcprun: %s %s: %s\n", cli.EscapeLine(k.Name), cli.EscapeLine(state), cli.EscapeLine(why))
	}
	return all, err
}

// folders returns the folders to link to.
func (o *skillLinkOptions) folders() ([]string, error) {
	var folders []string
	for _, to := range o.to {
		folders = append(folders, o.app.Path(to))
	}
	for _, name := range o.hosts {
		found := false
		for _, h := range skillHosts() {
			if h.name == name {
				folders, found = append(folders, h.in(o.project.Base)), true
			}
		}
		if !found {
			return nil, cli.Usage(o.cmd, "no host %q is known; there are %s; name a folder with --to", name, strings.Join(hostNames(), ", "))
		}
	}
	if len(folders) > 0 {
		return folders, nil
	}
	for _, h := range skillHosts() {
		used := func(name string) bool {
			_, err := os.Stat(filepath.Join(o.project.Base, name))
			return err == nil
		}
		if h.own == nil || slices.ContainsFunc(h.own, used) {
			folders = append(folders, h.in(o.project.Base))
		}
	}
	return folders, nil
}
