// Package source reads the script of a run, and finds out its language.
package source

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/script"
)

// maxSource is the largest script read, in bytes. The runner's own limit is lower and explains itself.
const maxSource = 16 << 20

// FromCode fills in a script that is given as text, in the named language or, without a name, in the language that the code is written in.
func FromCode(s *runner.Script, name, language, code string) error {
	lang, err := Detect(language, code)
	if err != nil {
		return err
	}
	s.Name, s.Code, s.Language = name+lang.Extensions()[0], code, lang
	return nil
}

// FromFile fills in a script that is a file.
func FromFile(s *runner.Script, path, language string) error {
	bare := filepath.Ext(path) == ""
	lang, err := OfFile(path)
	if bare {
		lang, err = Named(language)
	}
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return &cli.UsageError{Err: fmt.Errorf("read the script: %w", err)}
	}
	defer f.Close()
	code, err := io.ReadAll(io.LimitReader(f, maxSource))
	if err != nil {
		return fmt.Errorf("read the script: %w", err)
	}
	name := filepath.Base(path)
	if bare {
		if language == "" {
			lang = script.DetectLanguage(string(code))
		}
		name += lang.Extensions()[0]
	}
	s.Name, s.Code, s.Language, s.Dir = cli.EscapeLine(name), string(code), lang, filepath.Dir(path)
	return nil
}

// OfFile returns the language of a file, by its extension.
func OfFile(path string) (sandbox.Language, error) {
	if lang := sandbox.LanguageOf(path); lang != "" {
		return lang, nil
	}
	return "", flags.Usage("%s: a script ends in .ts, .js or .py", cli.EscapeLine(filepath.Base(path)))
}

// Detect returns the language of that name or, without a name, the language that the code is written in.
func Detect(name, code string) (sandbox.Language, error) {
	if name == "" {
		return script.DetectLanguage(code), nil
	}
	return Named(name)
}

// Named returns the language of that name. The empty name is TypeScript.
func Named(name string) (sandbox.Language, error) {
	if lang, ok := sandbox.Named(cmp.Or(name, string(sandbox.LangTypeScript))); ok {
		return lang, nil
	}
	return "", flags.Usage("unknown language %q: typescript or python", name)
}

// ReadStdin reads standard input to its end, at most maxSource bytes, or until ctx ends: a blocked read of a pipe must not
// delay a signal.
func ReadStdin(ctx context.Context, r io.Reader) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(r, maxSource))
		done <- result{data, err}
	}()
	select {
	case res := <-done:
		return res.data, res.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
