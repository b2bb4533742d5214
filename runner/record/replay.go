package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/gen/ident"
	"github.com/mcpgen/mcpgen/runner/call"
)

// Player answers calls from a recording. It is safe for concurrent use.
type Player struct {
	loose bool
	mask  Mask

	mu     sync.Mutex
	byTool map[string][]*recorded // in the order of the calls
}

// recorded is an entry that answers calls.
type recorded struct {
	Entry
	exact string // the arguments in canonical form
	like  pattern
	used  bool
}

// Read reads a recording of at most 512 MiB. With loose, calls match by tool and arguments in any order, and the last match answers all
// further calls. Otherwise the calls of each tool must come in the recorded order, each once.
func Read(r io.Reader, loose bool, mask Mask) (*Player, error) {
	p := &Player{loose: loose, mask: mask, byTool: map[string][]*recorded{}}
	bounded := &io.LimitedReader{R: r, N: maxBytes + 1}
	err := p.read(bounded)
	if bounded.N == 0 { // the error about a truncated file would mislead
		err = errTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	return p, nil
}

func (p *Player) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxBytes)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if n == 1 {
			var h header
			if err := json.Unmarshal(line, &h); err != nil || h.Kind != kind {
				return errors.New("line 1: this is not a recording; make one with --record")
			}
			if h.Version != version {
				return fmt.Errorf("line 1: the recording has version %d, this program reads %d; record it again", h.Version, version)
			}
			continue
		}
		if err := p.add(line); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	for _, entries := range p.byTool {
		slices.SortStableFunc(entries, func(a, b *recorded) int { return a.Call - b.Call })
	}
	return nil
}

func (p *Player) add(line []byte) error {
	var e Entry
	if err := json.Unmarshal(line, &e); err != nil {
		return err
	}
	if e.Tool == "" || e.Args == nil || (e.Error == nil) == (e.Value == nil) {
		return errors.New("a call has a tool, arguments, and either a value or an error")
	}
	exact, err := canonical(e.Args)
	if err != nil {
		return fmt.Errorf("its arguments: %w", err)
	}
	p.byTool[e.Tool] = append(p.byTool[e.Tool], &recorded{Entry: e, exact: exact, like: newPattern(exact)})
	return nil
}

// NoMatchError reports that the recording has no answer to a call.
type NoMatchError struct{ Reason string }

func (e *NoMatchError) Error() string { return "the recording has no answer: " + e.Reason }

// Answer returns the answer to a call. rank is the number of the call among the calls of its tool, from 0. The error is a *[NoMatchError].
func (p *Player) Answer(req *call.Request, rank int) (*Entry, error) {
	exact, err := canonical(p.mask.Value(req.Args))
	if err != nil {
		return nil, &NoMatchError{Reason: err.Error()}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	entries := p.byTool[req.Tool]
	if len(entries) == 0 {
		return nil, &NoMatchError{Reason: fmt.Sprintf("it has no call of %s%s", req.Tool, p.others(req.Tool))}
	}
	found := p.pick(entries, req, exact, rank)
	if found == nil {
		return nil, &NoMatchError{Reason: p.why(entries, req, exact, rank)}
	}
	found.used = true
	return &found.Entry, nil
}

// pick returns the entry that answers a call, or nil. The caller holds mu.
func (p *Player) pick(entries []*recorded, req *call.Request, exact string, rank int) *recorded {
	if !p.loose {
		if rank < len(entries) && entries[rank].like.matches(exact) && entries[rank].Raw == req.Raw {
			return entries[rank]
		}
		return nil
	}
	var last *recorded
	for _, matches := range []func(e *recorded) bool{
		func(e *recorded) bool { return e.exact == exact },
		func(e *recorded) bool { return e.like.matches(exact) },
	} {
		for _, e := range entries {
			if e.Raw != req.Raw || !matches(e) {
				continue
			}
			if !e.used {
				return e
			}
			last = e
		}
		if last != nil {
			return last
		}
	}
	return nil
}

// why describes why no entry of the tool matches, by comparing the call with the most similar one.
func (p *Player) why(entries []*recorded, req *call.Request, exact string, rank int) string {
	if !p.loose {
		if rank >= len(entries) {
			return fmt.Sprintf("it has %d calls of %s, and this is number %d", len(entries), req.Tool, rank+1)
		}
		return fmt.Sprintf("call %d of %s was recorded differently: %s (--replay-match loose takes calls in any order)",
			rank+1, req.Tool, describeDifference(entries[rank], req, exact))
	}
	best, most := entries[0], -1
	for _, e := range entries {
		if n := countEqual(e.exact, exact); n > most {
			best, most = e, n
		}
	}
	return fmt.Sprintf("the nearest is call %d, of %s: %s", best.Call, req.Tool, describeDifference(best, req, exact))
}

// describeDifference describes how a call differs from a recorded one.
func describeDifference(e *recorded, req *call.Request, exact string) string {
	if e.Raw != req.Raw {
		return fmt.Sprintf("the option raw was %v and is %v", e.Raw, req.Raw)
	}
	return difference(e.exact, exact)
}

// others names the recorded tools most similar to an unknown one.
func (p *Player) others(tool string) string {
	names := slices.Sorted(maps.Keys(p.byTool))
	if near := ident.Nearest(tool, names, 3); len(near) > 0 {
		names = near
	}
	if len(names) == 0 {
		return "; the recording is empty"
	}
	return "; it has " + strings.Join(names[:min(len(names), 10)], ", ")
}

// maxDifferent bounds the number of differing members shown, and shortValue the number of bytes of each.
const (
	maxDifferent = 3
	shortValue   = 80
)

// difference describes the members in which two objects differ.
func difference(recorded, now string) string {
	a, b := members(recorded), members(now)
	var names []string
	for name := range a {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []string
	for _, name := range names[:min(len(names), maxDifferent)] {
		out = append(out, fmt.Sprintf("%s was %s and is %s", ident.Clip(name, shortValue), orNone(a[name]), orNone(b[name])))
	}
	if more := len(names) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more differ", more))
	}
	return strings.Join(out, ", ")
}

func orNone(value string) string {
	if value == "" {
		return "missing"
	}
	return ident.Clip(value, shortValue)
}

// countEqual counts the members that are equal in two objects.
func countEqual(a, b string) int {
	x, y := members(a), members(b)
	n := 0
	for name, v := range x {
		if w, ok := y[name]; ok && v == w {
			n++
		}
	}
	return n
}

func members(object string) map[string]string {
	var raw map[string]json.RawMessage
	if json.Unmarshal([]byte(object), &raw) != nil {
		return nil
	}
	out := make(map[string]string, len(raw))
	for name, v := range raw {
		out[name] = string(v)
	}
	return out
}

// canonical returns a form that is equal for equal values: members sorted, no white space, numbers as written.
func canonical(raw []byte) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
