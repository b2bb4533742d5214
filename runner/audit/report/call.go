package report

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/call"
)

// Call is what the record knows about a call.
type Call struct {
	Call        int             `json:"call"` // its number in the run, from 1
	Time        time.Time       `json:"time"` // when it was sent, or refused
	Tool        string          `json:"tool"`
	Hint        audit.Text      `json:"hint"` // what the tool does: "reads", "writes" or "destructive"
	Arguments   json.RawMessage `json:"arguments"`
	Effect      audit.Text      `json:"effect"` // of the rule: "allow", "ask" or "deny"
	Rule        audit.Text      `json:"rule"`
	By          audit.Text      `json:"by"`      // who approved or refused it
	Outcome     string          `json:"outcome"` // [Unknown], or as in [audit.CallEnd]
	Error       audit.Text      `json:"error"`
	DurationMS  *float64        `json:"durationMs"`
	ResultBytes *int            `json:"resultBytes"`
	// Cached says that no server was asked: the result had been in the cache for AgeMS.
	Cached  bool           `json:"cached,omitempty"`
	AgeMS   float64        `json:"ageMs,omitempty"`
	Plugins []audit.Plugin `json:"plugins,omitempty"`
}

// callKey names a call.
type callKey struct {
	run  string
	call int
}

// start adds what the row before a call says.
func (c *Call) start(r *row, b *audit.CallStart) {
	c.Call, c.Time, c.Tool, c.Hint = b.Call, r.Time, b.Tool, b.Hint
	c.decided(b)
	if c.Outcome == "" {
		c.Outcome = Unknown
	}
}

// decided adds what the row before a call says about what was decided.
func (c *Call) decided(b *audit.CallStart) {
	c.Arguments, c.Effect, c.Rule, c.By = known(b.Arguments), b.Effect, b.Rule, b.By
}

// finish adds what the row after a call says.
func (c *Call) finish(r *row, b *audit.CallEnd) {
	if c.Tool == "" { // refused, cached, or its beginning is not known
		c.start(r, &audit.CallStart{Call: b.Call, Tool: b.Tool, Hint: b.Hint, Arguments: b.Arguments, Effect: b.Effect, Rule: b.Rule, By: b.By})
	}
	c.Plugins = b.Plugins
	c.Outcome, c.Error, c.DurationMS, c.ResultBytes = b.Outcome, b.Error, &b.DurationMS, &b.ResultBytes
	c.Cached, c.AgeMS = b.Cached, b.AgeMS
}

// changes reports whether the call may have changed something: it may have been sent, and its tool is not known to be read-only.
func (c *Call) changes() bool {
	return c.Hint != "reads" && (audit.Answered(c.Plugins) || !slices.Contains([]string{"dry", string(call.KindDenied), string(call.KindArgument)}, c.Outcome))
}

// class returns the outcome of a call in the words for runs.
func (c *Call) class() string {
	switch c.Outcome {
	case "ok", "dry":
		return OK
	case string(call.KindDenied):
		return Refused
	case Unknown:
		return Unknown
	}
	return Failed
}
