package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// SecretSources are where secrets are read from.
type SecretSources struct {
	// Dir is the folder of mcpgen.yaml, in which relative paths are and programs run.
	Dir string
	// Lookup finds variables.
	Lookup Lookup
	// Keyring reads an entry of the system's keyring. It is nil on a machine without a keyring.
	Keyring func(name string) (string, error)
	// Environment is that of programs.
	Environment []string
}

// Bounds of programs that print secrets.
const (
	secretTime = 30 * time.Second
	maxSecret  = 64 << 10
)

// Read returns a secret, without white space around it. An error does not hold it.
func (s *Secret) Read(ctx context.Context, from SecretSources) (string, error) {
	text, err := s.read(ctx, from)
	if text = strings.TrimSpace(text); err == nil && text == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", s, err)
	}
	return text, nil
}

// String names a secret by where it is.
func (s *Secret) String() string {
	switch {
	case s.Keyring != "":
		return fmt.Sprintf("the entry %q of the keyring", s.Keyring)
	case s.File != "":
		return fmt.Sprintf("the file %q", s.File)
	case len(s.Command) > 0:
		return fmt.Sprintf("the output of %q", filepath.Base(s.Command[0]))
	}
	return s.Text
}

func (s *Secret) read(ctx context.Context, from SecretSources) (string, error) {
	switch {
	case s.Keyring != "":
		if from.Keyring == nil {
			return "", errors.New("the system's keyring is not used here")
		}
		return from.Keyring(s.Keyring)
	case s.File != "":
		path := s.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(from.Dir, path)
		}
		text, err := os.ReadFile(path)
		return string(text), err
	case len(s.Command) > 0:
		ctx, cancel := context.WithTimeout(ctx, secretTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
		cmd.Dir, cmd.Env, cmd.WaitDelay = from.Dir, from.Environment, time.Second
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Run(); err != nil {
			return "", err // without what it printed, which may hold the secret
		}
		if out.Len() > maxSecret {
			return "", fmt.Errorf("it has more than %d bytes", maxSecret)
		}
		return out.String(), nil
	}
	e := &expander{dir: from.Dir, lookup: from.Lookup, note: func(string, string) {}, secret: true}
	text := e.text("secret", s.Text)
	if bad, ok := errors.AsType[*ExpandError](e.err); ok {
		return "", fmt.Errorf("%s; %s", bad.Problem, bad.Remedy)
	}
	return text, e.err
}
