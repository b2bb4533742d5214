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
		return nil, errors.New("python3 is needed to parse it, and was not found; install it, or adapt the script by hand")
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
			return nil, fmt.Errorf("cannot be parsed: %s", lines[len(lines)-1])
		}
		return nil, fmt.Errorf("cannot be parsed: %w", err)
	}
	found := &Module{}
	if err := json.Unmarshal(out, found); err != nil {
		return nil, fmt.Errorf("cannot be parsed: %w", err)
	}
	return found, nil
}
