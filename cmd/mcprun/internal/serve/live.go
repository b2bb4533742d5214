package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/state"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/durable"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/store"
	"github.com/mcpgen/mcpgen/runner/workspace/customer"
)

// followTime is how often a server without calls checks whether the project has changed, to tell its clients.
const followTime = 2 * time.Second

// endingTime is how long a call waits for the servers of the previous configuration to end.
const endingTime = 3 * time.Second

// live follows the files of the project: configuration, mcpgen.yaml with its policy, .env, and the tree. A call uses the project
// as it is when the call begins, to its end. While the project cannot be opened, calls fail; the previous one is not used in its
// place.
type live struct {
	o         *command
	at        *resources.Warm
	log       *slog.Logger
	stderr    io.Writer
	said      run.Options // the flags as the command line sets them
	clients   policy.Conversations
	kept      *state.Shared  // the project's state
	secret    []byte         // the user's; nil: no call can begin again
	inherited []string       // flags of runs that schedules start
	checked   *snapshot      // the last one whose schedules were checked
	ending    sync.WaitGroup // snapshots that wait for the end of their last call

	mu     sync.Mutex
	now    *snapshot       // the last one that could be opened; nil: none yet
	before chain.Upstreams // the upstreams of the previous snapshot
	failed string          // the error that was logged last; empty: the project is in order

	rootMu sync.Mutex
	roots  []*customer.Root // only the last one is in use; the others serve logs that were begun with them
	named  []string         // the customers that its policy names
}

// enter returns the current project for one call, which must call leave.
func (l *live) enter(ctx context.Context) (b *snapshot, leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	files := l.o.run.Files(l.o.app)
	if l.now == nil || l.now.files != files || l.now.stamp != resources.TreeStamp(l.now.project.Wanted) || l.now.installed != l.now.packages() || l.now.plugins != l.now.pluginFiles() || l.now.workflows != l.now.workflowFiles() {
		next, err := l.open(ctx)
		if err != nil {
			return nil, nil, l.fail(err)
		}
		next.files = files // as they were before they were read: a change meanwhile is noticed the next time
		if old := l.now; old != nil {
			l.log.Info("the project has changed and was read again")
			l.before = old.project.Upstreams
			l.end(ctx, old, old.project.Upstreams != next.project.Upstreams)
		}
		l.now = next
	}
	l.failed = ""
	l.now.users.Add(1)
	return l.now, l.now.users.Done, nil
}

// current returns the last state that could be opened.
func (l *live) current() *snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// end closes a snapshot that is no longer current once its last call has ended. If servers are restarted, it waits a moment for the
// end of the old ones, because a server may hold a lock that the new one needs.
func (l *live) end(ctx context.Context, old *snapshot, restarted bool) {
	done := make(chan struct{})
	l.ending.Go(func() {
		defer close(done)
		old.users.Wait()
		if err := old.project.Close(); err != nil {
			l.log.Debug("close the project as it was before", "error", err)
		}
		l.at.DropUpstreams()
	})
	if !restarted {
		return
	}
	select {
	case <-done:
	case <-time.After(endingTime):
	case <-ctx.Done():
	}
}

// open reads the project. It starts from the flags of the command line, because the project may no longer set what it set before.
func (l *live) open(ctx context.Context) (*snapshot, error) {
	*l.o.run = l.said
	l.o.run.Silent = l.now != nil // a person is asked at the start only: calls wait for the answer, and come from elsewhere
	p, err := l.o.run.Open(ctx, l.o.app, l.at, l.stderr)
	if err != nil {
		return nil, err
	}
	if err = l.o.run.ApplyDefaults(p); err == nil {
		p.Skills, err = l.o.run.FindSkills(p)
	}
	if err == nil {
		if l.kept == nil { // another place in mcpgen.yaml counts after a restart
			l.kept = l.o.run.State.Share(l.o.app, p.Base, project.NameOf(p.Cfg))
		}
		l.kept.Attach(p)
		err = run.RefuseState(l.o.app, &l.o.run.State, p, l.o.files(p))
	}
	if err == nil {
		l.o.run.Calls.Observer = p.Observer()
		l.o.run.Calls.Cache = run.NewCache(l.o.app, p, l.o.files(p))
		err = run.Record(ctx, l.o.app, &l.o.run.State, p, &l.o.run.Calls, true, func(line string) { l.log.Warn(line) })
	}
	own, flags := *l.o, *l.o.run // flags of the command write to l.o.run
	own.run = &flags
	var b *snapshot
	if err == nil {
		b, err = own.newSnapshot(ctx, p, l)
	}
	if err == nil {
		err = b.warnMisspelt(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return b, nil
}

// fail logs an error of the project once, and returns it without the project's folder, which clients need not know.
func (l *live) fail(err error) error {
	if l.now == nil {
		return err
	}
	if text := err.Error(); text != l.failed {
		l.failed = text
		l.log.Error("the project cannot be used as it is now; no tool is called until that is fixed", "error", exit.Hinted(err))
	}
	return &projectError{error: err, folder: l.now.project.Base + string(filepath.Separator)}
}

// projectError is an error of a project whose files it names relative to the project's folder.
type projectError struct {
	error
	folder string
}

func (e *projectError) Error() string { return strings.ReplaceAll(e.error.Error(), e.folder, "") }

// Hint returns what to do about the error.
func (e *projectError) Hint() string {
	return strings.ReplaceAll(exit.Hint(e.error), e.folder, "")
}

func (e *projectError) Unwrap() error { return e.error }

// options returns the options for a server that starts with this project.
func (l *live) options(b *snapshot) *mcpserver.Options {
	opt := &mcpserver.Options{
		Version: cli.Version(), Mode: mcpserver.Mode(l.o.tools), IndexTokens: l.o.index, Project: *b.offer, Reload: l.reload,
		Run: l.runJob, Call: l.callTool, Refused: l.refused, Customer: l.openCustomer,
		Parallel: l.o.parallel, MaxWait: l.o.queueTime, MaxTime: l.o.maxTime, MaxMemory: l.o.maxMemory, Prices: l.o.prices,
		AnswerTime: max(b.o.run.ApproveTime(), approve.DefaultTimeout),
		MaxText:    b.o.run.OutputBound(), ShowPaths: l.o.http == "", Logger: l.log,
	}
	if l.o.index == 0 {
		opt.IndexTokens = -1
	}
	if opt.Mode == mcpserver.ModePassthrough { // which has other defaults
		if !l.o.cmd.Flags().Changed("parallel") {
			opt.Parallel = 0
		}
		if !l.o.cmd.Flags().Changed("queue-time") {
			opt.MaxWait = 0
		}
	}
	return opt
}

// share lets the server share its tasks and its queue with others that have the same state. It leaves Engine nil where no key can be kept.
func (l *live) share(ctx context.Context, opt *mcpserver.Options) error {
	kept, err := l.kept.Open(ctx)
	if err != nil {
		return err
	}
	if l.secret, err = customers.Key(l.o.app); err != nil {
		l.log.Warn("tasks end with this process, because there is no key to encrypt what would be kept of them", "error", exit.Hinted(err))
		return nil
	}
	if err := l.kept.CheckKey(ctx, l.secret); err != nil {
		return err
	}
	opt.Secret, opt.State, opt.Settled, opt.Made, opt.Rate, opt.RatePeriod = l.secret, kept, l.settled, l.made, l.o.rate.Count, l.o.rate.Period
	opt.Sweep = func(ctx context.Context, since time.Time, known func(context.Context, string) (bool, error)) error {
		_, err := journal.Sweep(ctx, kept, journalKind, since, known)
		return err
	}
	group, err := l.o.group(l.current().project, l.secret)
	if err != nil {
		return err
	}
	opt.Workflows = &mcpserver.Workflows{State: kept, Run: l.runPart, Digest: l.digest, Ready: run.WorkflowReady}
	opt.Engine, err = l.kept.Engine(ctx, durable.Options{Group: group, Logger: l.log})
	return err
}

// journalKind is the kind of the logs that are journals.
const journalKind = "journal"

// journalKey names the journal of a run or call that may begin again.
func journalKey(customer, work string) store.Key {
	return store.Key{Customer: customer, Kind: journalKind, Name: work}
}

// journal opens the journal of a run or call, which returns what its calls returned if it begins again. It is nil if it cannot begin again.
func (l *live) journal(ctx context.Context, customer, work string) (*journal.Journal, error) {
	if work == "" {
		return nil, nil
	}
	kept, err := l.kept.Open(ctx)
	if err != nil {
		return nil, err
	}
	return journal.Open(ctx, kept, journalKey(customer, work), l.secret)
}

// settled deletes the journal of a run or call that will not begin again.
func (l *live) settled(ctx context.Context, customer, work string) {
	kept, err := l.kept.Open(ctx)
	if err == nil {
		err = journal.Delete(ctx, kept, journalKey(customer, work))
	}
	if err != nil {
		l.log.Warn("the journal of a call could not be deleted", "error", err)
	}
}

// made returns what a run or call has called, by its journal.
func (l *live) made(ctx context.Context, customer, work string) (map[string]int, error) {
	kept, err := l.kept.Open(ctx)
	if err != nil {
		return nil, err
	}
	c, err := journal.Read(ctx, kept, journalKey(customer, work), l.secret)
	if err != nil {
		return nil, err
	}
	return c.Sent, nil
}

func (l *live) reload(ctx context.Context) (*mcpserver.Project, error) {
	b, leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return b.offer, nil
}

func (l *live) runJob(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
	b, leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return b.runJob(ctx, job)
}

func (l *live) callTool(ctx context.Context, job *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
	b, leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return b.callTool(ctx, job)
}

func (l *live) openCustomer(ctx context.Context, id string) (*mcpserver.Customer, error) {
	b, leave, err := l.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return b.customer(ctx, id)
}

// login adds a login of a client to the record.
func (l *live) login(in mcpserver.Login) {
	calls := l.current().o.run.Calls
	calls.Who.Customer = audit.Text(in.Customer)
	row := audit.Login{Event: "login", Subject: audit.Text(in.Address)}
	if in.Refused {
		row.Event = "refused"
	}
	calls.Audit.Later(calls.Entry(audit.KindLogin, "", row))
}

// maxNames bounds the names in a row about what a client did.
const maxNames = 100

// used adds what a client does without a script to the record.
func (l *live) used(ctx context.Context, customer *mcpserver.Customer, u mcpserver.Use) error {
	now, leave, err := l.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	calls, mask := now.o.run.Calls, customers.RecordMask(now.project.Upstreams)
	setClient(&calls, customer, u.Session, u.Client)
	row := audit.Access{Action: u.Tool, Names: []string{}, Count: len(u.Names)}
	for _, name := range u.Names[:min(len(u.Names), maxNames)] {
		row.Names = append(row.Names, mask(name))
	}
	for _, told := range []*audit.Text{&calls.Who.Client, &calls.Who.ClientVersion} {
		*told = audit.Text(mask(string(*told)))
	}
	return calls.Audit.Append(ctx, calls.Entry(audit.KindAccess, "", row))
}

// refused adds to the record a request of a client that was refused before it became a run or a call.
func (l *live) refused(in mcpserver.Refusal) {
	l.mu.Lock()
	b := l.now
	b.users.Add(1)
	l.mu.Unlock()
	defer b.users.Done()
	b.refused(in)
}

// follow tells clients of changes of the project, until the returned function is called.
func (l *live) follow(ctx context.Context, server *mcpserver.Server) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		clock := time.NewTicker(followTime)
		defer clock.Stop()
		for {
			select {
			case <-clock.C:
				_ = server.Refresh(ctx) // enter logs what is wrong
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); work.Wait() }
}

// customer returns a customer from a folder that knows the customers that the policy names now.
func (l *live) customer(b *snapshot, id string) (*customer.Customer, error) {
	l.rootMu.Lock()
	defer l.rootMu.Unlock()
	named := b.project.Policy.Customers()
	slices.Sort(named)
	if len(l.roots) == 0 || !slices.Equal(named, l.named) {
		root, err := b.o.run.FolderFlags.Open(b.o.app, b.project.Base, l.kept.Open, secrets{l: l}, named, func(line string) { l.log.Info(line) })
		if err != nil {
			return nil, err
		}
		l.roots, l.named = append(l.roots, root), named
	}
	return l.roots[len(l.roots)-1].Customer(id)
}

// secrets conceals the project's secrets in logs: the current ones, and the ones that a run from before the last change may have seen.
type secrets struct {
	chain.Upstreams
	l *live
}

// Conceal replaces secrets in text.
func (s secrets) Conceal(text string) string {
	s.l.mu.Lock()
	all := []chain.Upstreams{s.l.before, s.l.now.project.Upstreams}
	s.l.mu.Unlock()
	for _, up := range all {
		if up, ok := up.(interface{ Conceal(string) string }); ok {
			text = up.Conceal(text)
		}
	}
	return text
}

// Close closes the project and the folders of customers. No call may be in progress.
func (l *live) Close() error {
	l.ending.Wait()
	var errs []error
	for _, root := range l.roots {
		errs = append(errs, root.Close())
	}
	if l.now != nil {
		errs = append(errs, l.now.project.Close())
	}
	if l.kept != nil {
		errs = append(errs, l.kept.Close())
	}
	return errors.Join(errs...)
}

// warm runs an empty script in each language in the background. The pool then has idle sandboxes, so that the first real run need
// not start its own. These runs write nothing, call nothing and are not logged. The returned function ends them; the caller must
// call it.
func (l *live) warm(ctx context.Context, languages []string) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	for _, name := range languages {
		work.Go(func() {
			b, leave, err := l.enter(ctx)
			if err == nil {
				defer leave()
				err = b.emptyRun(ctx, name)
			}
			if err != nil && ctx.Err() == nil {
				l.log.Debug("no sandbox was started ahead; the first run says why", "language", name, "error", err)
			}
		})
	}
	return func() { cancel(); work.Wait() }
}
