package plugin

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/gen/config"
	"github.com/mcpgen/mcpgen/gen/upstream/redact"
	"github.com/mcpgen/mcpgen/gen/upstream/stdio"
)

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 16 << 20

// maxProcesses is the maximum number of processes of one plugin at a time. Further events wait.
const maxProcesses = 8

// Environment lists the variables that the programs of plugins inherit. They get no others, above all no secrets.
func Environment() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TMP", "TEMP",
		// Without these no program starts on Windows.
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
	}
}

// Options say where the programs of plugins are started.
type Options struct {
	// Dir is the absolute folder of mcpgen.yaml, from which paths start. It is the working directory of the programs.
	Dir string
	// Lookup finds variables: those of [Environment], and MCPRUN_PYTHON and MCPRUN_NODE, which name interpreters. Nil: an empty environment.
	Lookup config.Lookup
	// Guardrails switch kinds of plugins off.
	Guardrails config.Guardrails
	// Log receives diagnostics. Nil: they are dropped.
	Log *slog.Logger
}

// Open returns the plugins of a configuration, in its order, without those that the guardrails switch off. Nothing is started before the first
// event. The error names the plugin that cannot be started.
func Open(plugins []config.Plugin, opt Options) (*Set, error) {
	s := &Set{}
	for i := range plugins {
		c := &plugins[i]
		if !opt.Guardrails.Checked(c.Check) {
			continue
		}
		hook, err := newProgram(c, &opt)
		if err != nil {
			return nil, err
		}
		p := Plugin{Name: c.Name, Hook: hook, Tools: c.Tools, Timeout: c.Timeout, FailOpen: c.OnError == "allow"}
		if c.Mode != config.PluginStream {
			p.slots = make(chan struct{}, maxProcesses)
		}
		for _, point := range c.On {
			p.On = append(p.On, Point(point))
		}
		s.plugins = append(s.plugins, p)
	}
	return s, nil
}

// Error says that a plugin cannot be started.
type Error struct{ Plugin, Problem, Remedy string }

func (e *Error) Error() string { return fmt.Sprintf("plugin %s: %s", e.Plugin, e.Problem) }

// Hint says what to do.
func (e *Error) Hint() string { return e.Remedy }

// program is a hook that is a program. With mode once, it starts a process for each event.
type program struct {
	name    string
	options stdio.Options
	files   map[string]string // the digests of the plugin's files, by their paths
	last    atomic.Int64      // id of the last event
}

// newProgram returns the hook of a plugin.
func newProgram(c *config.Plugin, opt *Options) (Hook, error) {
	lookup := opt.Lookup
	if lookup == nil {
		lookup = func(string) (string, bool) { return "", false }
	}
	words := slices.Clone(c.Run)
	if c.IsFile {
		var err error
		if words, err = starter(c.Name, c.Files(opt.Dir)[0], lookup); err != nil {
			return nil, err
		}
	} else if strings.ContainsAny(words[0], `/\`) && !filepath.IsAbs(words[0]) {
		words[0] = filepath.Join(opt.Dir, filepath.FromSlash(words[0]))
	}
	p := &program{name: c.Name, files: map[string]string{}}
	for _, file := range c.Files(opt.Dir) {
		p.files[file] = config.FileDigest(file)
	}
	passed := Environment()
	p.options = stdio.Options{
		Server: config.Server{Command: words[0], Args: words[1:], Cwd: opt.Dir, Env: map[string]string{"PYTHONUTF8": "1"}},
		Lookup: func(name string) (string, bool) {
			if !slices.Contains(passed, name) {
				return "", false
			}
			return lookup(name)
		},
		Secret: &redact.Redactor{}, Log: cmp.Or(opt.Log, slog.New(slog.DiscardHandler)),
	}
	if c.Mode == config.PluginStream {
		return &stream{program: p}, nil
	}
	return p, nil
}

// starter returns the words that start a plugin's file: an interpreter by its extension, or the file itself if it is a program.
func starter(name, file string, lookup config.Lookup) ([]string, error) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil, &Error{name, fmt.Sprintf("there is no file %q", file), "correct the entry in plugins: of mcpgen.yaml, or create the file"}
	}
	given := func(variable, otherwise string) string {
		value, _ := lookup(variable)
		return cmp.Or(value, otherwise)
	}
	python := "python3"
	if runtime.GOOS == "windows" {
		python = "python"
	}
	switch ext := strings.ToLower(filepath.Ext(file)); {
	case ext == ".py":
		return []string{given("MCPRUN_PYTHON", python), "-u", file}, nil
	case ext == ".js" || ext == ".mjs" || ext == ".cjs":
		return []string{given("MCPRUN_NODE", "node"), file}, nil
	case ext == ".ts" || ext == ".mts":
		return []string{given("MCPRUN_NODE", "node"), "--experimental-strip-types", "--disable-warning=ExperimentalWarning", file}, nil // Node 22.6
	case info.Mode()&0o111 != 0 || runtime.GOOS == "windows" && slices.Contains([]string{".exe", ".cmd", ".bat", ".com"}, ext):
		return []string{file}, nil
	case ext == ".sh":
		return []string{"sh", file}, nil
	}
	return nil, &Error{name, fmt.Sprintf("%q is not a program: it is not executable, and its extension is not .py, .js, .ts or .sh", file),
		"make it executable, or write the command as a list: run: [ruby, plugins/limit.rb]"}
}

// start starts the program, whose files must be those of [Open].
func (p *program) start() (*stdio.Program, error) {
	for file, digest := range p.files {
		if now := config.FileDigest(file); now == "" || now != digest {
			return nil, fmt.Errorf("its file %s has changed since mcprun has read it: start mcprun again", filepath.Base(file))
		}
	}
	return stdio.StartProgram(p.options)
}

// line returns an event as a line, with an id of its own.
func (p *program) line(e *Event) ([]byte, error) {
	e.ID = p.last.Add(1)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return out.Bytes(), err
}

// Decide implements Hook with a process for the event.
func (p *program) Decide(ctx context.Context, e *Event) (*Answer, error) {
	line, err := p.line(e)
	if err != nil {
		return nil, err
	}
	proc, err := p.start()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = proc.Kill() })
	defer stop()
	go func() { // it may answer without reading, or not read at all
		_, _ = proc.Write(line)
		_ = proc.CloseInput()
	}()
	text, err := io.ReadAll(io.LimitReader(proc, maxAnswer+1))
	if len(text) > maxAnswer {
		_ = proc.Kill()
		return nil, fmt.Errorf("it wrote more than %d MiB", maxAnswer>>20)
	}
	ended := proc.Close()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case ended != nil:
		return nil, fmt.Errorf("it ended with %s%s", stdio.ExitText(ended), proc.RecentStderr())
	case err != nil:
		return nil, err
	}
	answer, err := parse(text)
	if err == nil && answer.ID != 0 && answer.ID != e.ID {
		err = fmt.Errorf("it answered event %d, and was asked about event %d", answer.ID, e.ID)
	}
	return answer, err
}

// parse reads an answer: one JSON object, and nothing else.
func parse(text []byte) (*Answer, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("it wrote no answer")
	}
	answer := &Answer{}
	dec := json.NewDecoder(bufio.NewReader(bytes.NewReader(text)))
	err := dec.Decode(answer)
	if _, more := dec.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("more follows the first value")
	}
	if err != nil {
		return nil, fmt.Errorf("what it wrote is no answer: %w", err)
	}
	return answer, nil
}
