package soundness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/mcpgen/mcpgen/gen/ident"
)

// Tools holds the paths of the checkers.
type Tools struct{ TSC, Pyright, Mypy string }

// checkTimeout bounds one run of a checker.
const checkTimeout = 15 * time.Minute

// diagnostic is one message of a checker. file is relative to the checked directory; line starts at 1.
type diagnostic struct {
	file    string
	line    int
	message string
}

// line is a line of a checked file that holds one value.
type line struct {
	value json.RawMessage
	valid bool
}

// sheet maps the lines of a checked file to the values of a module. Diagnostics on other lines are about the
// declarations.
type sheet struct {
	module *Module
	lines  map[int]line
}

// judge turns diagnostics into verdicts, in the order of modules. A diagnostic for a file without a sheet is an error.
func judge(modules []*Module, sheets map[string]*sheet, found []diagnostic) ([]*Verdict, error) {
	verdicts := map[*Module]*Verdict{}
	out := make([]*Verdict, len(modules))
	for i, m := range modules {
		out[i] = &Verdict{Module: m}
		verdicts[m] = out[i]
	}
	wrong := map[string]map[int]string{} // file → line → first message
	for _, d := range found {
		s := sheets[d.file]
		if s == nil {
			return nil, fmt.Errorf("diagnostic for an unknown file: %s:%d: %s", d.file, d.line, d.message)
		}
		if _, isValue := s.lines[d.line]; !isValue {
			v := verdicts[s.module]
			v.Compile = append(v.Compile, fmt.Sprintf("line %d: %s", d.line, d.message))
			continue
		}
		if wrong[d.file] == nil {
			wrong[d.file] = map[int]string{}
		}
		if _, seen := wrong[d.file][d.line]; !seen {
			wrong[d.file][d.line] = d.message
		}
	}
	for file, s := range sheets {
		v := verdicts[s.module]
		for n, l := range s.lines {
			message, bad := wrong[file][n]
			switch {
			case l.valid && bad:
				v.Rejected = append(v.Rejected, Finding{l.value, message})
			case !l.valid && !bad:
				v.Loose = append(v.Loose, Finding{Value: l.value})
			}
			if !l.valid {
				v.Refused++
			}
		}
	}
	for _, v := range out {
		sortFindings(v.Rejected)
		sortFindings(v.Loose)
	}
	return out, nil
}

// runChecker runs a checker in dir and returns its output. Exit codes 1 and 2 with output are not errors: they report
// diagnostics.
func runChecker(ctx context.Context, dir string, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	var stderr head
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil || exit.ExitCode() > 2 || len(out) == 0) {
		return nil, fmt.Errorf("run %s: %w\n%s%s", filepath.Base(program), err, ident.Clip(string(out), 2000), stderr.text)
	}
	return out, nil
}

// head keeps the first 4096 bytes written to it.
type head struct{ text []byte }

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), 4096-min(4096, len(h.text)))]...)
	return len(p), nil
}

func writeFile(dir, name, content string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)
}
