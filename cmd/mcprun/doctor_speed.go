package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// coldStart is the middle time of several starts of a script that prints one line.
func coldStart(ctx context.Context, b sandbox.Backend, lang sandbox.Language) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	r, err := runner.New(nil)
	if err != nil {
		return 0, err
	}
	script := runner.Script{Name: "doctor.ts", Code: `console.log("ready")`, Language: lang, Backend: b, Timeout: startTime}
	if lang == sandbox.LangPython {
		script.Name, script.Code = "doctor.py", `print("ready", flush=True)`
	}
	var took []time.Duration
	for range starts {
		var first stamp
		var said bytes.Buffer
		script.Stdout, script.Stderr = &first, &said
		began := time.Now()
		res, err := r.Run(ctx, script)
		switch {
		case ctx.Err() != nil:
			return 0, fmt.Errorf("%d starts took more than %v", starts, startTime)
		case err != nil:
			return 0, err
		case res.ExitCode != 0 || first.time().IsZero():
			return 0, fmt.Errorf("a script of one line ended with code %d (%s) %s", res.ExitCode, res.Cause, strings.TrimSpace(res.Message+" "+said.String()))
		}
		took = append(took, first.time().Sub(began))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// stamp notes when something was first written to it.
type stamp struct {
	mu sync.Mutex
	at time.Time
}

func (s *stamp) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() && len(p) > 0 {
		s.at = time.Now()
	}
	return len(p), nil
}

func (s *stamp) time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}
