package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/approvals"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/flags"
	"github.com/mcpgen/mcpgen/cmd/mcprun/internal/project"
	"github.com/mcpgen/mcpgen/runner/approve"
	"github.com/mcpgen/mcpgen/runner/store"
)

// Words of --approve.
const (
	approveAuto     = "auto"
	approveNone     = "none"
	approveTerminal = "terminal"
	approveMCP      = "mcp"
	approvePage     = "page"
	approveCommand  = "command"
)

// approveFlags say who approves calls.
type approveFlags struct {
	approve  string
	command  string
	waitTime time.Duration
	page     bool // if nothing says how, the page is asked

	// Ending returns why the command is ending, or nil. It is for a command that cancels its work without saying why. May be nil.
	Ending func() error
}

func (o *approveFlags) bind(f *pflag.FlagSet) {
	o.approve, o.waitTime = approveAuto, approve.DefaultTimeout
	f.Var(flags.Text(&o.approve, "how"), "approve", "who approves calls: terminal, mcp (the client of mcprun serve), page (mcprun approvals), command, none, or several, in order; auto: whatever is available")
	f.Var(flags.Text(&o.command, "program"), "approve-command", "program that approves calls; it reads each question as JSON from standard input")
	f.Var(flags.Duration(&o.waitTime), "approve-time", "refuse the call if nobody answers in this time")
}

// ApproveTime returns how long a call waits for an answer.
func (o *approveFlags) ApproveTime() time.Duration { return o.waitTime }

// words returns the words of --approve.
func (o *approveFlags) words() ([]string, error) {
	list := strings.Split(o.approve, ",")
	for i, word := range list {
		list[i] = strings.TrimSpace(word)
		switch list[i] {
		case approveAuto, approveNone:
			if len(list) > 1 {
				return nil, flags.Usage("--approve %s cannot be combined with other ways", list[i])
			}
		case approveTerminal, approveMCP, approvePage:
		case approveCommand:
			if o.command == "" {
				return nil, flags.Usage("--approve command: name the program with --approve-command")
			}
		default:
			return nil, flags.Usage("--approve %q is not one of auto, terminal, mcp, page, command, none", list[i])
		}
	}
	return list, nil
}

// approverWays holds the ways in which a command can ask, by their words. A way that the command does not have is nil.
type approverWays map[string]func() (approve.Approver, error)

// approver returns who is asked in one run or about one call, or nil if nobody is. auto means the command, then the client, then
// the terminal.
func (o *approveFlags) approver(app *cli.App, p *project.Project, workspace string, say func(string), ways approverWays) (approve.Approver, error) {
	words, err := o.words()
	if err != nil {
		return nil, err
	}
	if o.command != "" {
		ways[approveCommand] = func() (approve.Approver, error) {
			return &approve.Command{Args: []string{o.program(app)}, Dir: app.Dir}, nil
		}
	}
	ways[approvePage] = func() (approve.Approver, error) { return o.newPage(app, p, workspace, say) }
	auto := words[0] == approveAuto
	switch {
	case words[0] == approveNone:
		return nil, nil
	case auto:
		words = []string{approveCommand, approveMCP}
		switch {
		case o.page:
			words = append(words, approvePage)
		case app.Env("CI") == "":
			words = append(words, approveTerminal)
		}
	}
	var list []approve.Approver
	var failed error
	for _, word := range words {
		open := ways[word]
		if open == nil {
			continue
		}
		way, err := open()
		if err != nil {
			failed = err
			continue
		}
		list = append(list, way)
	}
	if len(list) > 0 && !slices.Contains(words, approvePage) && app.Env("CI") == "" {
		if way, err := ways[approvePage](); err == nil {
			list = append(list, approve.WhenTooLong(way))
		}
	}
	if len(list) == 0 && !auto {
		if failed == nil {
			return nil, nil // it is for another command, or this client cannot ask
		}
		return nil, flags.Usage("--approve %s: nobody can be asked: %w", o.approve, failed)
	}
	return approve.New(o.waitTime, list...), nil
}

// newPage returns an approver that asks on the page, and says so. Scripts must not reach its sockets.
func (o *approveFlags) newPage(app *cli.App, p *project.Project, workspace string, say func(string)) (approve.Approver, error) {
	dir := approvals.Dir(app)
	if workspace != "" && project.IsBelow(dir, workspace) {
		return nil, cli.WithHint(fmt.Errorf("the folder of approvals %q is in the workspace %q, where scripts could reach it", dir, workspace),
			"name another workspace, or another folder with XDG_RUNTIME_DIR")
	}
	page := approve.NewPageApprover(dir, approvals.Project(p.Base))
	var once sync.Once
	page.Waits = func() {
		once.Do(func() { say("waiting for approval: start mcprun approvals in this project, and answer on its page") })
	}
	page.Kept = keptOf(app, p, workspace, say)
	page.Ends = func(cause error) bool { return endsProcess(cause) || o.Ending != nil && endsProcess(o.Ending()) }
	return page, nil
}

// keptOf returns the plans and questions that the project's state keeps.
func keptOf(app *cli.App, p *project.Project, workspace string, say func(string)) *approve.Kept {
	return approvals.Kept(app, func(ctx context.Context) (store.Store, error) { return p.State(ctx) }, workspace, say)
}

// endsProcess reports whether a signal that is not Ctrl-C has ended the work: then another process may continue it.
func endsProcess(cause error) bool {
	sig, ok := errors.AsType[*cli.SignalError](cause)
	return ok && sig.Signal != syscall.SIGINT
}

// program returns the program of --approve-command. A name without a slash is searched for on PATH.
func (o *approveFlags) program(app *cli.App) string {
	if strings.ContainsRune(o.command, '/') || strings.ContainsRune(o.command, os.PathSeparator) {
		return app.Path(o.command)
	}
	return o.command
}

// mayAskAtTerminal reports whether somebody may be asked at the terminal.
func mayAskAtTerminal(app *cli.App, approve string) bool {
	return approve == "" && app.Env("CI") == "" || approve == approveAuto && app.Env("CI") == "" || slices.Contains(strings.Split(approve, ","), approveTerminal)
}
