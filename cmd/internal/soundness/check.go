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
)

// Tools are the paths of the checkers. Empty: that one is not run.
type Tools struct{ TSC, Pyright, Mypy string }

// checkTime bounds one run of a checker.
const checkTime = 5 * time.Minute

// diagnostic is one complaint of a checker: a file below the checked folder, its line from 1.
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

// sheet is what one checked file has of one module: on which lines are values. Complaints about other lines are about
// the declarations.
type sheet struct {
	module *Module
	lines  map[int]line
}

// judge turns complaints into verdicts, in the order of modules. Files without a sheet are declarations of the module
// that owns them.
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
			return nil, fmt.Errorf("a complaint about no file of ours: %s:%d: %s", d.file, d.line, d.message)
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

// runChecker runs a checker in a folder. An exit code that says "there are complaints" is no error.
func runChecker(ctx context.Context, dir string, program string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	var stderr tail
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil || exit.ExitCode() > 2 || len(out) == 0) {
		return nil, fmt.Errorf("run %s: %w\n%s%s", filepath.Base(program), err, clip(string(out), 2000), stderr.text)
	}
	return out, nil
}

// tail keeps the beginning of what is written to it.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p[:min(len(p), 4096-min(4096, len(t.text)))]...)
	return len(p), nil
}

func writeFile(dir, name, content string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644)
}
