package customer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runner/workspace"
)

// Append masks a record, cuts it to its limits and appends it to the log, also if several processes do so at once. The error matches
// [fs.ErrNotExist] if the session was removed, [workspace.ErrNoRoom] if the log has reached its limit of 64 MiB, and [store.ErrFull] if the
// disk is full.
func (s *Session) Append(r Record) error {
	now := s.customer.root.opt.Now()
	if r.Time.IsZero() {
		r.Time = now
	}
	line, err := s.line(r)
	if err != nil {
		return err
	}
	if err := s.append(context.Background(), line, now); err != nil {
		return fmt.Errorf("write to the log of session %q of customer %q: %w", s.id, s.customer.id, err)
	}
	return nil
}

// append appends a line. Its bytes are reserved first, so that a log never exceeds its limit.
func (s *Session) append(ctx context.Context, line []byte, now time.Time) error {
	st, err := s.customer.store(ctx)
	if err != nil {
		return err
	}
	doc, err := s.change(ctx, st, func(doc *sessionDocument) error {
		if doc.Bytes+int64(len(line)) > maxLog {
			return fmt.Errorf("it has %s, the limit of a log: begin another session: %w", sizeText(doc.Bytes), workspace.ErrNoRoom)
		}
		doc.Bytes += int64(len(line))
		if now.After(doc.Used) {
			doc.Used = now
		}
		return nil
	})
	if err == nil {
		_, err = st.AppendLine(ctx, s.key(kindLog, doc.Log), line)
	}
	return err
}

// line returns a record as a line for the log.
func (s *Session) line(r Record) ([]byte, error) {
	line, err := lineOf(r, s.customer.root.opt.Mask)
	if err != nil {
		return nil, fmt.Errorf("write a line for session %q: %w", s.id, err)
	}
	return line, nil
}

// lineOf masks a record and returns it as a line of a log, in at most maxLine bytes.
func lineOf(r Record, mask func(json.RawMessage) json.RawMessage) ([]byte, error) {
	if r.Run != nil {
		run := *r.Run
		run.setDigest()
		r.Run = &run
	}
	// Masking sees more text than is kept, so that a cut cannot leave half a secret unmasked.
	r = r.cut(2).masked(mask).cut(1)
	line, err := encode(r)
	if err != nil || len(line) <= maxLine || r.Run == nil {
		return line, err
	}
	run := *r.Run // escapes made it longer
	r.Run = &run
	run.Code, run.Output = clip(run.Code, maxCode/8), clipFront(run.Output, maxOutput/8)
	run.Result, run.Files, run.Cut = nil, nil, true
	run.Calls = decided(run.Calls)
	for i := range run.Calls {
		run.Calls[i].Arguments = ""
	}
	for i := range run.Steps {
		run.Steps[i].Input, run.Steps[i].Output = "", ""
	}
	if line, err = encode(r); err != nil || len(line) <= maxLine {
		return line, err
	}
	run.Calls, run.Steps = nil, nil
	return encode(r)
}

// decided returns a copy of the calls that a rule decided.
func decided(calls []Call) []Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Decision == nil && c.Plugins == nil })
}

func encode(r Record) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(r)
	return b.Bytes(), err
}

// Read calls f with each record of the log, in order. If f returns an error, Read stops and returns it. It returns in bad the number of
// lines that are not records, because they were moved from a file in which a crash left them incomplete or another program wrote them.
func (s *Session) Read(f func(r *Record) error) (bad int, err error) {
	return s.lines(context.Background(), func(line []byte) (bool, error) {
		var r Record
		if json.Unmarshal(line, &r) != nil || r.Kind == "" {
			return false, nil
		}
		return true, f(&r)
	})
}
