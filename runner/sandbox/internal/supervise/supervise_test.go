package supervise

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

func TestUsagePassed(t *testing.T) {
	lim := sandbox.Limits{Memory: 100, Processes: 10, CPU: time.Second}
	for want, u := range map[string]Usage{
		"":                     {Memory: 100, Tasks: 10, CPU: time.Second - 1},
		sandbox.LimitMemory:    {Memory: 101, Tasks: 10, CPU: time.Second},
		sandbox.LimitProcesses: {Memory: 101, Tasks: 11},
		sandbox.LimitCPU:       {CPU: time.Second, Passed: sandbox.LimitFiles},
		sandbox.LimitFiles:     {Passed: sandbox.LimitFiles},
	} {
		if got := u.passed(lim); got != want {
			t.Errorf("%+v.passed() = %q, want %q", u, got, want)
		}
	}
}

// finish ends a guest that exits with code, after calling before.
func finish(t *testing.T, spec sandbox.Spec, code int, failed string, before func(*Guest)) sandbox.Exit {
	t.Helper()
	g := New(func() {})
	g.Begin(t.Context(), spec, nil)
	if before != nil {
		before(g)
	}
	g.Ended()
	g.Kill() // too late to have an effect
	exit := sandbox.Exit{Code: code}
	g.Finish(&exit, failed)
	return exit
}

func TestFinish(t *testing.T) {
	spec := sandbox.Spec{Runtime: sandbox.Node, Limits: sandbox.Limits{Output: 10}}
	exceed := func(g *Guest) { g.Exceed(sandbox.LimitDisk); g.Exceed(sandbox.LimitCPU) }
	for _, c := range []struct {
		name   string
		code   int
		failed string
		before func(*Guest)
		want   sandbox.Exit
	}{
		{"success", 0, sandbox.LimitMemory, nil, sandbox.Exit{}},
		{"failure", 3, "", nil, sandbox.Exit{Code: 3}},
		{"killed on request", 125, sandbox.LimitMemory, (*Guest).Kill, sandbox.Exit{Code: CodeKilled}},
		{"killed for its first limit", 1, "", exceed, sandbox.Exit{Code: CodeKilled, Killed: sandbox.LimitDisk, Hit: []string{sandbox.LimitCPU, sandbox.LimitDisk}}},
		{"ended before it was killed", 0, "", exceed, sandbox.Exit{Killed: sandbox.LimitDisk, Hit: []string{sandbox.LimitCPU, sandbox.LimitDisk}}},
		{"named by the backend", 1, sandbox.LimitMemory, nil, sandbox.Exit{Code: 1, Killed: sandbox.LimitMemory, Hit: []string{sandbox.LimitMemory}}},
		{"file size", CodeFileSize, "", nil, sandbox.Exit{Code: CodeFileSize, Killed: sandbox.LimitFileSize, Hit: []string{sandbox.LimitFileSize}}},
		{"noted", 0, "", func(g *Guest) { g.Note(sandbox.LimitCPU) }, sandbox.Exit{Hit: []string{sandbox.LimitCPU}}},
	} {
		got := finish(t, spec, c.code, c.failed, c.before)
		if got.Code != c.want.Code || got.Killed != c.want.Killed || !slices.Equal(got.Hit, c.want.Hit) {
			t.Errorf("%s: exit %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestOutputLimit(t *testing.T) {
	var out bytes.Buffer
	kills := 0
	g := New(func() { kills++ })
	stdout, _ := g.Begin(t.Context(), sandbox.Spec{Stdout: &out, Limits: sandbox.Limits{Output: 10}}, nil)
	stdout.Write([]byte(strings.Repeat("x", 11)))
	if out.Len() != 10 || kills != 1 || !g.Killed() {
		t.Errorf("%d bytes passed and it was killed %d times, want 10 and 1", out.Len(), kills)
	}
}

func TestWatchEndsWithTheGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kills, looks := 0, 0
		g := New(func() { kills++ })
		ctx, cancel := context.WithCancel(t.Context())
		g.Begin(ctx, sandbox.Spec{}, nil)
		over := make(chan struct{})
		time.AfterFunc(95*time.Millisecond, func() { close(over) })
		g.Watch(over, 10*time.Millisecond, func() Usage { looks++; return Usage{CPU: time.Hour} })
		if kills != 0 || looks != 10 {
			t.Errorf("it was killed %d times after %d looks, want 0 and 10", kills, looks)
		}
		cancel()
		synctest.Wait()
		if kills != 1 {
			t.Errorf("killed %d times at the end of its context, want once", kills)
		}
	})
}
