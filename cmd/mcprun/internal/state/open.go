package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/oauth"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/audit/alert"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/store/postgres"
	"github.com/mcpgen/mcpgen/runner/store/sqlite"
)

// Open opens the state at a place that [PlaceFlag.Place] returned.
func Open(ctx context.Context, place string) (store.Store, error) {
	if cli.IsURL(place) {
		s, err := postgres.Open(ctx, place)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := sqlite.Open(ctx, place, sqlite.Options{})
	if err != nil {
		return nil, err // not a nil *sqlite.Store, which callers would close
	}
	return s, nil
}

// OpenRecord is Open for a command that reads the record: what killed processes have left in their write-ahead files is in it.
func OpenRecord(ctx context.Context, place string) (store.Store, error) {
	s, err := Open(ctx, place)
	if err != nil {
		return nil, err
	}
	log, err := audit.Open(s, audit.Options{Ahead: ahead(place)})
	if err = errors.Join(err, log.Close()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// ahead returns how the paths of the write-ahead files for the record at a place begin, or "" if it has none.
func ahead(place string) string {
	if cli.IsURL(place) {
		return ""
	}
	return place + "-ahead-"
}

// OpenLog opens the record of the project's runs, in the project's state. Closing the project closes the record. warn is called with a line for the operator if a row or a head could not be written; it must not block.
func (o *Flags) OpenLog(ctx context.Context, app *cli.App, p *project.Project, warn func(line string)) (*audit.Log, error) {
	place, err := o.Place(app, p.Base)
	if err != nil {
		return nil, err
	}
	key, head, err := key(ctx, app, p, place)
	if err != nil {
		return nil, err
	}
	s, err := p.State(ctx)
	if err != nil {
		return nil, err
	}
	report := func(err error) { warn(cli.EscapeLine(err.Error())) }
	alerts, err := alerts(p, report)
	if err != nil {
		return nil, err
	}
	log, err := audit.Open(s, audit.Options{Key: key, HeadFile: head, Who: audit.Who{User: audit.Text(UserName())}, Publish: publish(p), Ahead: ahead(place), Warn: report, Written: alerts.Observe})
	if err != nil {
		alerts.Close()
		return nil, err
	}
	stop := forgetDaily(log, p.Settings.Audit.RetentionTime(), report)
	p.OnClose(func() error {
		stop()
		if err := log.Close(); err != nil {
			report(err) // who closes a project at the end of a run tells nobody
		}
		alerts.Close() // sends those of the last rows
		return nil
	})
	return log, nil
}

// forgetDaily removes contents of rows that are older than keep, now and each day, until stop is called. It counts in whole days, so that a
// day has one row that says so. Zero keeps all of them.
func forgetDaily(log *audit.Log, keep time.Duration, warn func(error)) (stop func()) {
	if keep == 0 {
		return func() {}
	}
	const day = 24 * time.Hour
	ended := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		for {
			if _, err := log.Forget(context.Background(), time.Now().Add(-keep).Truncate(day)); err != nil {
				warn(fmt.Errorf("remove contents of the record that are older than audit.retention: %w", err))
			}
			select {
			case <-ended:
				return
			case <-time.After(day):
			}
		}
	})
	return func() {
		close(ended)
		working.Wait()
	}
}

// UserName returns the name of the user of the operating system, or "" if it is unknown.
func UserName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}

// alerts returns what tells the program of the project's settings of rows that should not wait for a report, or nil.
func alerts(p *project.Project, warn func(error)) (*alert.Alerts, error) {
	set := p.Settings.Audit.Alerts
	if set == nil {
		return nil, nil
	}
	return alert.New(alert.Options{Kinds: set.On, Args: slices.Clone(set.Command), Dir: filepath.Dir(p.Settings.Path), Env: os.Environ(), Warn: warn})
}

// key returns the key that signs heads of the record at a place, and the file that keeps the newest head. The key is that of the settings,
// else the user's own for this place, which is made if it does not exist. With a key of the settings, the file is "" where the user has no
// folder for it, as in a container.
func key(ctx context.Context, app *cli.App, p *project.Project, place string) (key *audit.Key, head string, err error) {
	path, head, err := KeyFiles(app, place)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if p.Settings.Audit.Key != nil {
		if err != nil {
			head = ""
		}
		key, err = ConfiguredKey(ctx, app, &p.Settings)
	} else if err == nil {
		p.Trusted = append(p.Trusted, path)
		key, err = audit.CreateKey(path, filepath.Base(strings.TrimSuffix(path, keySuffix))[:12])
	}
	if err != nil && p.Settings.Audit.Key == nil {
		err = cli.WithHint(fmt.Errorf("keep a key that signs the record: %w", err), "set XDG_STATE_HOME to a folder that this user may write, or name a key: audit.key in mcpgen.yaml, and the database: --state")
	}
	if head != "" {
		p.Trusted = append(p.Trusted, head)
	}
	return key, head, err
}

// Secrets returns where secrets of settings are read from. A person must have agreed to the settings.
func Secrets(app *cli.App, settings *config.Settings) (config.SecretSources, error) {
	dir := filepath.Dir(settings.Path)
	vars, err := config.DotEnv(dir)
	from := config.SecretSources{Dir: dir, Environment: os.Environ(), Lookup: config.WithDotEnv(app.LookupEnv, vars)}
	if app.Keyring() {
		from.Keyring = oauth.System{}.Get
	}
	return from, err
}

// ConfiguredKey reads audit.key of settings that a person has agreed to.
func ConfiguredKey(ctx context.Context, app *cli.App, settings *config.Settings) (*audit.Key, error) {
	secret := settings.Audit.Key
	from, err := Secrets(app, settings)
	if err != nil {
		return nil, err
	}
	text, err := secret.Read(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("audit.key: %w", err)
	}
	k, err := audit.ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("audit.key: %s: %w", secret, err)
	}
	return k, nil
}

const keySuffix, headSuffix = ".key", ".head"

// KeyFiles returns the file of the user's own key for the record at a place, and that with the newest head that the user has signed there,
// also with another key. They may not exist.
func KeyFiles(app *cli.App, place string) (key, head string, err error) {
	path, err := app.ProjectState("audit", place)
	return path + keySuffix, path + headSuffix, noPlace(err)
}

// publish returns what publishes heads as the project's settings say, or nil.
func publish(p *project.Project) func(context.Context, []byte) error {
	head, dir := p.Settings.Audit.Head, filepath.Dir(p.Settings.Path)
	if head == nil {
		return nil
	}
	var all []func(context.Context, []byte) error
	if head.File != "" {
		path := head.Path(dir)
		p.Trusted = append(p.Trusted, path)
		all = append(all, audit.PublishFile(path))
	}
	if head.Command != nil {
		all = append(all, audit.PublishCommand(audit.Command{Args: slices.Clone(head.Command), Dir: dir, Env: os.Environ()}))
	}
	if head.Telemetry {
		all = append(all, p.Telemetry.PublishHead)
	}
	return func(ctx context.Context, text []byte) error {
		var errs []error
		for _, each := range all {
			errs = append(errs, each(ctx, text))
		}
		return errors.Join(errs...)
	}
}
