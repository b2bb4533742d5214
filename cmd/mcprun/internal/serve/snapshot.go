package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/customers"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/packages"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/resources"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/run"
	"github.com/mcpgen/mcpgen/gen"
	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/search"
	"github.com/mcpgen/mcpgen/gen/upstream"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/mcpserver"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/skill"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// snapshot is the project as `mcprun serve` has read it once. A call keeps the snapshot that it began with; see [live].
type snapshot struct {
	o       *command // with the flags as this project sets them
	project *project.Project
	log     *slog.Logger
	tree    *gen.Tree     // nil if there is none
	index   *search.Index // nil if there is no tree
	live    *live

	offer *mcpserver.Project // what clients are shown
	hides *chain.Personal    // what is done with personal data of the project
	files string             // the configuration's files, as they were read
	stamp string             // the tree's state, as it was read
	users sync.WaitGroup     // calls that use it

	installed string // what packages returned at first
	workflows string // what workflowFiles returned at first
	plugins   string // what pluginFiles returned at first

	mu       sync.Mutex
	stores   map[string]*skill.Store    // by customer
	personal map[string]*chain.Personal // by customer
	maskers  map[string]*pii.Tokenizer  // by customer; used without personal
}

// pluginFiles returns a text that changes when a file of a plugin changes. One that changes unnoticed is refused when it is started.
func (b *snapshot) pluginFiles() (text string) {
	for i := range b.project.Settings.Plugins {
		for _, file := range b.project.Settings.Plugins[i].Files(b.project.Base) {
			if info, err := os.Stat(file); err == nil {
				text += fmt.Sprintf("%q %d %v\n", file, info.Size(), info.ModTime())
			}
		}
	}
	return text
}

// newSnapshot opens the tree and its index, and decides what clients are shown.
func (o *command) newSnapshot(ctx context.Context, p *project.Project, l *live) (*snapshot, error) {
	b := &snapshot{o: o, project: p, log: l.log, live: l, stores: map[string]*skill.Store{}, personal: map[string]*chain.Personal{}, maskers: map[string]*pii.Tokenizer{}}
	b.installed, b.plugins, b.workflows = b.packages(), b.pluginFiles(), b.workflowFiles()
	var err error
	if b.hides, err = o.run.Personal(p, "", nil); err != nil {
		return nil, err
	}
	if p.Tree != "" {
		b.stamp = resources.TreeStamp(p.Wanted)
		x, err := resources.OpenIndex(o.app, l.at, p.Tree, p.Cfg)
		if err != nil {
			return nil, err
		}
		b.tree, b.index = x.Tree, x.Index
	}
	if o.run.Base.Timeout > o.maxTime || o.run.Base.Limits.Memory > o.maxMemory {
		return nil, o.usage("--timeout is at most --max-timeout, and --memory at most --max-memory")
	}
	b.offer = &mcpserver.Project{Time: o.run.Base.Timeout, Memory: o.run.Base.Limits.Memory, Personal: b.hides != nil}
	var inTree []string
	if b.tree != nil {
		inTree = treeLanguages(b.tree.Lock)
	}
	if mcpserver.Mode(o.tools) == mcpserver.ModePassthrough { // no script is run or found, so no sandbox has to run one
		if b.tree != nil {
			b.offer.Catalog, b.offer.Lock = b.tree.Catalog, b.tree.Lock
			b.offer.Learned, err = b.tree.Learned(p.Cfg)
			tools := chain.New(chain.Options{Catalog: b.tree.Catalog, Servers: p.Servers}).Tools()
			b.offer.Denied = func(customer string) map[string]bool { return p.Policy.Never(tools, customer) }
		}
		return b, err
	}
	if b.offer.Languages, err = b.scriptLanguages(ctx, inTree); err != nil {
		return b, err
	}
	if b.offer.Packages, err = o.run.OfferPackages(ctx, p, b.offer.Languages); err != nil || b.tree == nil {
		return b, err
	}
	if b.offer.Network, err = o.run.Network(p); err != nil {
		return b, err
	}
	f := &finder{tree: b.tree, index: b.index, log: b.log}
	for _, l := range b.offer.Languages[1:] {
		f.also = append(f.also, config.Language(l))
	}
	names, err := o.run.Forms(o.app, p).List()
	if err != nil {
		return b, fmt.Errorf("list the forms: %w", err)
	}
	b.offer.Forms = len(names) > 0
	if b.offer.Workflows, err = b.offered(ctx); err != nil {
		return b, err
	}
	b.offer.Catalog, b.offer.Lock, b.offer.Finder, b.offer.Task = b.tree.Catalog, b.tree.Lock, f, b.selectTools
	if p.Settings.Search.Recommend {
		b.offer.Together = b.together
	}
	return b, nil
}

// packages returns a text that changes when the packages that scripts may import do. If they cannot be used, it is the reason, with which
// runs fail.
func (b *snapshot) packages() string {
	set, err := packages.Of(b.o.app, b.project)
	switch {
	case err != nil:
		return err.Error()
	case set == nil:
		return ""
	}
	return set.Dir
}

// treeLanguages returns the languages of a tree's wrappers, TypeScript first.
func treeLanguages(lock *catalog.Lock) []string {
	has := map[string]bool{}
	for _, s := range lock.Servers {
		for _, t := range s.Tools {
			for l := range t.Names {
				has[l] = true
			}
		}
	}
	var list []string
	for _, l := range []string{mcpserver.TypeScript, mcpserver.Python} {
		if has[l] {
			list = append(list, l)
		}
	}
	return list
}

// customer opens a customer. The empty id is the project itself, whose scripts write to the project's workspace.
func (b *snapshot) customer(ctx context.Context, id string) (*mcpserver.Customer, error) {
	if id == "" {
		return b.own()
	}
	c, err := b.live.customer(b, id)
	if err != nil {
		return nil, err
	}
	out := &mcpserver.Customer{ID: id, Files: c.Files(), Quota: c.Quota(), Room: c.Room, Log: &sessionLog{customer: c, prices: b.o.prices}}
	b.equip(out, c)
	return out, nil
}

// files returns the project's workspace.
func (o *command) files(p *project.Project) string {
	return cmp.Or(o.app.Path(o.run.Base.Workspace), p.Workspace)
}

// own returns the project as a customer.
func (b *snapshot) own() (*mcpserver.Customer, error) {
	files := b.o.files(b.project)
	if err := project.RefuseHome(b.o.app, files); err != nil {
		return nil, err
	}
	if err := customers.RefuseCustomers(b.o.run.Folder(b.o.app, b.project.Base), files); err != nil {
		return nil, err
	}
	if files == b.project.Workspace {
		if err := workspace.Create(files); err != nil {
			return nil, err
		}
	}
	out := &mcpserver.Customer{Files: files, Quota: b.o.run.Base.Limits.Disk}
	b.equip(out, nil)
	return out, nil
}

// place begins a run of a customer and returns its files. It lowers the disk limit to what the customer's quota allows. notes are
// for the model. The caller calls leave after the run.
func (b *snapshot) place(ctx context.Context, job *mcpserver.Job, l *sandbox.Limits) (files string, notes []string, leave func(), err error) {
	c := job.Customer
	if c.ID == "" {
		return c.Files, nil, func() {}, nil
	}
	own, err := b.live.customer(b, c.ID)
	if err != nil {
		return "", nil, nil, err
	}
	lease, err := own.Begin(ctx, l.Disk)
	if err != nil {
		return "", nil, nil, err
	}
	l.Disk = lease.Disk
	for _, m := range lease.Moved {
		notes = append(notes, m.String())
	}
	return lease.Files(), notes, func() { _ = lease.Close() }, nil
}

// environment prepares where a customer's script runs; skills is the folder that the script sees.
func (b *snapshot) environment(ctx context.Context, skills string) (*run.Host, func(), error) {
	p := *b.project
	p.Skills = skills
	return b.o.run.Host(ctx, &p)
}

// warnMisspelt logs the names in the policy that match nothing in the tree.
func (b *snapshot) warnMisspelt(ctx context.Context) error {
	at, done, err := b.environment(ctx, b.project.Skills)
	if err != nil {
		return err
	}
	defer done()
	b.o.run.WarnMisspelt(at, func(line string) { b.log.Warn(line) })
	return nil
}

// shown returns a customer's folder of skills without symbolic links, or empty if there is none.
func (b *snapshot) shown(c *mcpserver.Customer) string {
	if c.ID == "" {
		dir, err := b.o.run.FindSkills(b.project) // there may be none until the first is saved
		if err != nil {
			b.log.Warn("the skills are not shown to scripts", "error", err)
		}
		return dir
	}
	own, err := b.live.customer(b, c.ID)
	if err != nil {
		return ""
	}
	dir, err := filepath.EvalSymlinks(own.Skills())
	if err != nil {
		return ""
	}
	return dir
}

// script returns a run's script with the settings of the server's flags.
func (b *snapshot) script(lang sandbox.Language, code string) (*runner.Script, error) {
	s := b.o.run.Base
	s.Name, s.Code, s.Language = "script"+lang.Extensions()[0], code, lang
	return &s, b.o.run.Complete(&s, b.project)
}

// runJob runs a script.
func (b *snapshot) runJob(ctx context.Context, job *mcpserver.Job) (*runner.Result, error) {
	lang := sandbox.LangTypeScript
	if job.Language == mcpserver.Python {
		lang = sandbox.LangPython
	}
	s, err := b.script(lang, job.Code)
	if err == nil {
		s.Calls.Ending = job.Ending
		s.Calls.Journal, err = b.live.journal(ctx, job.Customer.ID, job.Work)
	}
	return b.runRecorded(ctx, job, s, err)
}

// runRecorded runs the script of a job, unless err says why it cannot, and has a run that fails before it is launched in the record too.
func (b *snapshot) runRecorded(ctx context.Context, job *mcpserver.Job, s *runner.Script, err error) (*runner.Result, error) {
	setClient(&s.Calls, job.Customer, job.Session, job.Client)
	var res *runner.Result
	if err == nil {
		res, err = b.runScript(ctx, job, s)
	}
	if err == nil || s.Calls.Audit == nil {
		return res, err
	}
	at, done, failed := b.environment(ctx, b.project.Skills)
	if failed != nil {
		b.log.Warn("a run that failed is not in the record", "error", failed)
		return res, err
	}
	defer done()
	at.Runner.NotStarted(ctx, s, err)
	return res, err
}

// runScript runs the script of a job.
func (b *snapshot) runScript(ctx context.Context, job *mcpserver.Job, s *runner.Script) (*runner.Result, error) {
	s.Vars, s.Timeout, s.Limits.Memory, s.Risk.Set = job.Vars, job.Timeout, job.Memory, job.Risk
	s.Network = s.Network || job.Network
	files, said, leave, err := b.place(ctx, job, &s.Limits)
	if err != nil {
		return nil, err
	}
	defer leave()
	s.Workspace = files
	skills, err := b.o.run.ShowSkills(ctx, func() (*skill.Store, error) { return b.skillsOf(job.Customer.ID) }, b.project, b.shown(job.Customer), s, func(line string) { said = append(said, line) })
	if err != nil {
		return nil, err
	}
	at, done, err := b.environment(ctx, skills)
	if err != nil {
		return nil, err
	}
	defer done()
	s.Calls.Personal, s.Calls.Tokens = b.personalOf(job.Customer), b.masker(job.Customer)
	s.Calls.Conversation = b.live.clients.Of(job.Customer.ID, job.Session)
	if b.project.Policy.UsesTaint(job.Customer.ID) {
		s.Calls.Known = &policy.Run{}
	}
	s.Stdout, s.Stderr, s.Elicit, s.Watch = job.Stdout, job.Stderr, job.Ask, b.watch(job.Watch)
	answers, own := b.answers(job, s.Calls.Known), s.Answers
	s.Answers, s.Methods = answers.All(), answers.Calling()
	maps.Copy(s.Answers, own) // those of a workflow's program
	s.Trouble = func(err error) {
		b.log.Warn("a run could not keep personal data", "customer", job.Customer.ID, "error", exit.Hinted(err))
	}
	if s.Calls.Approver, err = b.approver(job.Customer, job.CanAsk, job.Ask); err != nil {
		return nil, err
	}
	res, err := b.o.run.RunScript(ctx, at, s, func(line string) { b.log.Debug(line) })
	if ctx.Err() != nil && err != nil {
		return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	if res != nil {
		res.Warnings = append(said, res.Warnings...)
	}
	return res, err
}

// callTool makes one call.
func (b *snapshot) callTool(ctx context.Context, job *mcpserver.CallJob) (*mcpserver.CallAnswer, error) {
	at, done, err := b.environment(ctx, b.shown(job.Customer))
	if err != nil {
		return nil, err
	}
	defer done()
	calls := b.o.run.Calls
	calls.Personal, calls.Tokens = b.personalOf(job.Customer), b.masker(job.Customer)
	setClient(&calls, job.Customer, job.Session, job.Client)
	calls.Conversation = b.live.clients.Of(job.Customer.ID, job.Session)
	tool, err := b.toolID(job.Tool)
	if err == nil {
		calls.Ending = job.Ending
		calls.Journal, err = b.live.journal(ctx, job.Customer.ID, job.Work)
	}
	if err == nil {
		calls.Approver, err = b.approver(job.Customer, job.CanAsk, job.Ask)
	}
	if err != nil {
		at.Runner.Refused(calls, "call_tool", job.Tool, err.Error())
		return nil, err
	}
	res, record, warnings, err := at.Runner.Call(ctx, runner.DirectCall{
		Tool: tool, Args: job.Args, Calls: calls, Elicit: job.Ask, Watch: b.watch(job.Watch),
	})
	if bad, ok := errors.AsType[*call.Error](err); ok {
		return &mcpserver.CallAnswer{Failed: true, Message: bad.Error(), Code: bad.Code, Warnings: warnings, Record: record}, nil
	}
	if err != nil {
		return nil, err
	}
	return &mcpserver.CallAnswer{Raw: res.Raw, Warnings: warnings, Record: record}, nil
}

// refused adds a request to the record that was refused before it became a run or a call.
func (b *snapshot) refused(in mcpserver.Refusal) {
	calls := b.o.run.Calls
	if calls.Audit == nil {
		return
	}
	at, done, err := b.environment(context.Background(), b.project.Skills)
	if err != nil {
		b.log.Warn("a request that was refused is not in the record", "error", err)
		return
	}
	defer done()
	calls.Personal = b.personalOf(in.Customer)
	setClient(&calls, in.Customer, in.Session, in.Client)
	name, reason := "script", in.Reason
	if in.Action == "call_tool" {
		name = in.Tool
	}
	if in.More > 0 {
		reason = fmt.Sprintf("%d requests were refused, the last one: %s", in.More+1, reason)
	}
	at.Runner.Refused(calls, in.Action, name, reason)
}

// setClient says that a client of this server asked for a run or a call.
func setClient(calls *chain.Settings, customer *mcpserver.Customer, session string, c mcpserver.Client) {
	calls.Subject.Customer, calls.Subject.Session = customer.ID, session
	calls.Who.Client, calls.Who.ClientVersion = audit.Text(c.Name), audit.Text(c.Version)
}

// approver returns who is asked about calls that need approval, for one run or one call.
func (b *snapshot) approver(c *mcpserver.Customer, canAsk bool, ask upstream.ElicitFunc) (approve.Approver, error) {
	var client approve.Approver
	if canAsk {
		client = approve.Elicit(ask, "the client's user")
	}
	return b.o.run.Approver(b.o.app, b.project, c.Files, func(line string) { b.log.Warn(line) }, client)
}

// toolID returns the id of a tool that is named by its id, or by another name that no other tool has. An unknown name is returned
// unchanged; the call suggests others.
func (b *snapshot) toolID(name string) (string, error) {
	if b.tree == nil {
		return name, nil
	}
	ids := b.tree.Named(name)
	if len(ids) > 1 {
		return "", fmt.Errorf("%d tools are called %.100q: name the server too, as in %s", len(ids), name, ids[0])
	}
	if len(ids) == 1 {
		return ids[0], nil
	}
	return name, nil
}

// own approves the start of mcprun's own scripts, which make no calls.
type own struct{}

func (own) Approve(context.Context, *approve.Question) (approve.Answer, error) {
	return approve.Answer{Scope: approve.Once, By: "mcprun"}, nil
}

func (b *snapshot) emptyRun(ctx context.Context, language string) error {
	lang, code := sandbox.LangTypeScript, "export {};"
	if language == mcpserver.Python {
		lang, code = sandbox.LangPython, "pass"
	}
	s, err := b.script(lang, code)
	if err != nil {
		return err
	}
	s.Workspace = ""
	s.Calls.Approver, s.Calls.Audit, s.Calls.Plugins = own{}, nil, nil
	at, done, err := b.environment(ctx, "")
	if err != nil {
		return err
	}
	defer done()
	_, err = b.o.run.RunScript(ctx, at, s, func(string) {})
	return err
}

// scriptLanguages returns the languages that --languages names, and fails if no sandbox runs one of them. Without the flag it
// returns the tree's languages for which there is a sandbox.
func (b *snapshot) scriptLanguages(ctx context.Context, tree []string) ([]string, error) {
	named := slices.Compact(slices.Clone(b.o.languages))
	wanted := named
	if len(wanted) == 0 {
		wanted = tree
	}
	if len(wanted) == 0 {
		wanted = []string{mcpserver.TypeScript, mcpserver.Python}
	}
	var can []string
	var firstErr error
	for _, language := range wanted {
		err := b.o.run.CanRun(ctx, b.project, sandbox.Language(language))
		switch {
		case err == nil:
			can = append(can, language)
		case len(named) > 0:
			return nil, fmt.Errorf("--languages %s: %w", language, err)
		default:
			b.log.Info("a language is not offered", "language", language, "error", err)
			if firstErr == nil {
				firstErr = err
			}
		}
	}
	if len(can) == 0 {
		return nil, firstErr
	}
	return can, nil
}
