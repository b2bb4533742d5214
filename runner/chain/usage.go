package chain

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/gen/tokens"
	"github.com/mcpgen/mcpgen/runner/audit"
	"github.com/mcpgen/mcpgen/runner/cache"
	"github.com/mcpgen/mcpgen/runner/call"
	"github.com/mcpgen/mcpgen/runner/policy"
	"github.com/mcpgen/mcpgen/runner/record"
)

// maxRecorded bounds the calls of one run that are listed. All are counted.
const maxRecorded = 10_000

// maxErrorText bounds, in bytes, the error of a CallRecord.
const maxErrorText = 500

// OutcomeOK and OutcomeDry are the outcomes of calls that did not fail. The others are kinds of errors.
const (
	OutcomeOK  = "ok"
	OutcomeDry = "dry" // listed instead of made, in a dry run
)

// CallRecord is one tool call of a run, or one request for a resource or a prompt.
type CallRecord struct {
	// Call is its number, from 1, in the order in which the script made them.
	Call int `json:"call"`
	// Tool is the tool id that the script gave. For a resource or a prompt it is the server's folder, two underscores, and the method:
	// drive__resources/read.
	Tool string `json:"tool"`
	// StartMS is when the script made it, counted from the start of the script. DurationMS is how long it took, and QueueMS how much of
	// that it waited for its turn.
	StartMS    float64 `json:"startMs"`
	DurationMS float64 `json:"durationMs"`
	QueueMS    float64 `json:"queueMs,omitempty"`
	// Retries counts how often it was retried.
	Retries       int `json:"retries,omitempty"`
	ArgumentBytes int `json:"argumentBytes"`
	ResultBytes   int `json:"resultBytes"` // of the whole result, even if the script got a handle
	// Outcome is "ok", "dry", or the kind of the error: "tool", "protocol", "argument", "denied", "timeout", "connection", "unknown",
	// "cancelled", "internal".
	Outcome string `json:"outcome"`
	// Error is the error's message, shortened. It may be text of a server.
	Error string `json:"error,omitempty"`
	// WaitingFor is what the call was waiting for when the run timed out or was interrupted, in words such as "its answer". It is empty for
	// a call that ended otherwise. WaitedMS is how long it had waited.
	WaitingFor string  `json:"waitingFor,omitempty"`
	WaitedMS   float64 `json:"waitedMs,omitempty"`
	// Arguments are those of a call with the outcome "dry".
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Planned is Arguments with personal data, for whoever approves the call.
	Planned json.RawMessage `json:"-"`
	// Skipped is why a dry run did not make a call of a tool that may be read-only.
	Skipped string `json:"skipped,omitempty"`
	// Cached reports that the call was answered from the cache, with a result that a server had been asked for AgeMS before, which took SavedMS
	// then.
	Cached  bool    `json:"cached,omitempty"`
	AgeMS   float64 `json:"ageMs,omitempty"`
	SavedMS float64 `json:"savedMs,omitempty"`
	// Drift says how the tool's definition has changed since the tree was generated: the verdict ("harmless", "breaking" or "undecided")
	// and what changed, which is partly text from the server.
	Drift string `json:"drift,omitempty"`

	// Policy is the decision about the call, if a rule decided, and Policy.By who approved it.
	Policy *policy.Decision `json:"policy,omitempty"`
	// Plugins are what plugins did about the call, other than to allow it.
	Plugins []audit.Plugin `json:"plugins,omitempty"`
	// Masked has the arguments that were decided about, with the same tokens for personal data as in questions about the run's calls.
	// It is JSON in which members over 16 KiB are replaced by their size, or its first 2,000 bytes. It is empty if Policy and Plugins are nil, and once
	// a run has more than 8 MiB of such arguments.
	Masked string `json:"-"`

	// Details are set with Settings.Details.
	Details *CallDetails `json:"-"`

	// ToolError reports that the tool reported a failure in a result that the script wanted as it is.
	ToolError bool `json:"-"`

	reached        bool // a server may have acted on it
	changesNothing bool // somebody who is trusted says so
	missed         bool // the cache could not answer it
}

// CacheUse counts the call, if a cache has or could have answered it.
func (rec *CallRecord) CacheUse() (u cache.Use) {
	switch {
	case rec.Cached:
		u = cache.Use{Hits: 1, Bytes: int64(rec.ResultBytes), SavedMS: rec.SavedMS}
	case rec.missed:
		u.Misses = 1
	}
	return u
}

// Changing reports whether the call may have changed something: it may have reached a server that did not say it failed, and nobody who is
// trusted says that the tool is read-only.
func (rec *CallRecord) Changing() bool {
	switch call.Kind(rec.Outcome) {
	case call.KindTool, call.KindArgument, call.KindDenied:
		return false
	}
	return rec.reached && !rec.changesNothing
}

// CallDetails are details of a call for people, with secrets and personal data masked as in a recording. All of it may be hostile text.
type CallDetails struct {
	// At is the line of the script that made the call, as "script.ts:12"; empty if it is not known.
	At string
	// Line is the text of that line, if it is in the script itself.
	Line string
	// Arguments and Result are JSON, or its beginning. A call that failed has no Result.
	Arguments, Result string
	// Error is CallRecord.Error.
	Error string
}

// usage collects the records and the cost of a run's calls. It is safe for concurrent use.
type usage struct {
	count bool      // also count tokens
	began time.Time // when the script started

	counting  sync.WaitGroup // token counts in progress; they run beside the calls
	mu        sync.Mutex
	uncounted []texts // whose count waits for more of them, or for the end of the run
	calls     []CallRecord
	inFlight  []CallRecord // the calls in flight when the run ended, whether they are listed or not
	masked    int          // bytes of CallRecord.Masked
	idle      []int        // indexes of calls that reached no server
	total     int
	waiting   int // bytes of texts that wait to be counted, or are being counted
	pending   int // bytes of uncounted
	arguments int // tokens
	results   int // tokens
	cache     cache.Use
}

func (u *usage) add(rec CallRecord, args, answer json.RawMessage) {
	u.mu.Lock()
	u.total++
	u.cache.Add(rec.CacheUse())
	u.list(rec)
	if rec.WaitingFor != "" {
		u.inFlight = append(u.inFlight, rec)
	}
	size := len(args) + len(answer)
	counted := u.count && (u.waiting == 0 || u.waiting+size <= maxWaiting)
	switch {
	case counted:
		u.waiting += size
	case u.count:
		u.arguments += len(args) / bytesPerToken
		u.results += len(answer) / bytesPerToken
	}
	if counted {
		u.uncounted, u.pending = append(u.uncounted, texts{args, answer}), u.pending+size
	}
	var next []texts
	if u.pending >= countAtOnce || len(u.uncounted) >= maxUncounted {
		next = u.take()
	}
	u.mu.Unlock()
	if next != nil { // waking a processor for each call would make it longer
		u.counting.Go(func() { u.countTokens(next) })
	}
}

// texts are those of a call.
type texts struct{ args, answer json.RawMessage }

// take returns the texts that are not counted yet, for the caller to count. u.mu is held.
func (u *usage) take() []texts {
	next := u.uncounted
	u.uncounted, u.pending = nil, 0
	return next
}

// countTokens counts the tokens of texts.
func (u *usage) countTokens(next []texts) {
	size, a, r := 0, 0, 0
	for _, t := range next {
		size += len(t.args) + len(t.answer)
		a += tokens.Estimate(string(t.args))
		r += tokens.Estimate(asRead(t.answer))
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting -= size
	u.arguments += a
	u.results += r
}

// counted returns when all tokens are counted.
func (u *usage) counted() {
	u.mu.Lock()
	next := u.take()
	u.mu.Unlock()
	u.countTokens(next)
	u.counting.Wait()
}

// Bounds of CallRecord.Masked, in bytes: of one call, and of all calls together.
const (
	maxMasked    = 2000
	maxAllMasked = 8 << 20
)

// decided returns the arguments of a call about which a rule decided. They are masked whole, since half of an address would not be
// recognized.
func (u *usage) decided(mask func(json.RawMessage) json.RawMessage, args json.RawMessage) string {
	u.mu.Lock()
	full := u.masked >= maxAllMasked
	u.mu.Unlock()
	if full {
		return ""
	}
	text := ident.Clip(string(mask(withoutLarge(args))), maxMasked)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.masked += len(text)
	return text
}

// maxMember bounds one member of large arguments that is masked, and maxArgs all of them, in bytes. Masking 15 MB would take a second.
const (
	maxMember = 16 << 10
	maxArgs   = 256 << 10
)

// withoutLarge returns arguments of more than maxMember bytes with their size in place of each large member, or of the whole.
func withoutLarge(args json.RawMessage) json.RawMessage {
	if len(args) <= maxMember {
		return args
	}
	members := map[string]json.RawMessage{}
	if json.Unmarshal(args, &members) != nil {
		return nil // they are always an object
	}
	for name, value := range members {
		if len(value) > maxMember {
			members[name] = fmt.Appendf(nil, `"(%d bytes)"`, len(value))
		}
	}
	small, err := json.Marshal(members)
	if err != nil || len(small) > maxArgs {
		return fmt.Appendf(nil, `"(%d bytes)"`, len(args))
	}
	return small
}

// list keeps a call's record. When the list is full, a call that reached a server replaces one that did not: a script must not be
// able to hide what it has done.
func (u *usage) list(rec CallRecord) {
	switch {
	case len(u.calls) < maxRecorded:
		if !rec.reached {
			u.idle = append(u.idle, len(u.calls))
		}
		u.calls = append(u.calls, rec)
	case len(u.idle) > 0 && rec.reached:
		last := len(u.idle) - 1
		u.calls[u.idle[last]] = rec
		u.idle = u.idle[:last]
	}
}

const (
	// maxWaiting bounds the bytes of texts that wait for their tokens to be counted, since a script can make calls faster than tokens are
	// counted. Beyond it, tokens are estimated from the length, as for English text.
	maxWaiting    = 32 << 20
	bytesPerToken = 4
	// Tokens are counted in batches: as soon as this many bytes, or the texts of this many calls, are waiting.
	countAtOnce  = 32 << 10
	maxUncounted = 256
)

// asRead returns a direct result as a model would read it: a string loses its JSON quoting.
func asRead(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func ms(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}

// Bounds of a run's details, in bytes: of one text, and of all together.
const (
	maxDetail  = 4000
	maxDetails = 8 << 20
)

// detailer builds the details of a run's calls. It is safe for concurrent use.
type detailer struct {
	mask   record.Mask
	script string   // its name
	lines  []string // of the script

	mu   sync.Mutex
	kept int
}

// of returns the details of a call. Texts are masked whole, since half of an address would not be recognized.
func (d *detailer) of(at string, args, answer json.RawMessage, rec *CallRecord) *CallDetails {
	out := &CallDetails{At: at, Line: d.mask.String(d.line(at)), Error: d.mask.String(rec.Error)}
	d.mu.Lock()
	full := d.kept >= maxDetails
	d.mu.Unlock()
	if full {
		return out
	}
	out.Arguments = ident.Clip(string(d.mask.Value(args)), maxDetail)
	if rec.Error == "" {
		out.Result = ident.Clip(string(d.mask.Value(answer)), maxDetail)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept += len(out.Arguments) + len(out.Result)
	return out
}

// maxLine bounds the text of a line.
const maxLine = 300

// line returns the text of a line of the script, or "" if at is not one.
func (d *detailer) line(at string) string {
	number, ok := strings.CutPrefix(at, d.script+":")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > len(d.lines) {
		return ""
	}
	return ident.Clip(strings.TrimSpace(d.lines[n-1]), maxLine)
}
