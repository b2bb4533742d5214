package schedules

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/workflow"
)

// located finds the schedules of a project and its state.
type located struct {
	app     *cli.App
	project project.LocationFlags
	state.PlaceFlag
}

// load returns the configuration, which may be nil, and where the state is.
func (o *located) load(cmd *cobra.Command) (cfg *config.Config, place string, err error) {
	if cfg, err = o.project.LoadFor(cmd.Context(), o.app, cmd.Flags()); err != nil || cfg == nil {
		return nil, "", err
	}
	place, err = o.Place(o.app, cfg.Dir)
	return cfg, place, err
}

type command struct {
	located
	at   resources.Provider
	json bool
}

// NewCommand returns `mcprun schedule`.
func NewCommand(app *cli.App, at resources.Provider) *cobra.Command {
	cmd := &cobra.Command{
		Use: "schedule", Short: "List schedules, and run one now",
		Long: `Schedules are scripts, skills and workflows that mcprun serve and the daemon run at times. They are
below schedules: in mcpgen.yaml. Over all processes each time runs once. If none of them runs at a
time, nor a minute later, it is missed, which is logged and recorded.`,
		Example: "  mcprun schedule list\n  mcprun schedule run nightly-report",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	list := &command{located: located{app: app}, at: at}
	listCmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List schedules, their next times and their last runs",
		Example: "  mcprun schedule list\n  mcprun schedule list --json",
		Args:    cli.Args(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return list.list(cmd) },
	}
	list.bind(listCmd)
	listCmd.Flags().BoolVar(&list.json, "json", false, "print one JSON object")
	one := &command{located: located{app: app}, at: at}
	runCmd := &cobra.Command{
		Use: "run NAME", Short: "Run a schedule's script, skill or workflow now",
		Example: "  mcprun schedule run nightly-report",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return one.run(cmd, args[0]) },
	}
	one.bind(runCmd)
	cmd.AddCommand(listCmd, runCmd)
	return cmd
}

func (o *command) bind(cmd *cobra.Command) {
	cli.BindConfig(cmd.Flags(), &o.project.Configs)
	o.PlaceFlag.Bind(cmd.Flags())
}

// listed is a schedule as the command list shows it.
type listed struct {
	Name     string    `json:"name"`
	Cron     string    `json:"cron"`
	Next     time.Time `json:"next"`
	Script   string    `json:"script,omitempty"`
	Skill    string    `json:"skill,omitempty"`
	Workflow string    `json:"workflow,omitempty"`
	Customer string    `json:"customer,omitempty"`
	Last     *last     `json:"last"` // null: none is known
	Missed   int       `json:"missed"`
}

// last is the last run of a schedule.
type last struct {
	Time    time.Time     `json:"time"`
	State   durable.State `json:"state"`
	Outcome               // if State is done
}

func (o *command) list(cmd *cobra.Command) error {
	cfg, place, err := o.load(cmd)
	if err != nil && !errors.Is(err, state.ErrNoPlace) {
		return err
	}
	all := []listed{}
	if cfg != nil {
		for _, name := range slices.Sorted(maps.Keys(cfg.Settings.Schedules)) {
			s := cfg.Settings.Schedules[name]
			all = append(all, listed{Name: name, Cron: s.Cron, Next: s.Next(time.Now()), Script: s.Script, Skill: s.Skill, Workflow: s.Workflow, Customer: s.Customer})
		}
	}
	followed := false
	if len(all) > 0 && place != "" {
		if followed, err = look(cmd.Context(), place, all); err != nil {
			return err
		}
	}
	if o.json {
		return o.app.JSON(map[string]any{"schedules": all, "followed": followed})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(o.app.Stdout, "no schedules")
		return err
	}
	return o.print(all, followed)
}

// look adds what the state knows of schedules, and returns whether a process follows them.
func look(ctx context.Context, place string, all []listed) (followed bool, err error) {
	if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) && !strings.Contains(place, "://") {
		return false, nil
	}
	kept, err := state.Open(ctx, place)
	if err != nil {
		return false, err
	}
	defer kept.Close()
	leases, err := kept.Leases(ctx, followers)
	if err != nil {
		return false, err
	}
	followed = slices.ContainsFunc(leases, func(l store.Lease) bool { return !l.Expired })
	engine, err := durable.Open(ctx, durable.Options{State: place, Store: kept})
	if err != nil {
		return false, err
	}
	defer engine.Close(ctx)
	for i := range all {
		s, err := engine.Scheduled(ctx, durable.Schedule{Name: all[i].Name, Cron: all[i].Cron}, time.Now())
		if err != nil {
			return false, err
		}
		all[i].Next, all[i].Missed = s.Next, s.Missed
		if work := s.Last; work != nil {
			all[i].Last = &last{Time: work.Created, State: work.State, Outcome: Outcome{Message: work.Error}}
			if !followed && !work.State.Ended() && all[i].Workflow == "" { // a workflow goes on
				all[i].Last.State, all[i].Last.Message = durable.Unknown, "its process has ended, and what it did is unknown"
			}
			if work.State == durable.Done {
				if err := json.Unmarshal(work.Result, &all[i].Last.Outcome); err != nil {
					return false, err
				}
			}
		}
	}
	return followed, nil
}

func (o *command) print(all []listed, followed bool) error {
	var rows [][]string
	for _, s := range all {
		ran, missed := "", ""
		if s.Last != nil {
			ran = when(s.Last.Time) + ", " + s.Last.words()
		}
		if s.Missed > 0 {
			missed = fmt.Sprint(s.Missed)
		}
		rows = append(rows, []string{s.Name, cli.EscapeLine(s.Cron), when(s.Next), cli.EscapeLine(cmp.Or(s.Script, s.Workflow, "skill "+s.Skill)), cli.EscapeLine(s.Customer), ran, missed})
	}
	if err := o.app.Table([]string{"SCHEDULE", "CRON", "NEXT", "RUNS", "CUSTOMER", "LAST RUN", "MISSED SINCE"}, rows); err != nil {
		return err
	}
	for _, s := range all {
		if s.Last != nil && s.Last.Message != "" {
			fmt.Fprintf(o.app.Stderr, "mcprun: %s: %s\n", s.Name, cli.EscapeLine(s.Last.Message))
		}
	}
	if !followed {
		fmt.Fprintln(o.app.Stderr, "mcprun: nothing runs them now; start mcprun serve or mcprun daemon in this project")
	}
	return nil
}

// when shows a time in the local time zone.
func when(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// words says how a run ended.
func (l *last) words() string {
	switch {
	case l.State != durable.Done:
		return string(l.State)
	case l.Skipped:
		return "skipped"
	case l.ExitCode != 0:
		return fmt.Sprintf("exit %d", l.ExitCode)
	}
	return "ok"
}

// run runs a schedule in this process.
func (o *command) run(cmd *cobra.Command, name string) error {
	cfg, err := o.project.Load(o.app)
	if err != nil {
		return err
	}
	var all map[string]config.Schedule
	if cfg != nil {
		all = cfg.Settings.Schedules
	}
	s, ok := all[name]
	if !ok {
		return flags.Usage("there is no schedule %q: %s", name, cmp.Or(strings.Join(slices.Sorted(maps.Keys(all)), ", "), "mcpgen.yaml has none"))
	}
	args, err := arguments(cfg.Dir, name, &s)
	if err != nil {
		return err
	}
	var own []string
	for _, file := range o.project.Configs {
		own = append(own, "--config="+file)
	}
	if place := cmd.Flags().Lookup("state"); place.Changed {
		own = append(own, "--state="+place.Value.String())
	}
	once := &run.Schedule{Name: name, Skill: s.Skill}
	if s.Workflow != "" {
		once.Workflow = workflow.NewID()
	}
	if code := o.app.Run(cmd.Context(), run.NewScheduleCommand(o.app, o.at, once), append(own, args...)); code != 0 {
		return cli.Quiet(code)
	}
	return nil
}
