package reading

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

//go:embed python.py
var pythonProgram string

const pythonTime = 10 * time.Second

// Python reads a file with Python's own parser, in an interpreter that imports nothing of the machine and runs nothing of the file. The
// interpreter is a path; empty is an error.
func Python(ctx context.Context, interpreter, text string) (*Module, error) {
	if interpreter == "" {
		return nil, errors.New("there is no python3 to read it with")
	}
	ctx, cancel := context.WithTimeout(ctx, pythonTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter, "-I", "-S", "-c", pythonProgram)
	cmd.Stdin = strings.NewReader(text)
	cmd.Dir = os.TempDir()
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
			return nil, fmt.Errorf("parse it: %s", lines[len(lines)-1])
		}
		return nil, fmt.Errorf("parse it: %w", err)
	}
	found := &Module{}
	if err := json.Unmarshal(out, found); err != nil {
		return nil, fmt.Errorf("parse it: %w", err)
	}
	return found, nil
}
