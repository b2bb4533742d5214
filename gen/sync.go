package gen

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/catalog/diff"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/config/consent"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/poison"
	"github.com/mcpgen/mcpgen/gen/tree"
)

// Sync brings the tree in line with the servers' lists or, with Check, reports the difference. The report is complete even if servers
// failed or tools had problems. An error means that there is nothing to report and, unless writing failed, that nothing was written.
func Sync(ctx context.Context, opts Options) (*Report, error) {
	start := time.Now()
	s, err := open(ctx, opts)
	if err != nil {
		return nil, err
	}
	defer s.awaitSessions()
	servers, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.generate(servers); err != nil {
		return nil, err
	}
	if err := s.write(ctx); err != nil {
		return nil, err
	}
	s.report.Duration = time.Since(start)
	return s.report, nil
}

// job is one Sync in progress.
type job struct {
	opts   Options
	config *config.Config
	// stored is what the tree contained when the job began.
	stored *catalog.Stored
	// learned is what is known about the replies of tools that declare no output, by server and tool.
	learned map[string]map[string]catalog.Learned
	// dirs are the folders of all configured servers.
	dirs   map[string]string
	plan   *tree.Plan
	report *Report
	// emptied are the servers of which include and exclude leave no tool.
	emptied []string
	// phrases are the phrases of the existing tools, if some phrases belong to no tool, and otherwise nil.
	phrases map[string]map[string]catalog.Phrases
	// closing are closed when the sessions that are still being closed are gone.
	closing []<-chan struct{}
}

func open(ctx context.Context, opts Options) (*job, error) {
	cfg, err := LoadConfig(opts)
	if err != nil {
		return nil, err
	}
	if !opts.Offline {
		if err := opts.consent(ctx, cfg); err != nil {
			return nil, err
		}
	}
	out := opts.out(cfg)
	if out == filepath.Dir(out) {
		return nil, &ConfigError{fmt.Errorf("the output folder %q is the file system root; choose a subfolder, such as servers", out)}
	}
	dirs := dirsOf(cfg)
	for _, key := range opts.Servers {
		if _, known := dirs[key]; !known {
			return nil, &UnknownServerError{Key: key, Known: slices.Sorted(maps.Keys(dirs))}
		}
	}
	stored, err := catalog.ReadStored(out)
	if err != nil {
		return nil, err
	}
	learned, err := catalog.ReadLearned(out)
	if err != nil {
		return nil, err
	}
	if opts.relearn != nil {
		opts.relearn(learned)
	}
	report := &Report{Config: cfg.Path, Out: out, Check: opts.Check, WithDiff: opts.Diff, Strict: opts.Strict, Frozen: opts.Frozen}
	for _, n := range cfg.Notes {
		if !n.Minor {
			report.Warnings = append(report.Warnings, Warning{Place: n.Place(), Message: n.Message})
		}
	}
	for _, n := range consent.Reach(cfg, opts.LookupEnv) {
		report.Warnings = append(report.Warnings, Warning{Place: n.Place(), Message: n.Message, Code: "reach"})
	}
	report.Warnings = append(report.Warnings, warnStored(stored)...)
	if opts.Frozen && stored.Lock == nil {
		return nil, &Error{
			Message: fmt.Sprintf("there is no lock in %s that can be read; --frozen needs one", out),
			Remedy:  "restore " + catalog.LockPath + " from version control, or run \"mcpgen sync\" and review what it writes",
			Code:    exit.Usage,
		}
	}
	return &job{opts: opts, config: cfg, stored: stored, learned: learned, dirs: dirs, report: report}, nil
}

// dirsOf returns the folder of each configured server, by key.
func dirsOf(cfg *config.Config) map[string]string {
	names := make([]string, len(cfg.Servers))
	for i, srv := range cfg.Servers {
		names[i] = srv.Name()
	}
	dirs, byName := map[string]string{}, catalog.Dirs(names)
	for i, srv := range cfg.Servers {
		dirs[srv.Key] = byName[names[i]]
	}
	return dirs
}

// LoadConfig reads the configuration that opts names, or that [config.Locate] finds. The error is a *[ConfigError].
func LoadConfig(opts Options) (*config.Config, error) {
	at, err := config.Locate(opts.Dir, opts.Configs)
	if err != nil {
		return nil, &ConfigError{err}
	}
	cfg, err := at.Load()
	if err != nil {
		return nil, &ConfigError{err}
	}
	return cfg, nil
}

// CheckOutput returns a *[config.OutputError] if a command must not write its output to path, because the file belongs to the
// project: see [config.CheckOutput]. Mistakes in the configuration are not reported.
func CheckOutput(opts Options, path string) error {
	var own []string
	out := resolve(opts.Dir, cmp.Or(opts.Out, config.DefaultOut))
	if cfg, err := LoadConfig(opts); err == nil {
		own, out = cfg.Files(), opts.out(cfg)
	}
	return config.CheckOutput(path, own, out)
}

// consent returns an error if the configuration must not be used.
func (o *Options) consent(ctx context.Context, cfg *config.Config) error {
	if o.Consent == nil {
		return nil
	}
	return o.Consent(ctx, cfg)
}

// Out returns the absolute folder of the tree.
func Out(opts Options) (string, error) {
	cfg, err := LoadConfig(opts)
	if err != nil {
		return "", err
	}
	return opts.out(cfg), nil
}

func (o *Options) out(cfg *config.Config) string {
	if o.Out == "" {
		return resolve(cfg.Dir, cfg.Settings.Out)
	}
	return resolve(o.Dir, o.Out)
}

func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// generate generates the tree in memory and compares it with the one on disk.
func (s *job) generate(servers []catalog.Server) error {
	want, now, err := s.render(servers)
	if err != nil {
		return err
	}
	before, err := s.before(now)
	if err != nil {
		return err
	}
	if len(now.Servers) == 0 && len(s.report.Failures()) > 0 {
		s.sortWarnings()
		return nil // an empty tree is useless, and the network is probably down, so nothing is removed either
	}
	texts := poison.NewChecker(now.Servers, s.allowedTexts())
	s.report.Catalog, s.report.Changes = now, diff.Catalogs(before, now, texts)
	s.addUnpinned(now)
	s.warnSuspicious(now)
	s.checkPhrases(now)
	s.noteFirst(now, texts)
	s.sortWarnings()
	s.plan, err = tree.MakePlan(s.report.Out, want, tree.Options{
		Written:   s.written(),
		Generated: isGenerated,
		Commit:    catalog.LockPath,
	})
	if err != nil {
		return err
	}
	s.report.Gone, s.report.Emptied = s.gone()
	if s.writesNothing() {
		for _, key := range s.report.Gone {
			s.report.Warnings = append(s.report.Warnings, Warning{Place: key, Code: "gone", Message: "it is no longer configured; a sync removes its wrappers only with --prune; " +
				"if another file configures it, name that with --config, MCPGEN_CONFIG, or config: in mcpgen.yaml"})
		}
		for _, key := range s.report.Emptied {
			s.report.Warnings = append(s.report.Warnings, Warning{Place: key, Code: "gone", Message: "a sync removes the wrappers of all its tools only with --prune; " +
				"if that is not meant, correct include and exclude in mcpgen.yaml"})
		}
		s.sortWarnings()
	}
	s.report.Files, s.report.Unchanged, s.report.Kept = s.plan.Steps, s.plan.Unchanged, s.plan.Kept
	if s.opts.Diff {
		s.report.Diff = s.plan.Diff()
	}
	return nil
}

// before returns what can be read of the catalog from which the tree was generated.
func (s *job) before(now *catalog.Catalog) (*catalog.Catalog, error) {
	var servers []catalog.Server
	for _, server := range s.stored.Servers {
		server.Tools = slices.Clone(server.Tools)
		servers = append(servers, server)
	}
	for _, server := range now.Servers {
		if _, ok := s.stored.Servers[server.Key]; ok || s.stored.Lock == nil {
			continue
		}
		if locked, ok := s.stored.Lock.Servers[server.Key]; ok {
			servers = append(servers, serverFromLock(locked, s.stored.Lock, server))
		}
	}
	c, err := catalog.New(servers)
	if err != nil {
		return nil, fmt.Errorf("read what the tree was made from: %w", err)
	}
	return c, nil
}

// written returns the files that the last sync wrote.
func (s *job) written() map[string]string {
	if s.stored.Lock == nil {
		return nil
	}
	return s.stored.Lock.Files
}

func (s *job) sortWarnings() {
	for i, w := range s.report.Warnings {
		s.report.Warnings[i].Place = clipPlace(w.Place)
	}
	slices.SortStableFunc(s.report.Warnings, func(a, b Warning) int {
		return cmp.Or(strings.Compare(a.Place, b.Place), strings.Compare(a.Message, b.Message))
	})
}

func (s *job) write(ctx context.Context) error {
	switch {
	case s.plan == nil || s.writesNothing():
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	if err := s.prune(ctx); err != nil {
		return err
	}
	if err := s.plan.Apply(ctx); err != nil {
		return err
	}
	s.report.Written = true
	if s.phrases != nil {
		return catalog.WritePhrases(s.report.Out, s.phrases)
	}
	return nil
}

// gone returns the servers whose wrappers would be removed because they are no longer configured, and the servers of which include and
// exclude leave no tool.
func (s *job) gone() (gone, emptied []string) {
	if !slices.ContainsFunc(s.plan.Steps, func(step tree.Step) bool { return step.Action == tree.Delete }) {
		return nil, nil
	}
	left := map[string]bool{} // the servers in the tree, and whether it has tools of them
	for key, server := range s.stored.Servers {
		left[key] = len(server.Tools) > 0
	}
	if s.stored.Lock != nil {
		for key, server := range s.stored.Lock.Servers {
			left[key] = left[key] || len(server.Tools) > 0
		}
	}
	for _, key := range s.emptied {
		if left[key] {
			emptied = append(emptied, key)
		}
	}
	for _, srv := range slices.Concat(s.config.Servers, s.config.Disabled) {
		delete(left, srv.Key)
	}
	return slices.Sorted(maps.Keys(left)), slices.Sorted(slices.Values(emptied))
}

// prune asks whether all wrappers of a server may be removed.
func (s *job) prune(ctx context.Context) error {
	if len(s.report.Gone)+len(s.report.Emptied) == 0 {
		return nil
	}
	gone := &PruneError{Servers: s.report.Gone, Emptied: s.report.Emptied, Config: s.report.Config, Out: s.report.Out}
	if s.opts.Prune == nil {
		return gone
	}
	switch may, err := s.opts.Prune(ctx, gone); {
	case err != nil:
		return err
	case !may:
		return gone
	}
	return nil
}

// maxPlace bounds the place of a warning, in bytes. Names may be megabytes long.
const maxPlace = 400

// clipPlace shortens the place of a warning in the middle, so that the server and the last names stay.
func clipPlace(place string) string {
	if len(place) <= maxPlace {
		return place
	}
	return ident.Head(place, maxPlace/2) + "…" + ident.Tail(place, maxPlace/2)
}

// writesNothing reports whether this sync must not write: it is a check, or strict or frozen forbids it because of what it found.
func (s *job) writesNothing() bool {
	switch {
	case s.opts.Check:
		return true
	case s.opts.Strict && (s.report.Dropped() || s.report.Suspicious()):
		return true
	}
	return s.opts.Frozen && len(s.report.Changes) > 0
}

// warnStored returns a warning for each file in the tree that could not be read and will be written again.
func warnStored(stored *catalog.Stored) []Warning {
	var warnings []Warning
	for _, problem := range stored.Problems {
		place, message, _ := strings.Cut(problem, ": ")
		warnings = append(warnings, Warning{Place: place, Message: message + "; it is written again", Code: "damaged"})
	}
	return warnings
}
