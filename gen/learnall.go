package gen

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/jsonschema"
	"github.com/mcpgen/mcpgen/gen/learn"
	"github.com/mcpgen/mcpgen/gen/tree"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

// LearnedTool is what was learned about one of several tools, or the reason why nothing was.
type LearnedTool struct {
	Tool string
	// Before is what was known about its replies, and After what is known now.
	Before, After *catalog.Learned
	// Skipped says why nothing was learned about the tool; it is empty if something was, or if nothing is new. Detail says more about this
	// tool; it may be foreign text.
	Skipped, Detail string
}

// Changed reports whether the tool's type has changed.
func (l *LearnedTool) Changed() bool {
	return l.After != nil && (l.Before == nil || !bytes.Equal(l.Before.Schema, l.After.Schema) || l.Before.JSON != l.After.JSON)
}

// LearnedTools is what was learned about several tools.
type LearnedTools struct {
	Tools []LearnedTool
	// Sync is the report of what [LearnedTools.Write] would write and, afterwards, of what it wrote. It is nil if nothing has changed.
	Sync *Report

	opts    Options
	changes []relearn
}

// Changed returns the tools whose types have changed.
func (r *LearnedTools) Changed() []LearnedTool {
	return slices.DeleteFunc(slices.Clone(r.Tools), func(l LearnedTool) bool { return !l.Changed() })
}

// Diff returns a unified diff of the wrappers in one of the tree's languages. It contains foreign text.
func (r *LearnedTools) Diff() []byte {
	if r.Sync == nil {
		return nil
	}
	for _, l := range Languages() {
		var steps []tree.Step
		for _, step := range r.Sync.Files {
			if path.Ext(step.Path) == l.Ext && !strings.HasPrefix(path.Base(step.Path), "index.") && path.Base(step.Path) != "__init__.py" {
				steps = append(steps, step)
			}
		}
		if len(steps) > 0 {
			return tree.Diff(steps)
		}
	}
	return nil
}

// minReplies is the least number of replies from which a type is learned, because what fewer have in common may be chance.
const minReplies = 3

// LearnFromRuns learns types from the shapes that runs have recorded, for the tools of the tree with these ids, or for all tools if ids is
// empty. A type that was learned before is widened. Nothing is written before [LearnedTools.Write].
func LearnFromRuns(ctx context.Context, opts Options, shapes []learn.Proposal, ids []string) (*LearnedTools, error) {
	t, err := Open(opts)
	if err != nil {
		return nil, err
	}
	known, err := catalog.ReadLearned(t.Dir)
	if err != nil {
		return nil, err
	}
	all, err := t.Learnable()
	if err != nil {
		return nil, err
	}
	if all, err = t.chosen(all, ids); err != nil {
		return nil, err
	}
	report := &LearnedTools{}
	for _, l := range all {
		one := LearnedTool{Tool: l.Tool, Before: before(known, l)}
		at := slices.IndexFunc(shapes, func(p learn.Proposal) bool { return p.Tool == learn.Tool{Server: l.server.Key, Name: l.tool.Name} })
		switch {
		case at < 0:
			one.Skipped = "no run has called it"
		case shapes[at].Digest != l.tool.Digest:
			one.Skipped = "it has changed since runs called it"
		case shapes[at].Replies < minReplies:
			one.Skipped, one.Detail = fmt.Sprintf("runs have seen fewer than %d replies", minReplies), fmt.Sprint(shapes[at].Replies)
		default:
			one.propose(&shapes[at])
		}
		report.Tools = append(report.Tools, one)
	}
	return report, report.plan(ctx, opts, all)
}

// before returns what is known about a tool.
func before(known map[string]map[string]catalog.Learned, l Learnable) *catalog.Learned {
	out, ok := known[l.server.Key][l.tool.Name]
	if !ok {
		return nil
	}
	var schema bytes.Buffer // the file is indented
	if json.Compact(&schema, out.Schema) == nil {
		out.Schema = schema.Bytes()
	}
	return &out
}

// chosen returns the tools that the names mean, in the order of the names, or all if there are no names.
func (t *Tree) chosen(all []Learnable, names []string) ([]Learnable, error) {
	if len(names) == 0 {
		return all, nil
	}
	var out []Learnable
	for _, name := range names {
		found, err := t.Find(name)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(all, func(l Learnable) bool { return l.Tool == found.Tool.ID })
		if at < 0 {
			return nil, declares(found.Tool.ID)
		}
		out = append(out, all[at])
	}
	return out, nil
}

// propose merges what runs have seen with what is known.
func (l *LearnedTool) propose(p *learn.Proposal) {
	out := catalog.Learned{Digest: p.Digest, Replies: p.Replies, JSON: p.Text}
	var known json.RawMessage
	if l.Before != nil {
		known, out.Replies, out.JSON = l.Before.Schema, max(out.Replies, l.Before.Replies), out.JSON || l.Before.JSON
	}
	schema, err := p.Schema(known)
	switch {
	case err != nil:
		l.Skipped, l.Detail = "what the tree has of it is damaged; drop it with --forget", err.Error()
		return
	case string(schema) == "{}":
		l.Skipped = "its replies have nothing in common"
		return
	}
	if out.Schema = schema; l.Before != nil && l.Before.Digest == out.Digest && bytes.Equal(l.Before.Schema, schema) && l.Before.JSON == out.JSON {
		out = *l.Before // so that a higher number alone changes no file
	}
	l.After = &out
}

// plan finds out how the tree would change.
func (r *LearnedTools) plan(ctx context.Context, opts Options, of []Learnable) error {
	r.opts = opts
	for i, l := range r.Tools {
		if l.After != nil && l.After != l.Before && (l.Before == nil || l.Changed() || l.Before.Digest != l.After.Digest) {
			r.changes = append(r.changes, relearn{of[i].server.Key, of[i].tool.Name, l.After})
		}
	}
	return r.make(ctx, true)
}

// Write generates the tree again with the changes.
func (r *LearnedTools) Write(ctx context.Context) error { return r.make(ctx, false) }

func (r *LearnedTools) make(ctx context.Context, check bool) error {
	if len(r.changes) == 0 {
		return nil
	}
	var err error
	r.Sync, err = relearned(ctx, r.opts, check, r.changes)
	return err
}

const (
	// learnAllTime bounds one call of [LearnAll], if the configuration has no shorter time-out.
	learnAllTime = 30 * time.Second
	// learnAllServers is the number of servers that LearnAll asks at once. Each server gets one call at a time.
	learnAllServers = 4
	// learnAllTotal bounds the duration of LearnAll.
	learnAllTotal = 10 * time.Minute
)

// Reasons why [LearnAll] does not call a tool.
const (
	skipWrites    = "it doesn't say that it only reads"
	skipUntrusted = "its server says that it only reads, and is not trusted; name it, or set trusted or read_only in mcpgen.yaml"
	skipArguments = "a required argument is not known; give --args"
	skipKnown     = "it was learned before; name it to learn more"
	skipPolicy    = "the policy refuses the call"
	skipFailed    = "the tool reported an error"
	skipServer    = "the server could not be asked"
	skipTime      = "the time was up"
)

// AskPlan splits the tools without a declared output into those that [LearnAll] would call and the others, with the reasons. As in a
// policy, a tool counts as read-only if the configuration says so, or if its server says so and is trusted.
func (t *Tree) AskPlan(cfg *config.Config) (ask []Learnable, skipped []LearnedTool, err error) {
	all, err := t.Learnable()
	if err != nil {
		return nil, nil, err
	}
	for _, l := range all {
		var server config.Server
		if at := slices.IndexFunc(cfg.Servers, func(s config.Server) bool { return s.Key == l.server.Key }); at >= 0 {
			server = cfg.Servers[at]
		}
		reads := config.Believed(server.ReadOnly, server.Trusted, l.tool.Name, l.tool.Hints.ReadOnly)
		switch {
		case l.Replies > 0:
			skipped = append(skipped, LearnedTool{Tool: l.Tool, Skipped: skipKnown})
		case !reads && l.ReadOnly:
			skipped = append(skipped, LearnedTool{Tool: l.Tool, Skipped: skipUntrusted})
		case !reads:
			skipped = append(skipped, LearnedTool{Tool: l.Tool, Skipped: skipWrites})
		case l.Arguments == nil:
			skipped = append(skipped, LearnedTool{Tool: l.Tool, Skipped: skipArguments, Detail: strings.Join(l.Unknown, ", ")})
		default:
			ask = append(ask, l)
		}
	}
	return ask, skipped, nil
}

// LearnAll calls each of the tools, which come from [Tree.AskPlan], once with the known arguments, and learns types from the answers. It
// asks several servers at once, for at most 10 minutes, and writes nothing before [LearnedTools.Write]. If one tool fails, the report gives
// the reason, and the others continue. permit is as in [LearnOptions].
func LearnAll(ctx context.Context, opts Options, up UpstreamOptions, ask []Learnable, permit func(ctx context.Context, tool string, args json.RawMessage) error) (*LearnedTools, error) {
	cfg, err := LoadConfig(opts)
	if err != nil {
		return nil, err
	}
	if err := opts.consent(ctx, cfg); err != nil {
		return nil, err
	}
	report := &LearnedTools{Tools: make([]LearnedTool, len(ask))}
	byServer := map[string][]int{}
	for i, l := range ask {
		report.Tools[i].Tool = l.Tool
		if permit != nil {
			if err := permit(ctx, l.Tool, l.Arguments); err != nil {
				report.Tools[i].Skipped, report.Tools[i].Detail = skipPolicy, err.Error()
				continue
			}
		}
		byServer[l.server.Key] = append(byServer[l.server.Key], i)
	}
	timed, cancel := context.WithTimeout(ctx, learnAllTotal)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(learnAllServers)
	var mu sync.Mutex
	for key, tools := range byServer {
		group.Go(func() error {
			a := &asking{opts: opts, up: up, key: key}
			defer a.close()
			for _, i := range tools {
				one := a.ask(timed, ask[i])
				mu.Lock()
				report.Tools[i] = one
				mu.Unlock()
			}
			return nil
		})
	}
	_ = group.Wait() // failures are in the report
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return report, report.plan(ctx, opts, ask)
}

// asking is a session with a server for one call at a time. If a call ends the session, it is reopened once.
type asking struct {
	opts    Options
	up      UpstreamOptions
	key     string
	server  config.Server
	session *upstream.Session
	failed  error // error of connecting
}

func (a *asking) close() {
	if a.session != nil {
		_ = a.session.Close()
	}
	a.session = nil
}

// ask calls a tool and learns from its answer.
func (a *asking) ask(ctx context.Context, l Learnable) LearnedTool {
	out := LearnedTool{Tool: l.Tool}
	skip := func(why string, err error) LearnedTool {
		out.Skipped, out.Detail = why, err.Error()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			out.Skipped = skipTime
		}
		return out
	}
	if a.session == nil && a.failed == nil {
		var options *upstream.Options
		if a.server, options, a.failed = configured(ctx, a.opts, a.up, a.key); a.failed == nil {
			a.session, a.failed = upstream.Connect(ctx, a.server, options)
		}
	}
	if a.failed != nil {
		return skip(skipServer, a.failed)
	}
	server := a.server
	if server.Timeout == 0 || server.Timeout > learnAllTime {
		server.Timeout = learnAllTime
	}
	answer, err := callOnce(ctx, a.session, server, l.tool.Name, l.Arguments)
	if err != nil {
		a.close()
		return skip(skipServer, err)
	}
	report := LearnReport{Tool: l.Tool}
	infer := func(replies []learn.Reply, isData func(string) bool) (json.RawMessage, error) {
		return learn.InferUnseen(replies, isData, learn.Words(l.tool.Description, l.tool.Input, l.tool.Name, l.tool.Title))
	}
	if err := report.learn(l.tool, []learn.Answer{{Raw: answer}}, a.session.Conceal, infer); err != nil {
		return skip(skipFailed, err)
	}
	out.After = report.After
	return out
}

// knownArguments returns a value for each required parameter of a tool from its schema: the only allowed value, the default, or the first
// example. unknown lists the parameters without one.
func knownArguments(input json.RawMessage) (args json.RawMessage, unknown []string) {
	schema, _ := jsonschema.Parse(input, jsonschema.Unlimited) // nil requires nothing; the validator decides
	out := jsonschema.Record()
	for _, name := range jsonschema.RequiredNames(schema) {
		p := schema.Get("properties").Get(name)
		value := cmp.Or(p.Get("default"), p.Get("examples").Child("0"))
		if only, listed := jsonschema.Values(p); listed && len(only) == 1 {
			value = only[0]
		}
		if value == nil {
			unknown = append(unknown, name)
		} else {
			out.Set(name, value)
		}
	}
	return jsonschema.Record(out.Sorted()...).AppendJSON(nil), unknown
}
