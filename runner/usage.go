package runner

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/gen/tokens"
	"github.com/mcpgen/mcpgen/runner/call"
)

// maxRecorded bounds how many calls of one run are listed; all are counted.
const maxRecorded = 10_000

// CallRecord is one tool call of a run.
type CallRecord struct {
	Tool          string  `json:"tool"`
	DurationMS    float64 `json:"durationMs"`
	ArgumentBytes int     `json:"argumentBytes"`
	ResultBytes   int     `json:"resultBytes"`
	// Outcome is "ok" or the kind of the error: "tool", "protocol", "argument", "denied", "timeout", "connection",
	// "cancelled", "internal".
	Outcome string `json:"outcome"`
}

// usage collects what the calls of one run cost. Safe for concurrent use.
type usage struct {
	count bool // count tokens too

	counting  sync.WaitGroup // token counts under way, beside the calls so that they don't slow them
	mu        sync.Mutex
	calls     []CallRecord
	total     int
	arguments int // tokens
	results   int // tokens
}

// record is the outermost stage of the chain.
func (u *usage) record(next call.Handler) call.Handler {
	return func(ctx context.Context, req *call.Request) (*call.Result, error) {
		start := time.Now()
		res, err := next(ctx, req)
		rec := CallRecord{Tool: req.Tool, DurationMS: ms(time.Since(start)), ArgumentBytes: len(req.Args), Outcome: "ok"}
		var answer json.RawMessage
		switch {
		case err == nil:
			answer = res.Value
			rec.ResultBytes = len(answer)
		default:
			rec.Outcome = string(kindOf(err))
			answer = json.RawMessage(err.Error())
		}
		u.add(rec, req.Args, answer)
		return res, err
	}
}

func (u *usage) add(rec CallRecord, args, answer json.RawMessage) {
	u.mu.Lock()
	u.total++
	if len(u.calls) < maxRecorded {
		u.calls = append(u.calls, rec)
	}
	u.mu.Unlock()
	if !u.count {
		return
	}
	u.counting.Go(func() {
		a, r := tokens.Count(string(args)), tokens.Count(asRead(answer))
		u.mu.Lock()
		defer u.mu.Unlock()
		u.arguments += a
		u.results += r
	})
}

// asRead is the text a model reads when a result comes to it directly: a string without its JSON quoting.
func asRead(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

func kindOf(err error) call.Kind {
	var e *call.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return call.KindInternal
}

func ms(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}
