package chain

import (
	"cmp"
	"io"
	"time"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/journal"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/plugin"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/record"
)

// defaultMaxResult is the default of Settings.MaxResult.
const defaultMaxResult = 1 << 20

// defaultParallel is the default limit of calls in flight, of one run and at one server.
const defaultParallel = 64

// Settings are the settings of the tool calls of one run. The zero value is valid.
type Settings struct {
	// AllowDrift allows calls of tools whose live definition differs from the locked one.
	AllowDrift bool
	// StrictOutput makes a result that does not match its tool's output schema an error instead of a warning.
	StrictOutput bool
	// DryRun makes only calls of read-only tools; the others are listed.
	DryRun bool
	// Timeout bounds one call from the moment it is sent. Progress of the server restarts it, and it pauses during an
	// elicitation. Zero: the server's setting, or else 60 s.
	Timeout time.Duration
	// MaxTime bounds one call regardless of its progress. Zero: ten times Timeout.
	MaxTime time.Duration
	// Parallel bounds the calls in flight; others wait. Zero: 64.
	Parallel int
	// MaxResult is the size in bytes of the largest result that the script gets as a value. A larger one is written to a file
	// of the workspace, and the script gets a handle. Zero: 1 MiB. Negative, or without a workspace: only the limit of the bridge.
	MaxResult int64
	// Policy decides which calls are made. Nil: policy.Default().
	Policy policy.Decider
	// Plugins are asked before and after each call, and by package runner before and after a script. They can only make things stricter. Nil: none
	// is asked.
	Plugins *plugin.Set
	// Unguarded says in the record that the guardrails are switched off.
	Unguarded bool
	// Approver asks a person about calls that the policy wants approved. Nil: nobody can be asked, and they are refused.
	Approver approve.Approver
	// Personal says what is done with personal data. Nil: scripts and the model get it as it is.
	Personal *Personal
	// Issued returns a token in a text that stands for a value, or "". If there is no Personal, a call with one in its arguments is refused,
	// unless the script has used one of Run.Answers, such as the one that gives it tokens. Nil: tokens are sent as they are.
	Issued func(text string) string
	// Tokens replaces personal data in records of the run, and in questions that pass through the model's client, if there is no Personal.
	// Nil: the run gets its own.
	Tokens pii.Masker
	// Subject is what the policy knows of the run.
	Subject policy.Subject
	// Conversation is what the client of this run did before it and in parallel; see policy.Run. Nil: nothing.
	Conversation *policy.Run
	// Known receives what the policy knows about this run. May be nil.
	Known *policy.Run
	// Audit is the record of what the run does, and Who says on whose behalf. Personal data has tokens there whatever Personal says. A nil Audit
	// records nothing. If Who has no customer or session, it is that of Subject.
	Audit *audit.Log
	Who   audit.Who
	// Machine is where calls are made, for the record.
	Machine audit.Machine
	// AuditTokens replaces personal data in the record. Nil: the run gets its own; see [Chain.RecordMask].
	AuditTokens pii.Masker
	// Journal keeps how calls end, so that the run can be continued after its process has died; see package journal. A dry run and a replay do
	// not use it. Nil: nothing is kept.
	Journal *journal.Journal
	// Suspend lets a script that does nothing but wait end its run with [ErrSuspended], if that is for a value, a person, or for longer than this
	// time. It is continued with its Journal, without which Suspend does not count. Zero: the run goes on.
	Suspend time.Duration
	// Workflow is the id of the workflow of which the run is a part. Empty: it is of none.
	Workflow string
	// Ending is closed when the process ends, and the run goes on in another one. Calls that have not been sent by then are not sent here. It
	// counts with a Journal only, and may be nil.
	Ending <-chan struct{}
	// Cache answers calls of read-only tools, and keeps their results. A dry run and a replay do not use it. Nil: every call is sent.
	Cache *cache.Cache
	// NoCache sends calls that Cache could answer, and keeps their results there.
	NoCache bool
	// Observer keeps shapes of the results of tools without an output schema. Nil: no shapes are kept.
	Observer Observer
	// Details asks for CallRecord.Details.
	Details bool
	// Record receives one line of JSON for each call, with secrets and personal data masked. May be nil.
	Record io.Writer
	// Replay is a recording made by Record. Calls are answered from it and not made. May be nil.
	Replay io.Reader
	// ReplayLoose answers by tool and arguments in any order. Otherwise the calls of each tool must come in the recorded order.
	ReplayLoose bool
}

// Masker returns Tokens, which it sets if need be.
func (s *Settings) Masker() pii.Masker {
	switch {
	case s.Personal != nil:
		s.Tokens = s.Personal.Outlet
	case s.Tokens == nil:
		s.Tokens = pii.New()
	}
	return s.Tokens
}

// RecordMask returns what removes secrets and personal data from what the record has of a run with these settings. Values in the vault have its
// tokens there. The record adds none to the vault, which has room for a number of them; see [pii.Outlet.Peek].
func (ch *Chain) RecordMask(s *Settings) record.Mask {
	switch {
	case s.AuditTokens != nil:
	case s.Personal != nil:
		s.AuditTokens = s.Personal.Outlet.Peek()
	default:
		s.AuditTokens = pii.NewPrivate()
	}
	return ch.Mask(s.AuditTokens)
}

// Entry returns an entry of the record about a run with these settings.
func (s *Settings) Entry(kind audit.Kind, run string, body any) audit.Entry {
	who := s.Who
	who.Customer, who.Session = cmp.Or(who.Customer, audit.Text(s.Subject.Customer)), cmp.Or(who.Session, audit.Text(s.Subject.Session))
	return audit.Entry{Kind: kind, Run: run, Who: who, Body: body}
}

// withDefaults fills in the defaults, except for the timeouts, which depend on the server.
func (s Settings) withDefaults() Settings {
	if s.Parallel <= 0 {
		s.Parallel = defaultParallel
	}
	if s.Policy == nil {
		s.Policy = policy.Default()
	}
	s.Masker()
	if s.MaxResult == 0 {
		s.MaxResult = defaultMaxResult
	}
	return s
}

// ServerSettings are the settings of calls to one server.
type ServerSettings struct {
	// Parallel bounds the calls of all runs in flight at this server. Zero: 64.
	Parallel int
	// Timeout and MaxTime are as in Settings. Zero: not set.
	Timeout, MaxTime time.Duration
	// Trusted means that the annotations of the server's tools are believed.
	Trusted bool
	// Idempotent and ReadOnly are globs for tool names. A person vouches that the tools may be called twice, or that they change nothing.
	Idempotent, ReadOnly []string
	// DeclaredOnly refuses arguments that the schema of the tool does not declare.
	DeclaredOnly bool
	// TextResults leaves text results that contain JSON as texts.
	TextResults bool
}

// ServersOf returns a configuration's settings of calls, by server.
func ServersOf(cfg *config.Config) map[string]ServerSettings {
	out := make(map[string]ServerSettings, len(cfg.Servers))
	for _, s := range cfg.Servers {
		out[s.Key] = ServerSettings{
			Parallel: s.Parallel, Timeout: s.Timeout, MaxTime: s.MaxTime, Trusted: s.Trusted,
			Idempotent: s.Idempotent, ReadOnly: s.ReadOnly, DeclaredOnly: s.Arguments == config.ArgumentsDeclared, TextResults: s.Results == config.ResultsText,
		}
	}
	return out
}
