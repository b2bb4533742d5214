package chain

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/record"
)

// Bounds of what a run keeps for its details, in bytes: of one text, and of all together.
const (
	maxDetail  = 4000
	maxDetails = 8 << 20
)

// detailer makes the details of a run's calls. It is safe for concurrent use.
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
