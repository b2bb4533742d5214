package schedules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/daemon"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/store"
)

const (
	// group is that of the daemon's engines, which know no other work than schedules.
	group = "daemon"
	// lookTime is how often the daemon looks whether mcpgen.yaml has changed.
	lookTime = 2 * time.Second
	// endTime is how long runs that are interrupted may take to end.
	endTime = 10 * time.Second
)

// Projects runs the schedules of the projects of the daemon's clients. It implements [daemon.Follower].
type Projects struct {
	at   resources.Provider
	log  *slog.Logger
	work sync.WaitGroup
	// ready is closed when Run has set ctx and stopping.
	ready    chan struct{}
	ctx      context.Context
	stopping <-chan struct{}

	mu    sync.Mutex
	ended bool            // no further project is followed
	all   map[string]*one // by the folder of mcpgen.yaml
}

// NewProjects returns a follower of no project.
func NewProjects(at resources.Provider, log *slog.Logger) daemon.Follower {
	return &Projects{at: at, log: log, ready: make(chan struct{}), all: map[string]*one{}}
}

// Run implements [daemon.Follower].
func (p *Projects) Run(ctx context.Context, stopping <-chan struct{}) {
	p.ctx, p.stopping = ctx, stopping
	close(p.ready)
	<-stopping
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.work.Wait()
}

// Busy implements [daemon.Follower].
func (p *Projects) Busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all) > 0
}

// Describe implements [daemon.Follower].
func (p *Projects) Describe() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	for _, dir := range slices.Sorted(maps.Keys(p.all)) {
		lines = append(lines, fmt.Sprintf("schedules of %s: %s", dir, strings.Join(p.all[dir].follower.Names(), ", ")))
	}
	return lines
}

// Follow implements [daemon.Follower].
func (p *Projects) Follow(app *cli.App, replace bool) ([]string, error) {
	<-p.ready
	here := project.LocationFlags{Silent: true}
	cfg, err := here.Load(app)
	if err != nil || cfg == nil || len(cfg.Settings.Schedules) == 0 {
		return nil, err
	}
	own := &cli.App{Name: app.Name, FailCode: app.FailCode, Dir: app.Dir, LookupEnv: app.LookupEnv, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil, errors.New("the daemon is ending")
	}
	o := p.all[cfg.Dir]
	isNew := o == nil
	switch {
	case isNew:
		o = &one{projects: p, dir: cfg.Dir, app: own}
		o.follower = NewFollower(p.ctx, Host{Run: o.run, Note: o.note, Log: p.log.With("project", cfg.Dir)})
	case !replace:
		return o.follower.Names(), nil
	default:
		o.replace(own)
	}
	if _, err = o.look(); err != nil {
		p.log.Error("schedules are not run", "project", cfg.Dir, "error", err)
		if !errors.Is(err, store.ErrUnreachable) {
			if isNew {
				err = errors.Join(err, o.close())
			}
			return nil, err
		}
		err = fmt.Errorf("schedules are not run before the state can be reached: %w", err)
	}
	if isNew {
		p.all[cfg.Dir] = o
		p.work.Go(o.follow)
	}
	return o.follower.Names(), err
}

// one is a project whose schedules are followed.
type one struct {
	projects *Projects
	dir      string // of mcpgen.yaml
	follower *Follower
	state    state.Flags
	shared   *state.Shared

	mu    sync.Mutex
	app   *cli.App
	files string // of the configuration, as they were read
}

// follow follows the project until the daemon stops, or the project has no schedules any more.
func (o *one) follow() {
	p := o.projects
	clock := time.NewTicker(lookTime)
	defer clock.Stop()
	for said, goesOn := "", true; goesOn; {
		select {
		case <-p.stopping:
			goesOn = false
		case <-clock.C:
			p.mu.Lock()
			has, err := o.look()
			if !has && err == nil {
				delete(p.all, o.dir)
				goesOn = false
			}
			p.mu.Unlock()
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != said && text != "" {
				p.log.Error("schedules are not followed as they are now", "project", o.dir, "error", text)
			}
			said = text
		}
	}
	if err := o.close(); err != nil {
		p.log.Warn("close the durable work", "project", o.dir, "error", err)
	}
}

// look reads the configuration if its files have changed, and follows its schedules. has is false if it has none.
func (o *one) look() (has bool, err error) {
	app := o.current()
	here := project.LocationFlags{Silent: true}
	files := here.Files(app)
	o.mu.Lock()
	same := files == o.files
	o.mu.Unlock()
	if same {
		return true, nil
	}
	cfg, err := here.Load(app)
	if err != nil {
		return false, err
	}
	if cfg == nil || len(cfg.Settings.Schedules) == 0 {
		return false, nil
	}
	if err := here.Consent(o.projects.ctx, app, o.projects.at, cfg); err != nil {
		return false, err
	}
	if err := o.open(app, cfg); err != nil {
		return false, err
	}
	for _, problem := range Check(cfg.Dir, cfg.Settings.Schedules) {
		o.projects.log.Warn("a schedule cannot run as it is", "project", o.dir, "error", problem)
	}
	if err := o.follower.Follow(cfg.Settings.Schedules); err != nil {
		return false, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.files = files
	return true, nil
}

// open opens the state and the durable work, the first time.
func (o *one) open(app *cli.App, cfg *config.Config) error {
	if o.shared == nil {
		if err := flags.ApplyDefaults(app, flags.Set(o.state.Bind), &cfg.Settings); err != nil {
			return err
		}
		o.shared = o.state.Share(app, cfg.Dir, project.NameOf(cfg))
	}
	return o.follower.Open(o.projects.ctx, o.shared, group)
}

// close waits for the runs in progress. The end of the daemon's context interrupts them.
func (o *one) close() error {
	ended, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(o.projects.ctx, func() { time.AfterFunc(endTime, cancel) })()
	err := o.follower.Close(ended)
	if o.shared != nil {
		err = errors.Join(err, o.shared.Close())
	}
	return err
}

func (o *one) current() *cli.App {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.app
}

// replace makes the environment of runs that of app, and has the configuration read again.
func (o *one) replace(app *cli.App) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.app, o.files = app, ""
}

func (o *one) run(ctx context.Context, name string, s config.Schedule, flow Flow) (Outcome, error) {
	c := Command{App: o.current(), At: o.projects.at}
	return c.Run(ctx, o.dir, name, s, flow)
}

// note opens the record for one row.
func (o *one) note(row audit.Schedule) {
	if !o.state.Records(true) {
		return
	}
	app, at := o.current(), o.projects.at
	ctx := context.WithoutCancel(o.projects.ctx)
	warn := func(line string) { o.projects.log.Warn(line) }
	here := project.LocationFlags{Silent: true}
	p, err := here.Open(ctx, app, at, io.Discard)
	if err == nil {
		o.shared.Attach(p)
		log, failed := o.state.OpenLog(ctx, app, p, warn)
		if err = failed; err == nil {
			err = log.Append(ctx, audit.Entry{Kind: audit.KindSchedule, Body: row})
		}
		err = errors.Join(err, p.Close())
	}
	if err != nil {
		warn("a schedule's row was not recorded: " + err.Error())
	}
}
