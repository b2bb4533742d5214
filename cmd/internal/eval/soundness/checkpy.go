package soundness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/gen/ident"
)

const pyrightconfig = `{"include": ["*.py"], "typeCheckingMode": "strict", "pythonVersion": "3.11", "pythonPlatform": "Linux"}
`

// CheckPython runs pyright and mypy once each over all modules, in dir, which must be empty. A checker without a path in
// tools is not run, and its verdicts are nil.
func CheckPython(ctx context.Context, tools Tools, dir string, modules []*Module) (pyright, mypy []*Verdict, err error) {
	sheets := map[string]*sheet{}
	for i, m := range modules {
		if err := writePy(dir, i, m, sheets); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", m.Case.ID(), err)
		}
	}
	if err := writeFile(dir, "pyrightconfig.json", pyrightconfig); err != nil {
		return nil, nil, err
	}
	var group errgroup.Group
	if tools.Pyright != "" {
		group.Go(func() (err error) { pyright, err = runPyright(ctx, tools.Pyright, dir, modules, sheets); return err })
	}
	if tools.Mypy != "" {
		group.Go(func() (err error) {
			mypy, err = runMypy(ctx, tools.Mypy, dir, slices.Sorted(maps.Keys(sheets)), modules, sheets)
			return err
		})
	}
	return pyright, mypy, group.Wait()
}

// writePy writes one file with the declarations, then one value per line.
func writePy(dir string, i int, m *Module, sheets map[string]*sheet) error {
	if m.Crash != "" {
		return nil
	}
	name := fmt.Sprintf("m%05d.py", i)
	s := &sheet{module: m, lines: map[int]line{}}
	sheets[name] = s
	var b strings.Builder
	b.Write(bytes.TrimRight(m.Source, "\n"))
	b.WriteString("\n\n")
	n := strings.Count(b.String(), "\n")
	add := func(values []json.RawMessage, valid bool) error {
		for _, value := range values {
			text, err := python().literal(value)
			if err != nil {
				return err
			}
			n++
			s.lines[n] = line{value, valid}
			fmt.Fprintf(&b, "checked_%d: %s = %s\n", n, m.Type, text)
		}
		return nil
	}
	if err := add(m.Case.Accept, true); err != nil {
		return err
	}
	if err := add(m.Case.Refuse, false); err != nil {
		return err
	}
	return writeFile(dir, name, b.String())
}

func runPyright(ctx context.Context, program, dir string, modules []*Module, sheets map[string]*sheet) ([]*Verdict, error) {
	out, err := runChecker(ctx, dir, program, "-p", ".", "--outputjson", "--threads", "2")
	if err != nil {
		return nil, err
	}
	var result struct {
		GeneralDiagnostics []struct {
			File, Severity, Message, Rule string
			Range                         struct{ Start struct{ Line int } }
		}
	}
	if err := json.Unmarshal(out, &result); err != nil {
		return nil, fmt.Errorf("parse the output of pyright: %w: %s", err, ident.Clip(string(out), 500))
	}
	var found []diagnostic
	for _, d := range result.GeneralDiagnostics {
		if d.Severity == "error" || d.Severity == "warning" {
			message := strings.Join(strings.Fields(d.Message), " ")
			found = append(found, diagnostic{relative(dir, d.File), d.Range.Start.Line + 1, d.Severity + ": " + message + " (" + d.Rule + ")"})
		}
	}
	return judge(modules, sheets, found)
}

// relative returns the path of file relative to the checked directory.
func relative(dir, file string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return file
	}
	if rel, err := filepath.Rel(dir, file); err == nil {
		return filepath.ToSlash(rel)
	}
	return file
}

// runMypy checks files, or a package. Files with syntax errors end a run, so it repeats the run without them.
func runMypy(ctx context.Context, program, dir string, files []string, modules []*Module, sheets map[string]*sheet) ([]*Verdict, error) {
	var found []diagnostic
	for range 4 {
		if err := writeFile(dir, "mypy.files", strings.Join(files, "\n")+"\n"); err != nil {
			return nil, err
		}
		out, err := runChecker(ctx, dir, program, "--strict", "--python-version", "3.11", "--no-error-summary", "--hide-error-context",
			"--no-color-output", "--no-incremental", "--cache-dir", "/dev/null", "--config-file", "", "--soft-error-limit=-1", "@mypy.files")
		if err != nil {
			return nil, err
		}
		now, err := mypyDiagnostics(out)
		if err != nil {
			return nil, err
		}
		syntax := map[string]bool{}
		for _, d := range now {
			if strings.HasSuffix(d.message, "[syntax]") {
				syntax[d.file] = true
			}
		}
		found = append(found, now...)
		if len(syntax) == 0 {
			break
		}
		files = slices.DeleteFunc(files, func(f string) bool { return syntax[f] })
	}
	return judge(modules, sheets, found)
}

var mypyLine = regexp.MustCompile(`^([^:]+):(\d+): (error: .*)$`)

// mypyDiagnostics parses the output of mypy.
func mypyDiagnostics(out []byte) ([]diagnostic, error) {
	var found []diagnostic
	for text := range bytes.Lines(out) {
		if m := mypyLine.FindStringSubmatch(strings.TrimRight(string(text), "\n")); m != nil {
			n, _ := strconv.Atoi(m[2])
			found = append(found, diagnostic{strings.TrimPrefix(m[1], "servers/"), n, m[3]})
		} else if !strings.Contains(string(text), ": note: ") && len(found) == 0 { // a message continues on the next line if a key contains a line break
			return nil, fmt.Errorf("mypy: %s", ident.Clip(string(out), 2000))
		}
	}
	return found, nil
}
