package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/skills"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/source"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workflow"
)

// Schedule makes a run that of a schedule: it is recorded and, without a terminal, calls that need approval are asked about on the page of
// mcprun approvals.
type Schedule struct {
	Name  string
	Skill string // to run; empty: a script, or a workflow
	// Workflow is the id of the workflow to run. One that has begun is continued, which needs the flags that it began with. Empty: a script or a skill runs.
	Workflow string
	// Turn waits until a part of the workflow may run, and returns what is called after it. Nil: at once.
	Turn func(context.Context) (leave func(), err error)
	// Checked says that mcprun serve has checked what flags and environment may decide without a terminal.
	Checked bool
	// Begun is set once the record has a row even if the run fails to start.
	Begun bool
}

// NewScheduleCommand is [NewCommand] for a run of a schedule.
func NewScheduleCommand(app *cli.App, at resources.Provider, s *Schedule) *cobra.Command {
	o := &Options{App: app, Resources: at, schedule: s}
	o.page, o.AnyConfig = !flags.Attended(app), s.Checked
	o.Calls.Who.Client = audit.Text("schedule " + s.Name)
	if s.Workflow != "" {
		return newWorkflowRun(&workflowCommand{Options: o, id: s.Workflow})
	}
	return newCommand(o, "mcprun", "")
}

// former returns the workflow of a schedule's run that another process, or this one, has begun before. Nil: there is no such workflow.
func (w *workflowCommand) former(ctx context.Context) (*workflow.Status, *config.PII) {
	if w.schedule == nil {
		return nil, nil
	}
	status, settings, err := w.find(ctx)
	if err != nil {
		return nil, nil // a state that cannot be opened is the error of what follows
	}
	w.schedule.Begun = true
	return status, settings
}

func (s *Schedule) runsSkill() bool { return s != nil && s.Skill != "" }

// refuseOwn refuses a script in a folder in which scripts write.
func (s *Schedule) refuseOwn(dir, workspace string) error {
	if s == nil || s.runsSkill() || dir == "" || !project.IsBelow(dir, workspace) {
		return nil
	}
	return cli.WithHint(fmt.Errorf("the script of the schedule %s is in the workspace %q: other scripts could change it", s.Name, workspace), "move it to another folder of the project")
}

// readSkill makes the script one that runs the schedule's skill.
func (o *Options) readSkill(p *project.Project) error {
	if !o.schedule.runsSkill() {
		return nil
	}
	customer, err := o.CustomerSkills(o.App, p, true)
	if err != nil {
		return err
	}
	store, err := skills.Open(o.App, &o.LocationFlags, p, customer, o.CheckFlags)
	if err != nil {
		return err
	}
	k, err := store.Load(o.schedule.Skill)
	if err != nil {
		return err
	}
	lang := k.Language()
	code := fmt.Sprintf("import * as skill from %q;\nconst exported: any = skill;\nawait exported.main?.();\n", "./skills/"+k.Name)
	switch lang {
	case "":
		return cli.WithHint(fmt.Errorf("the skill %s has no script", k.Name), "it is instructions for an agent: name another skill, or a script")
	case sandbox.LangPython:
		code = fmt.Sprintf("from skills import %s as skill\nif callable(getattr(skill, \"main\", None)):\n    skill.main()\n", strings.ReplaceAll(k.Name, "-", "_"))
	}
	return source.FromCode(&o.Base, k.Name, string(lang), code)
}
