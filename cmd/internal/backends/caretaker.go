package backends

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/cmd/internal/backends/early"
	"github.com/mcpgen/mcpgen/gen/owner"
)

// How long the caretaker waits until its host is gone, how long it tries to remove what that has left, and how long after
// the first time it looks again: an engine may have been asked for a container at the last moment.
const (
	dyingTime = 10 * time.Second
	careTime  = 2 * time.Minute
	lookAgain = 3 * time.Second
	// partTime is how long one that is not needed may take to end.
	partTime = 5 * time.Second
)

// caretaker is a process that outlives this one, however it ends, to remove what it has left in engines: containers are
// children of the engine, so the system does not end them with their host, and what runs in one may take no notice.
type caretaker struct {
	exe string
	env []string
	log *slog.Logger

	mu    sync.Mutex
	users int
	cmd   *exec.Cmd      // nil: there is none
	line  io.WriteCloser // closed by the system when this process ends
}

func newCaretaker(exe string, o *Options) *caretaker {
	// It looks where this process does, whatever appears and goes until then; os.TempDir has a part in RuntimeDir.
	c := &caretaker{exe: exe, env: []string{"TMPDIR=" + os.TempDir(), "TMP=" + os.TempDir()}, log: o.Logger}
	for _, name := range Names() {
		if value, ok := o.LookupEnv(name); ok {
			c.env = append(c.env, name+"="+value)
		}
	}
	if engine := engineHost(o.LookupEnv); engine != "" {
		c.env = append(c.env, "DOCKER_HOST="+engine) // the last of a name counts
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	return c
}

// attend starts the process, unless it is there, and returns a function that says that it is not needed any more.
func (c *caretaker) attend() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users++
	if c.users == 1 {
		if err := c.start(); err != nil {
			c.log.Debug("start a process that removes containers should this one be killed", "error", err)
		}
	}
	return sync.OnceFunc(c.release)
}

func (c *caretaker) start() error {
	me, err := owner.Self()
	if err != nil {
		return err
	}
	cmd := exec.Command(c.exe)
	cmd.Args, cmd.Env = []string{early.Caretaker, me.String()}, c.env
	cmd.Dir = string(filepath.Separator) // it keeps no folder in use
	apart(cmd)
	line, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		line.Close()
		return err
	}
	c.cmd, c.line = cmd, line
	return nil
}

func (c *caretaker) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users--
	if c.users > 0 || c.cmd == nil {
		return
	}
	_, _ = c.line.Write([]byte{early.NotNeeded})
	c.line.Close()
	cmd, ended := c.cmd, make(chan struct{})
	c.cmd = nil
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	select { // it is gone when this process is, but one that somebody has stopped keeps nobody
	case <-ended:
	case <-time.After(partTime):
	}
}

// takeCare is the rest of the caretaker's life, when its host has ended without a word.
func takeCare(host string) int {
	me, err := owner.Self()
	dead, ok := owner.Parse(host)
	if err != nil || !ok {
		return 2
	}
	for until := time.Now().Add(dyingTime); dead.Judge(me) != owner.Dead && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), careTime)
	defer cancel()
	list, err := List(Options{LookupEnv: os.LookupEnv})
	if err != nil {
		return 1
	}
	var each sync.WaitGroup
	for _, b := range list {
		each.Go(func() {
			for clean := false; ctx.Err() == nil; {
				err := b.Sweep(ctx)
				if err == nil && clean {
					return
				}
				clean = err == nil
				select {
				case <-time.After(lookAgain):
				case <-ctx.Done():
				}
			}
		})
	}
	each.Wait()
	return 0
}
