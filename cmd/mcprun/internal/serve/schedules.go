package serve

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/schedules"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner/audit"
)

// errEnds is why runs of schedules are interrupted when the server ends.
var errEnds = errors.New("mcprun serve has ended")

// engineTime is how long the server waits for interrupted runs of schedules.
const engineTime = 10 * time.Second

// schedule runs the schedules of the project, as they are in mcpgen.yaml at each time, until the returned function is called. There is
// durable work only from the first schedule on.
func (l *live) schedule(ctx context.Context) (end func()) {
	l.inherited = l.flags() // before other goroutines read the project again, which sets flags
	ctx, cancel := context.WithCancelCause(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		f := schedules.NewFollower(ctx, schedules.Host{Run: l.runSchedule, Note: l.noteSchedule, Log: l.log})
		clock := time.NewTicker(followTime)
		defer clock.Stop()
		for said := ""; ctx.Err() == nil; {
			text := ""
			if err := l.followSchedules(ctx, f); err != nil && ctx.Err() == nil {
				text = exit.Hinted(err).Error()
			}
			if text != said && text != "" {
				l.log.Error("schedules are not run", "error", text)
			}
			said = text
			select {
			case <-clock.C:
			case <-ctx.Done():
			}
		}
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineTime)
		defer cancel()
		if err := f.Close(ended); err != nil {
			l.log.Warn("close the durable work", "error", err)
		}
	})
	return func() { cancel(errEnds); work.Wait() }
}

// followSchedules makes f follow what mcpgen.yaml says now.
func (l *live) followSchedules(ctx context.Context, f *schedules.Follower) error {
	b, leave, err := l.enter(ctx)
	if err != nil {
		return nil // it has been logged; until it is in order, runs fail
	}
	defer leave()
	wanted := b.project.Settings.Schedules
	if len(wanted) == 0 && !f.IsOpen() {
		return nil
	}
	if err := f.Open(ctx, l.kept, ""); err != nil {
		return err
	}
	if l.checked != b {
		l.checked = b
		for _, problem := range schedules.Check(b.project.Base, wanted) {
			l.log.Warn("a schedule cannot run as it is", "error", exit.Hinted(problem))
		}
		for name, s := range wanted {
			if s.Skill == "" {
				continue
			}
			store, err := b.skillsOf(s.Customer)
			if err == nil {
				_, err = store.Load(s.Skill)
			}
			if err != nil {
				l.log.Warn("a schedule cannot run as it is", "schedule", name, "error", exit.Hinted(err))
			}
		}
	}
	return f.Follow(wanted)
}

// runSchedule runs a schedule as mcprun runs a script, with those flags of the server that such a run has too.
func (l *live) runSchedule(ctx context.Context, name string, s config.Schedule, flow schedules.Flow) (schedules.Outcome, error) {
	b, leave, err := l.enter(ctx)
	if err != nil {
		return schedules.Outcome{}, err
	}
	defer leave()
	flags := slices.Clone(l.inherited)
	if s.Customer != "" { // which has its own workspace
		flags = slices.DeleteFunc(flags, func(flag string) bool { return strings.HasPrefix(flag, "--workspace=") })
	}
	c := schedules.Command{App: l.o.app, At: l.at, Flags: flags, Checked: true}
	return c.Run(ctx, b.project.Base, name, s, flow)
}

// flags returns the flags on the command line that runs have too.
func (l *live) flags() (args []string) {
	shared := &l.o.run.Shared
	for _, set := range []*pflag.FlagSet{shared.Customers, shared.Sandbox, shared.Calls, shared.Limits, shared.Kept} {
		set.VisitAll(func(f *pflag.Flag) {
			if !f.Changed {
				return
			}
			values := []string{f.Value.String()}
			if list, ok := f.Value.(pflag.SliceValue); ok {
				values = list.GetSlice()
			}
			for _, value := range values {
				args = append(args, "--"+f.Name+"="+value)
			}
		})
	}
	return args
}

// noteSchedule adds what happened to a schedule to the record.
func (l *live) noteSchedule(row audit.Schedule) {
	calls := l.current().o.run.Calls
	calls.Who.Session = ""
	calls.Audit.Later(calls.Entry(audit.KindSchedule, "", row))
}
