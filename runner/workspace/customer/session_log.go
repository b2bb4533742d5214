package customer

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

// Append masks a record, cuts it to its limits and appends it to the log. The line is written completely or not at all, even if several
// processes append at once. If a crash left an incomplete line, that line is ended first. The error matches [workspace.ErrNoRoom] if the
// log has reached its limit of 64 MiB.
func (s *Session) Append(r Record) error {
	if r.Time.IsZero() {
		r.Time = s.customer.root.opt.Now()
	}
	line, err := s.line(r)
	if err != nil {
		return err
	}
	return s.append(line)
}

// append appends a line, which ends with a newline.
func (s *Session) append(line []byte) error {
	unlock, err := s.lock(context.Background())
	if err != nil {
		return err
	}
	defer unlock()
	dir, err := s.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := safeopen.File(dir, logName, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("open the log of session %q: %w", s.id, err)
	}
	if err := appendLine(f, line); err != nil {
		err = fmt.Errorf("write to the log of session %q of customer %q: %w", s.id, s.customer.id, err)
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// appendLine writes a line to a log, on a line of its own.
func appendLine(f *os.File, line []byte) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	switch {
	case size+int64(len(line)) > maxLog:
		return fmt.Errorf("it has %s, the limit of a log: begin another session: %w", sizeText(size), workspace.ErrNoRoom)
	case size > 0:
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte("\n"), line...)
		}
	}
	if _, err := f.Write(line); err != nil {
		return errors.Join(err, f.Truncate(size)) // remove the incomplete line
	}
	return nil
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
	if line, err = encode(r); err != nil || len(line) <= maxLine {
		return line, err
	}
	run.Calls = nil
	return encode(r)
}

// decided returns a copy of the calls that a rule decided.
func decided(calls []Call) []Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c Call) bool { return c.Decision == nil })
}

func encode(r Record) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(r)
	return b.Bytes(), err
}

// Read calls f with each record of the log, in order. If f returns an error, Read stops and returns it. It returns in bad the number of
// lines that are not records, because a crash left them incomplete or another program wrote them.
func (s *Session) Read(f func(r *Record) error) (bad int, err error) {
	return s.eachLine(func(line []byte) (bool, error) {
		var r Record
		if json.Unmarshal(line, &r) != nil || r.Kind == "" {
			return false, nil
		}
		return true, f(&r)
	})
}

// eachLine calls f with each line of the log. f reports whether the line is a record.
func (s *Session) eachLine(f func(line []byte) (ok bool, err error)) (bad int, err error) {
	dir, err := s.open()
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	file, err := safeopen.File(dir, logName, os.O_RDONLY, 0)
	if err != nil {
		return 0, fmt.Errorf("read the log of session %q: %w", s.id, err)
	}
	defer file.Close()
	if bad, err = eachLine(file, f); err != nil {
		err = fmt.Errorf("read the log of session %q of customer %q: %w", s.id, s.customer.id, err)
	}
	return bad, err
}

// eachLine calls f with each line, including a last line without a newline. It counts the lines for which f returns false, and those longer
// than maxLine. It reads at most maxLog bytes.
func eachLine(r io.Reader, f func(line []byte) (ok bool, err error)) (bad int, err error) {
	in := bufio.NewReaderSize(io.LimitReader(r, maxLog), maxLine)
	for {
		line, readErr := in.ReadSlice('\n')
		long := false
		for errors.Is(readErr, bufio.ErrBufferFull) {
			long = true
			_, readErr = in.ReadSlice('\n')
		}
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return bad, readErr
		}
		if line = bytes.TrimSpace(line); long {
			bad++
		} else if len(line) > 0 {
			ok, err := f(line)
			if err != nil {
				return bad, err
			}
			if !ok {
				bad++
			}
		}
		if readErr != nil {
			return bad, nil
		}
	}
}
