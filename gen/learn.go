package gen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/exit"
	"github.com/mcpgen/mcpgen/gen/ir"
	"github.com/mcpgen/mcpgen/gen/learn"
	"github.com/mcpgen/mcpgen/gen/render"
	"github.com/mcpgen/mcpgen/gen/schema"
	"github.com/mcpgen/mcpgen/gen/schema/validate"
	"github.com/mcpgen/mcpgen/gen/upstream"
)

// LearnOptions are the settings of [Learn].
type LearnOptions struct {
	// Tool is any name of a tool that [Tree.Find] accepts.
	Tool string
	// Calls are argument objects. The tool is called with each, one after the other.
	Calls []json.RawMessage
	// Replies are recorded answers, in any form that [learn.ReadReply] knows, or recordings of calls.
	Replies []json.RawMessage
	// Forget drops what was learned about the tool before.
	Forget bool
	// AllowWrites also allows calling a tool without the hint that it is read-only.
	AllowWrites bool
	// Permit decides about each call before any is made. An error is the reason why a call must not be made. Nil: all are made.
	Permit func(ctx context.Context, tool string, args json.RawMessage) error
	// Check writes nothing.
	Check bool
}

// LearnReport is what [Learn] found and did.
type LearnReport struct {
	// Tool is the tool's id. Key identifies the shapes that runs have recorded for it.
	Tool string
	Key  learn.Tool
	// Before is what was known about its replies, and After what is known now. Nil: nothing.
	Before, After *catalog.Learned
	// Failed counts the answers in which the tool reported an error. They are not learned from.
	Failed int
	// Why is the text of the first of these answers; it is foreign text.
	Why string
	// Sync is the report about writing the tree.
	Sync *Report
}

// unlearned returns the error that nothing can be learned about a tool.
func unlearned(tool, problem, remedy string) error {
	return &Error{Message: fmt.Sprintf("learn %q: %s", tool, problem), Remedy: remedy, Code: exit.Usage}
}

func declares(tool string) error {
	return unlearned(tool, "its server declares what it returns", "there is nothing to learn: the wrapper has the declared type")
}

// learnTimeout bounds a call if the configuration has no time-out.
const learnTimeout = 2 * time.Minute

// Learn infers the output type of a tool whose server declares none from answers: recorded ones, and those to calls that it makes. The
// result is merged with what was learned before and stored in the tree, which is then rendered again without asking any server. Only names
// and kinds are stored, and no value in an answer.
//
// A tool is called only if it has the hint that it is read-only, or if AllowWrites is set. Arguments must fit its schema. If a call cannot
// be made, Learn stops, and nothing is written.
func Learn(ctx context.Context, opts Options, up UpstreamOptions, how LearnOptions) (*LearnReport, error) {
	tree, err := Open(opts)
	if err != nil {
		return nil, err
	}
	found, err := tree.Find(how.Tool)
	if err != nil {
		return nil, err
	}
	server, tool := found.Server, found.Tool
	if tool.Output != nil && !how.Forget {
		return nil, declares(tool.ID)
	}
	recording := learn.Recorded(how.Replies, tool.ID)
	answers := recording.Answers
	if recording.Found && len(answers) == 0 {
		return nil, unanswered(tool.ID, recording.Calls)
	}
	conceal := func(text string) string { return text }
	if len(how.Calls) > 0 {
		cfg, err := LoadConfig(opts)
		if err != nil {
			return nil, err
		}
		if err := opts.consent(ctx, cfg); err != nil { // before anybody is asked about a call
			return nil, err
		}
		called, hide, err := callAll(ctx, opts, up, server.Key, tool, how)
		if err != nil {
			return nil, err
		}
		answers, conceal = append(answers, called...), hide
	}
	report := &LearnReport{Tool: tool.ID, Key: learn.Tool{Server: server.Key, Name: tool.Name}}
	known, err := catalog.ReadLearned(tree.Dir)
	if err != nil {
		return nil, err
	}
	if before, ok := known[server.Key][tool.Name]; ok {
		report.Before, report.After = &before, &before
	}
	if how.Forget {
		report.After = nil
	}
	if err := report.learn(tool, answers, conceal, learn.Infer); err != nil {
		return nil, err
	}
	report.Sync, err = relearned(ctx, opts, how.Check, []relearn{{server.Key, tool.Name, report.After}})
	return report, err
}

// relearn is what is known about a tool from now on; nil means nothing.
type relearn struct {
	server, tool string
	now          *catalog.Learned
}

// relearned generates the tree again with what is known about some tools, without asking any server.
func relearned(ctx context.Context, opts Options, check bool, changes []relearn) (*Report, error) {
	opts.Offline, opts.Check, opts.Lister = true, check, nil
	opts.relearn = func(known map[string]map[string]catalog.Learned) {
		for _, c := range changes {
			if known[c.server] == nil {
				known[c.server] = map[string]catalog.Learned{}
			}
			delete(known[c.server], c.tool)
			if c.now != nil {
				known[c.server][c.tool] = *c.now
			}
		}
	}
	return Sync(ctx, opts)
}

// unanswered returns the error for a recording without an answer of a tool.
func unanswered(tool string, calls int) error {
	switch calls {
	case 0:
		return unlearned(tool, "no call of it was recorded", "record a run that calls it: mcprun --record FILE SCRIPT")
	case 1:
		return unlearned(tool, "the call of it that was recorded got no answer", "record a run in which it answers: mcprun --record FILE SCRIPT")
	}
	problem := fmt.Sprintf("none of the %d calls of it that were recorded got an answer", calls)
	return unlearned(tool, problem, "record a run in which it answers: mcprun --record FILE SCRIPT")
}

// learn merges the type of the answers into what is known. It drops names that conceal changes, because they are secret.
func (r *LearnReport) learn(tool *catalog.Tool, answers []learn.Answer, conceal func(text string) string, infer func([]learn.Reply, func(string) bool) (json.RawMessage, error)) error {
	var known []learn.Reply
	out := catalog.Learned{Digest: tool.Digest}
	for i, answer := range answers {
		reply, err := learn.ReadReply(answer.Raw)
		if errors.Is(err, learn.ErrFailed) {
			if r.Failed++; r.Failed == 1 {
				r.Why = conceal(err.Error())
			}
			continue
		}
		if err != nil {
			return unlearned(tool.ID, fmt.Sprintf("reply %d: %v", i+1, err), "give each reply as one JSON value: the tool's result, or what a script gets of it")
		}
		reply.Masked = answer.Masked
		known = append(known, reply)
		out.JSON = out.JSON || reply.Text
	}
	if len(known) == 0 {
		if r.Failed > 0 {
			return unlearned(tool.ID, r.Why, "give arguments that it accepts")
		}
		return nil
	}
	shape, err := infer(known, func(name string) bool { return conceal(name) != name })
	if err != nil {
		return unlearned(tool.ID, err.Error(), "give each reply as one JSON value")
	}
	out.Replies, out.Schema = len(known), shape
	if r.After != nil {
		out.Replies += r.After.Replies
		out.JSON = out.JSON || r.After.JSON
		if out.Schema, err = learn.Merge(r.After.Schema, shape); err != nil {
			return unlearned(tool.ID, fmt.Sprintf("what the tree has of it is damaged: %v", err), "drop it with --forget")
		}
	}
	r.After = &out
	return nil
}

// callAll calls a tool with each of the arguments and returns its answers. It also returns a function that removes the values of
// the configuration's variables from a text: a server may repeat them, and learned names are checked in to version control.
func callAll(ctx context.Context, opts Options, up UpstreamOptions, key string, tool *catalog.Tool, how LearnOptions) ([]learn.Answer, func(string) string, error) {
	if reads := tool.Hints.ReadOnly; (reads == nil || !*reads) && !how.AllowWrites {
		return nil, nil, unlearned(tool.ID, "it doesn't say of itself that it only reads, so it was not called", "give recorded replies with --replies, or call it all the same with --allow-writes")
	}
	validator, err := validate.Compile(tool.Input)
	if err != nil {
		return nil, nil, unlearned(tool.ID, fmt.Sprintf("its input schema can't be checked: %v", err), "give recorded replies with --replies")
	}
	for i, args := range how.Calls {
		if err := validator.Validate(args); err != nil {
			return nil, nil, unlearned(tool.ID, fmt.Sprintf("arguments %d: %v", i+1, err), fmt.Sprintf(`"mcpgen show %s" has its parameters`, tool.ID))
		}
		if how.Permit == nil {
			continue
		}
		if err := how.Permit(ctx, tool.ID, args); err != nil {
			return nil, nil, &Error{Err: err, Remedy: fmt.Sprintf(`allow it in mcpgen.yaml; or approve it where you can be asked, with "mcprun call --record FILE %s", and learn with --replies FILE`, tool.ID), Code: exit.Usage}
		}
	}
	srv, options, err := configured(ctx, opts, up, key)
	if err != nil {
		return nil, nil, err
	}
	session, err := upstream.Connect(ctx, srv, options)
	if err != nil {
		return nil, nil, failed(ctx, err)
	}
	defer func() { _ = session.Close() }()
	var answers []learn.Answer
	for _, args := range how.Calls {
		answer, err := callOnce(ctx, session, srv, tool.Name, args)
		if err != nil {
			return nil, nil, failed(ctx, err)
		}
		answers = append(answers, learn.Answer{Raw: answer})
	}
	return answers, session.Conceal, nil
}

func callOnce(ctx context.Context, session *upstream.Session, srv config.Server, tool string, args json.RawMessage) (json.RawMessage, error) {
	limit := srv.Timeout
	if limit == 0 {
		limit = learnTimeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("server %q did not answer within %s", srv.Key, config.FormatDuration(limit)))
	defer cancel()
	result, err := session.Call(ctx, tool, args, nil)
	if err != nil {
		return nil, err
	}
	return result.Raw, nil
}

// failed returns err with the exit code of a server that failed, unless ctx has ended.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return &Error{Code: exit.Unreachable, Err: err}
}

// learnedOf returns the learned types of a server's tools that declare no output.
func (s *job) learnedOf(server *catalog.Server) map[string]catalog.Learned {
	out := map[string]catalog.Learned{}
	for _, t := range server.Tools {
		if known, ok := s.learned[server.Key][t.Name]; ok && t.Output == nil {
			out[t.Name] = known
		}
	}
	return out
}

// useLearned sets the output of a tool to the learned type, if there is one.
func (s *job) useLearned(place, server string, t *catalog.Tool, out *render.Tool) {
	known, ok := s.learned[server][t.Name]
	if !ok || known.JSON && out.TextResult {
		return
	}
	if known.Digest != t.Digest {
		s.report.Warnings = append(s.report.Warnings, Warning{
			Place: place, Code: "learned-before", Message: "its output was learned from an earlier definition; learn it again, or drop it with \"mcpgen learn --forget\"",
		})
	}
	output, notes := schema.Convert(known.Schema)
	s.warn(place+" as learned", notes)
	widen(&output)
	if output.Root != (ir.Unknown{}) {
		out.Output, out.Learned = &output, known.Replies
	}
}

// widen makes a learned type say no more than the replies showed: where all of them had null, the next may have any value.
func widen(learned *ir.Schema) {
	var algebra ir.Algebra
	var wider func(t ir.Type) ir.Type
	wider = func(t ir.Type) ir.Type {
		if t == (ir.Null{}) {
			return ir.Unknown{}
		}
		union, ok := t.(ir.Union)
		if !ok {
			return algebra.Replace(t, wider)
		}
		return algebra.Replace(union, func(member ir.Type) ir.Type {
			if member == (ir.Null{}) {
				return member
			}
			return wider(member)
		})
	}
	learned.Root = wider(learned.Root)
	for i := range learned.Defs {
		learned.Defs[i].Type = wider(learned.Defs[i].Type)
	}
}

// Learned returns the learned types of tools that declare no output, by tool id, as the wrappers have them. It leaves out types of JSON in
// texts that, by the configuration, stay texts.
func (t *Tree) Learned(cfg *config.Config) (map[string]catalog.Learned, error) {
	known, err := catalog.ReadLearned(t.Dir)
	if err != nil {
		return nil, err
	}
	out := map[string]catalog.Learned{}
	for _, s := range t.Catalog.Servers {
		asText := slices.ContainsFunc(cfg.Servers, func(c config.Server) bool { return c.Key == s.Key && c.Results == config.ResultsText })
		for _, tool := range s.Tools {
			if learned, ok := known[s.Key][tool.Name]; ok && tool.Output == nil && !(learned.JSON && asText) {
				out[tool.ID] = learned
			}
		}
	}
	return out, nil
}

// Learnable is a tool whose server declares no output.
type Learnable struct {
	Tool string `json:"tool"`
	// Replies is the number of replies from which its type was learned.
	Replies int `json:"replies"`
	// ReadOnly is the tool's hint. NoArguments reports whether it can be called without arguments.
	ReadOnly    bool `json:"readOnly"`
	NoArguments bool `json:"noArguments"`
	// Arguments are taken from its schema: for each required parameter the only allowed value, the default, or the first example. It is nil
	// if the schema has none of these for a required parameter.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Unknown are the required parameters without a known value. The names are the server's.
	Unknown []string `json:"unknown,omitempty"`

	server *catalog.Server
	tool   *catalog.Tool
}

// Learnable lists the tools of the tree whose servers declare no output.
func (t *Tree) Learnable() ([]Learnable, error) {
	known, err := catalog.ReadLearned(t.Dir)
	if err != nil {
		return nil, err
	}
	out := []Learnable{}
	for i := range t.Catalog.Servers {
		s := &t.Catalog.Servers[i]
		for j := range s.Tools {
			tool := &s.Tools[j]
			if tool.Output != nil {
				continue
			}
			l := Learnable{Tool: tool.ID, Replies: known[s.Key][tool.Name].Replies, server: s, tool: tool}
			l.ReadOnly = tool.Hints.ReadOnly != nil && *tool.Hints.ReadOnly
			if v, err := validate.Compile(tool.Input); err == nil {
				l.NoArguments = v.Validate(json.RawMessage(`{}`)) == nil
				args, unknown := knownArguments(tool.Input)
				if l.Unknown = unknown; len(unknown) == 0 && v.Validate(args) == nil {
					l.Arguments = args
				}
			}
			out = append(out, l)
		}
	}
	return out, nil
}
