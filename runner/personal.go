package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/bridge"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/chain"
	"github.com/mcpgen/mcpgen/runner/egress"
	"github.com/mcpgen/mcpgen/runner/pii"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
	"github.com/mcpgen/mcpgen/runner/script/check"
)

// Personal data leaves a run in four ways, and each has one place: what the script prints passes an outlet, package chain masks the events
// and warnings of its calls, hideConnection masks the events of the network, and hide the rest of the Result.

// outlet is what a run's sandbox writes its output to.
type outlet struct {
	stdout, stderr io.Writer
	masking        []*pii.OutletWriter
}

// openOutlet makes the output of the script pass the outlet, if there is one. It is masked before it is cut, since half of an address would
// not be recognized.
func (x *run) openOutlet() {
	x.outlet = outlet{stdout: x.output.Stdout, stderr: x.output.Stderr}
	if p := x.script.Calls.Personal; p != nil {
		stdout, stderr := p.Outlet.Writer(x.output.Stdout), p.Outlet.Writer(x.output.Stderr)
		x.outlet = outlet{stdout, stderr, []*pii.OutletWriter{stdout, stderr}}
	}
}

// close passes on what the outlet holds back. Whoever is behind the output reports its own errors.
func (o *outlet) close() {
	for _, w := range o.masking {
		_ = w.Close()
	}
}

// SessionVariable is [check.SessionVariable].
const SessionVariable = check.SessionVariable

// variables returns the variables of the script, and [SessionVariable] if it or a file that it imports has that word. In output mode it gets what
// the tokens in them stand for; text that only looks like a token stays.
func (s *Script) variables(program *script.Program) map[string]json.RawMessage {
	p := s.Calls.Personal
	out := map[string]json.RawMessage{}
	reads := func(text string) bool { return strings.Contains(text, SessionVariable) }
	bundled := s.Language == sandbox.LangPython || reads(program.Job.Code) // spares most scripts to look for their imports
	if reads(s.Code) || bundled && slices.ContainsFunc(slices.Collect(maps.Values(program.Imported())), reads) {
		out[SessionVariable] = json.RawMessage("null")
	}
	for name, value := range s.Vars {
		if p.ShowsScripts() {
			if restored, err := p.Outlet.Restore(value); err == nil {
				value = restored
			}
		}
		out[name] = value
	}
	return out
}

// warnOfTrouble reports that some personal data has left without a token that can be restored. It is called when the calls are over, and
// keeps what they have taught.
func (x *run) warnOfTrouble() {
	p := x.script.Calls.Personal
	if p == nil {
		return
	}
	_ = p.Outlet.Flush() // Trouble has its error
	if err := p.Outlet.Trouble(); err != nil {
		x.calls.Warn("some personal data was replaced by something that cannot be restored; whoever started mcprun is told why")
		if x.script.Trouble != nil {
			x.script.Trouble(fmt.Errorf("personal data was replaced by something that cannot be restored: %w", err))
		}
	}
}

// harmless matches where a token in a script that has real values does no harm: the arguments of detokenizePii, and lines that are comments.
var harmless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`detokenize(?:Pii|_pii)\s*(?:<\w+>)?\([^()]*|(?m:^\s*(?://|#).*$)`)
})

// LiteralToken returns a token that stands for a value, and that a script which gets real values has in its code other than as an argument of
// detokenizePii, or "". It equals none of the real values.
func LiteralToken(p *chain.Personal, code string) string {
	if !p.ShowsScripts() {
		return ""
	}
	return p.Outlet.FindToken(harmless().ReplaceAllString(code, ""))
}

// warnOfTokens reports that a token in the script equals none of the real values that the script has, unless the tokens of the script went to tools.
func (x *run) warnOfTokens() {
	s := x.script
	p := s.Calls.Personal
	if s.Calls.Replay != nil || x.calls.HadTokens() {
		return
	}
	if p.Mixes() && !strings.Contains(s.Code, "tokenizePii") && !strings.Contains(s.Code, "tokenize_pii") {
		if token := p.Outlet.FindToken(harmless().ReplaceAllString(s.Code, "")); token != "" {
			x.calls.Warn("some servers return real values, which do not equal the token %s: compare it with what tokenizePii (tokenize_pii) of the module mcprun returns for a value", token)
		}
		return
	}
	token := LiteralToken(p, s.Code)
	if token == "" {
		return
	}
	with := "await detokenizePii(…)"
	if s.Language == sandbox.LangPython {
		with = "detokenize_pii(…)"
	}
	x.calls.Warn("the script has real values, and no call got the token %s: to compare with what it stands for, use %s of the module mcprun", token, with)
}

// hide removes personal data from the texts of a result, except from the output, which has passed the outlet.
func (r *Result) hide(p *chain.Personal) {
	if p == nil {
		return
	}
	texts := []*string{&r.Message, &r.RiskReason}
	r.Files = slices.Clone(r.Files) // which changed keeps as they are called on the disk
	if r.Start != nil {
		start := *r.Start
		r.Start = &start
		texts = append(texts, &start.Reason, &start.By)
	}
	for _, list := range [][]string{r.Warnings, r.TypeErrors, r.Files} {
		for i := range list {
			texts = append(texts, &list[i])
		}
	}
	for i := range r.Calls {
		hideRecord(p, &r.Calls[i])
	}
	for _, text := range texts {
		*text = p.Mask(*text)
	}
	r.Value = p.MaskJSON(r.Value)
}

// escapes are bytes in the escaped form of URLs.
var escapes = regexp.MustCompile(`(?:%[0-9A-Fa-f]{2})+`)

// hideConnection removes personal data from the event of a connection. Its path is as in a URL, also where the reason and the remedy repeat it, so
// personal data may be escaped: then the whole text is shown without escapes.
func hideConnection(mask func(string) string, e *egress.Event) {
	for _, text := range []*string{&e.Path, &e.Reason, &e.Remedy, &e.Error, &e.By} {
		plain := escapes.ReplaceAllStringFunc(*text, func(escaped string) string {
			plain, _ := url.PathUnescape(escaped) // which the pattern makes valid
			return plain
		})
		plain = ident.Printable(plain, len(plain))
		if masked := mask(plain); masked != plain {
			*text = masked
		} else {
			*text = mask(*text)
		}
	}
}

// hideRecord removes personal data from the record of a call. The arguments of a skipped call stay in Planned.
func hideRecord(p *chain.Personal, rec *chain.CallRecord) {
	if p == nil {
		return
	}
	for _, text := range []*string{&rec.Error, &rec.Skipped, &rec.Drift} {
		*text = p.Mask(*text)
	}
	if rec.Outcome == string(call.KindArgument) { // the name of an unknown tool is the script's text
		rec.Tool = p.Mask(rec.Tool)
	}
	rec.Arguments = p.MaskJSON(rec.Arguments)
	rec.Plugins = slices.Clone(rec.Plugins)
	for i := range rec.Plugins {
		rec.Plugins[i].Reason = audit.Text(p.Mask(string(rec.Plugins[i].Reason)))
	}
	if rec.Policy != nil {
		d := *rec.Policy
		d.Reason, d.By = p.Mask(d.Reason), p.Mask(d.By)
		rec.Policy = &d
	}
}

// hideError returns the error that ended a script without personal data.
func hideError(p *chain.Personal, e *bridge.ScriptError) *bridge.ScriptError {
	if p == nil || e == nil {
		return e
	}
	return &bridge.ScriptError{Name: p.Mask(e.Name), Message: p.Mask(e.Message), Stack: p.Mask(e.Stack)}
}
