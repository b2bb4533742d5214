package runner

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/catalog"
	"github.com/mcpgen/mcpgen/gen/tokens"
	"github.com/mcpgen/mcpgen/runner/sandbox"
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
	// Tool is the tool id that the script gave. For a resource or a prompt it is the server's folder, a colon, and the method:
	// drive:resources/read.
	Tool string `json:"tool"`
	// StartMS is when the script made it, counted from the start of the script. DurationMS is how long it took; QueueMS is the
	// part in which it waited for its turn.
	StartMS    float64 `json:"startMs"`
	DurationMS float64 `json:"durationMs"`
	QueueMS    float64 `json:"queueMs,omitempty"`
	// Retries counts how often it was retried.
	Retries       int `json:"retries,omitempty"`
	ArgumentBytes int `json:"argumentBytes"`
	ResultBytes   int `json:"resultBytes"` // of the whole result, also if the script got a handle
	// Outcome is "ok", "dry", or the kind of the error: "tool", "protocol", "argument", "denied", "timeout", "connection",
	// "cancelled", "internal".
	Outcome string `json:"outcome"`
	// Error is the error's message, shortened. It may be text of a server.
	Error string `json:"error,omitempty"`
	// WaitingFor is what the call was waiting for when the run timed out or was interrupted, in words such as "its answer". It
	// is empty for a call that ended otherwise. WaitedMS is for how long.
	WaitingFor string  `json:"waitingFor,omitempty"`
	WaitedMS   float64 `json:"waitedMs,omitempty"`
	// Arguments are those of a call with the outcome "dry".
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Skipped is why a dry run did not make a call of a tool that may be read-only.
	Skipped string `json:"skipped,omitempty"`

	reached bool // a server may have acted on it
}

// usage collects the records and the cost of a run's calls. It is safe for concurrent use.
type usage struct {
	count bool      // also count tokens
	began time.Time // when the script started

	counting  sync.WaitGroup // token counts in progress; they run beside the calls
	mu        sync.Mutex
	calls     []CallRecord
	inFlight  []CallRecord // those in flight when the run ended, whether they are listed or not
	idle      []int        // indexes of calls that reached no server
	total     int
	waiting   int // bytes of texts that wait to be counted
	arguments int // tokens
	results   int // tokens
}

func (u *usage) add(rec CallRecord, args, answer json.RawMessage) {
	u.mu.Lock()
	u.total++
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
	u.mu.Unlock()
	if !counted {
		return
	}
	u.counting.Go(func() {
		a, r := countText(string(args)), countText(asRead(answer))
		u.mu.Lock()
		defer u.mu.Unlock()
		u.waiting -= size
		u.arguments += a
		u.results += r
	})
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
	// maxWaiting bounds the bytes of texts that wait for their tokens to be counted, since a script makes calls faster than
	// that. Beyond it tokens are estimated from the length, as for English text.
	maxWaiting    = 32 << 20
	bytesPerToken = 4
)

// countedWhole is the size in bytes of the largest text whose tokens are all counted. Those of a larger one are estimated from its
// two ends: counting ten megabytes takes a second of processor time.
const countedWhole = 1 << 20

func countText(text string) int {
	if len(text) <= countedWhole {
		return tokens.Count(text)
	}
	n := tokens.Count(text[:countedWhole/2]) + tokens.Count(text[len(text)-countedWhole/2:])
	return int(float64(n) * float64(len(text)) / countedWhole)
}

// listed returns the listed calls in the order in which they were made, and the number of all calls.
func (u *usage) listed() ([]CallRecord, int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	calls := slices.Clone(u.calls)
	if calls == nil {
		calls = []CallRecord{}
	}
	slices.SortStableFunc(calls, func(a, b CallRecord) int { return cmp.Compare(a.Call, b.Call) })
	return calls, u.total
}

// asRead returns the text that a model reads of a direct result: a string without its JSON quoting.
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

// definitionCount counts the tokens of a catalog's definitions once: a thousand tools take a fifth of a second.
type definitionCount struct {
	once   sync.Once
	tokens int
}

func (d *definitionCount) count(c *catalog.Catalog) int {
	d.once.Do(func() {
		for _, server := range c.Servers {
			for _, tool := range server.Tools {
				d.tokens += tokens.Count(tool.Definition())
			}
		}
	})
	return d.tokens
}

// countTokens returns what the run cost and what direct calls would have cost. The output is what the script printed, and its
// result. Definitions count only for a run that called a tool of the catalog.
func (r *Runner) countTokens(s *Script, u *usage, output ...string) *Tokens {
	u.counting.Wait()
	u.mu.Lock()
	defer u.mu.Unlock()
	t := &Tokens{Script: tokens.Count(s.Code), Wrappers: r.wrapperTokens(s.Language, u.calls), Arguments: u.arguments, Results: u.results}
	for _, text := range output {
		t.Output += countText(text)
	}
	if r.called(u.calls) {
		t.Definitions = r.definitions.count(r.catalog)
	}
	t.Used = t.Script + t.Wrappers + t.Output
	t.Direct = t.Definitions + t.Arguments + t.Results
	t.Saved = t.Direct - t.Used
	if t.Direct > 0 {
		t.SavedPercent = math.Round(1000*float64(t.Saved)/float64(t.Direct)) / 10
	}
	return t
}

// called reports whether one of the calls was for a tool of the catalog.
func (r *Runner) called(calls []CallRecord) bool {
	return slices.ContainsFunc(calls, func(c CallRecord) bool {
		_, _, known := r.catalog.Lookup(c.Tool)
		return known
	})
}

// wrapperTokens counts the tokens of the wrapper files of the tools that were called, each once.
func (r *Runner) wrapperTokens(lang sandbox.Language, calls []CallRecord) int {
	if r.lock == nil {
		return 0
	}
	root, err := os.OpenRoot(r.opt.Tree)
	if err != nil {
		return 0
	}
	defer root.Close()
	seen := map[string]bool{}
	sum := 0
	for _, c := range calls {
		if seen[c.Tool] {
			continue
		}
		seen[c.Tool] = true
		text, err := root.ReadFile(r.wrapperFile(c.Tool, lang))
		if err == nil {
			sum += tokens.Count(string(text))
		}
	}
	return sum
}

// wrapperFile returns the path, below the tree, of a tool's wrapper in a language; empty when there is none.
func (r *Runner) wrapperFile(id string, lang sandbox.Language) string {
	server, tool, ok := r.catalog.Lookup(id)
	if !ok {
		return ""
	}
	return r.lock.Servers[server.Key].Tools[tool.Name].Names[string(lang)].File
}
