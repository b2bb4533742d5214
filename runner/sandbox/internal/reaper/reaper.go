// Package reaper removes what this process has created on the machine if it is killed. The first call of [Guard] or [GuardCommand] starts a
// small process that outlives this one and learns every path and command through a pipe. When the pipe ends, it kills the processes in the
// control groups among the paths, removes the paths, and runs the commands. It needs no files of its own, so nothing is left for the next
// start to find.
//
// The reaper ends no other processes, because those of a sandbox end with their parent.
package reaper

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/cgroup"
)

// name is argv[0] of the process, by which Init recognises it.
const name = "mcprun-reaper"

// Init must be called first in main of every program that calls Guard. In the process that Guard starts it does not
// return; in any other it does nothing.
func Init() {
	if len(os.Args) == 1 && os.Args[0] == name {
		signal.Ignore() // it ends only when its parent does
		run(os.Stdin)
		os.Exit(0)
	}
}

// shared is this process's reaper.
var shared reaper

type reaper struct {
	mu      sync.Mutex
	guarded map[string]int // how often each entry is guarded
	pipe    io.Writer      // nil if it is not started
}

// Guard makes sure that paths are removed when this process dies: control groups, folders with their contents, and files. Call it before
// they are created, and release after they were removed. exe is a program whose main calls Init.
func Guard(exe string, paths ...string) (release func(), err error) { return shared.guard(exe, paths) }

// argument separates the arguments of a command's entry, which begins with it. A path does not.
const argument = "\x01"

// GuardCommand makes sure that exe is run when this process dies, with args as its arguments; args[0] takes the place of the program's
// name. The environment is empty. exe is a program whose main calls Init. No argument may contain a byte below 2. The command runs once,
// however often it is guarded, unless every guard was released.
func GuardCommand(exe string, args ...string) (release func(), err error) {
	return shared.guard(exe, []string{argument + strings.Join(args, argument)})
}

func (r *reaper) guard(exe string, entries []string) (release func(), err error) {
	if err := r.tell(exe, '+', entries); err != nil {
		return nil, fmt.Errorf("start the process that cleans up after this one: %w", err)
	}
	return sync.OnceFunc(func() { _ = r.tell(exe, '-', entries) }), nil
}

// tell records entries and passes on those that are new or no longer guarded. If the reaper was killed, it is started again.
func (r *reaper) tell(exe string, what byte, entries []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.guarded == nil {
		r.guarded = make(map[string]int)
	}
	var changed []string
	for _, e := range entries {
		before := r.guarded[e]
		if what == '+' {
			r.guarded[e]++
		} else if r.guarded[e]--; r.guarded[e] <= 0 {
			delete(r.guarded, e)
		}
		if before == 0 || r.guarded[e] == 0 {
			changed = append(changed, e)
		}
	}
	if r.pipe != nil {
		if _, err := io.WriteString(r.pipe, lines(what, changed)); err == nil {
			return nil
		}
	}
	if len(r.guarded) == 0 {
		return nil
	}
	cmd := exec.Command(exe)
	cmd.Args, cmd.Env, cmd.Dir = []string{name}, []string{}, string(filepath.Separator)
	detach(cmd)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }()
	r.pipe = pipe
	_, err = io.WriteString(pipe, lines('+', slices.Collect(maps.Keys(r.guarded))))
	return err
}

// lines is the protocol: '+' or '-', the entry, and a NUL, which no entry holds.
func lines(what byte, entries []string) string {
	var b strings.Builder
	for _, e := range entries {
		b.WriteByte(what)
		b.WriteString(e)
		b.WriteByte(0)
	}
	return b.String()
}

// run reads entries until the parent is gone, and then removes what is left.
func run(from io.Reader) {
	guarded := make(map[string]bool)
	for in := bufio.NewReader(from); ; {
		line, err := in.ReadString(0)
		if err != nil {
			break
		}
		switch entry := line[1 : len(line)-1]; line[0] {
		case '+':
			guarded[entry] = true
		case '-':
			delete(guarded, entry)
		}
	}
	var folders []string
	var commands, groups sync.WaitGroup
	for entry := range guarded {
		switch args, isCommand := strings.CutPrefix(entry, argument); {
		case isCommand:
			commands.Go(func() { execute(strings.Split(args, argument)) })
		case cgroup.IsGroup(entry):
			groups.Go(func() { _ = cgroup.Remove(entry) })
		default:
			folders = append(folders, entry)
		}
	}
	groups.Wait() // after this, nothing in the groups writes to the folders
	for _, path := range folders {
		for range 3 { // a process that is ending may have created another file
			if os.RemoveAll(path) == nil {
				break
			}
		}
	}
	commands.Wait()
}

// execute runs this program with args and an empty environment.
func execute(args []string) {
	exe, err := os.Executable()
	if err != nil {
		return
	}
	cmd := exec.Command(exe)
	cmd.Args, cmd.Env = args, []string{}
	_ = cmd.Run()
}
