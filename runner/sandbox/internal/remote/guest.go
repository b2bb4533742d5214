package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"path"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/layout"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/supervise"
)

// User is the user and group that runs everything in a container.
const User = 65534

// FetchTime is how long it may take to copy back a workspace.
const FetchTime = 2 * time.Minute

// Guest is a guest in a container, as seen by its host. Its owner passes all output of the container to Host.Write, and finally calls
// Host.End.
type Guest struct {
	*Host
	run       *supervise.Guest
	container Container
	log       *slog.Logger

	copied  chan struct{} // closed when the run's workspace is in the container
	handled chan struct{} // closed when the relay's reports have been handled

	mu        sync.Mutex
	workspace *Workspace // nil until there is a run, and if the run has no workspace
	failed    error      // why the run failed through no fault of its script
}

// NewGuest returns the guest of a container that reads from w.
func NewGuest(w io.Writer, run *supervise.Guest, c Container, log *slog.Logger) *Guest {
	g := &Guest{Host: NewHost(w), run: run, container: c, log: log, copied: make(chan struct{}), handled: make(chan struct{})}
	go g.handleReports()
	return g
}

// OpenRun checks the folders of a run, and opens its workspace. It returns nil if the run has none.
func OpenRun(spec sandbox.Spec) (*Workspace, error) {
	var skip []string
	for source, target := range layout.Folders(spec) {
		if err := folder.Check(source); err != nil {
			return nil, err
		}
		skip = append(skip, path.Base(target))
	}
	for _, f := range layout.Packages(spec) {
		if err := folder.Check(f.Source); err != nil {
			return nil, err
		}
	}
	if spec.Workspace == "" {
		return nil, nil
	}
	if err := folder.Check(spec.Workspace); err != nil {
		return nil, err
	}
	lim := spec.Limits.WithDefaults()
	w, err := OpenWorkspace(spec.Workspace, Limits{Bytes: lim.Disk, Files: lim.DiskFiles, Largest: lim.LargestFile(), Skip: skip})
	if large, ok := errors.AsType[*TooLargeError](err); ok {
		return nil, &folder.Error{Path: spec.Workspace, Reason: "cannot be copied to the engine: " + large.Error(),
			Remedy: "use a smaller workspace, raise the limit, or use an engine that sees this machine's folders"}
	}
	return w, err
}

// Begin gives the guest a run with workspace w, which it then owns. w is nil if the run has none.
func (g *Guest) Begin(ctx context.Context, spec sandbox.Spec, w *Workspace) error {
	lim := spec.Limits.WithDefaults()
	g.mu.Lock()
	g.workspace = w
	g.mu.Unlock()
	run := Run{CPU: lim.CPU}
	if w != nil {
		run.Bytes, run.Files = lim.Disk, lim.DiskFiles
	}
	if err := g.Host.Run(run); err != nil {
		return err
	}
	spec.Workspace = "" // the one on this machine is not written to
	stdout, stderr := g.run.Begin(ctx, spec, nil)
	g.Connect(spec.Stdin, stdout, stderr)
	go func() {
		defer close(g.copied)
		if err := g.copyWorkspace(ctx); err != nil && ctx.Err() == nil && !g.hasEnded() {
			g.Fail(err)
		}
	}()
	return nil
}

// Bridge waits for the guest's connection.
func (g *Guest) Bridge(ctx context.Context) (net.Conn, error) {
	select {
	case <-g.spoke:
	case <-g.Exited():
	case <-g.Gone():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	late := time.NewTimer(lateTime)
	defer late.Stop()
	select {
	case <-g.spoke: // what a guest said at its end may come after its status
		return g.conn, nil
	case <-g.complete:
	case <-g.Gone():
	case <-late.C:
	case <-ctx.Done():
	}
	select {
	case <-g.spoke:
		return g.conn, nil
	default:
		return nil, errors.New("the guest ended before it connected")
	}
}

// lateTime bounds the wait for what a guest said before it ended.
const lateTime = time.Second

// Copied is closed when the workspace is in the container, or will never be.
func (g *Guest) Copied() <-chan struct{} { return g.copied }

// Fail ends the guest because of an error that its script did not cause.
func (g *Guest) Fail(err error) {
	g.mu.Lock()
	if g.failed == nil {
		g.failed = err
	}
	g.mu.Unlock()
	g.run.Kill()
}

func (g *Guest) hasEnded() bool {
	select {
	case <-g.Exited():
		return true
	case <-g.Gone():
		return true
	default:
		return false
	}
}

// copyWorkspace copies the run's workspace to the container.
func (g *Guest) copyWorkspace(ctx context.Context) error {
	if g.workspace == nil {
		return nil
	}
	if left := g.workspace.Left(); left > 0 {
		g.log.Warn("some files in the workspace cannot be copied to the engine", "left", left)
	}
	if g.workspace.Empty() {
		return nil
	}
	return copyIn(ctx, g.container, sandbox.WorkspaceDir, func(to io.Writer) error { return g.workspace.Pack(ctx, User, to) })
}

// handleReports acts on the relay's reports.
func (g *Guest) handleReports() {
	defer close(g.handled)
	for {
		select {
		case limit := <-g.limits:
			g.handleLimit(limit)
			continue
		default: // limits are reported before the end
		}
		select {
		case limit := <-g.limits:
			g.handleLimit(limit)
		case <-g.complete:
			if err := g.receiveWorkspace(); IsTooMuch(err) {
				g.run.Exceed(sandbox.LimitDisk)
			} else if err != nil {
				g.Fail(err)
			}
			g.Host.Finish()
			return
		case <-g.Gone():
			return
		}
	}
}

// handleLimit kills the guest for exceeding a limit, or records the limit if the guest has succeeded in the meantime. A guest that has
// failed most likely failed because of the limit, such as a full workspace.
func (g *Guest) handleLimit(limit string) {
	if limit != sandbox.LimitDisk && limit != sandbox.LimitCPU {
		return
	}
	select {
	case <-g.Exited():
		if g.Exit().Code == 0 {
			g.run.Note(limit)
			return
		}
	default:
	}
	g.run.Exceed(limit)
}

// receiveWorkspace copies the workspace back. If the container was killed and is already gone, the workspace stays as it was.
func (g *Guest) receiveWorkspace() error {
	g.mu.Lock()
	w := g.workspace
	g.mu.Unlock()
	if w == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), FetchTime)
	defer cancel()
	archive, err := g.container.CopyOut(ctx, sandbox.WorkspaceDir)
	if errors.Is(err, fs.ErrNotExist) && g.run.Killed() {
		return nil
	}
	if err != nil {
		return err
	}
	defer archive.Close()
	stop := context.AfterFunc(ctx, func() { archive.Close() })
	defer stop()
	return w.Receive(archive)
}

// ApplyChanges applies the changes to the workspace of a container that has ended and whose output was passed to Write. It returns the
// limit that the guest exceeded, if the changes were not applied for that reason.
func (g *Guest) ApplyChanges(lim sandbox.Limits) (passed string, err error) {
	g.Streams()
	<-g.handled
	<-g.copied
	g.mu.Lock()
	defer g.mu.Unlock()
	if why := g.Host.fault; why != "" && g.failed == nil {
		g.failed = fmt.Errorf("the container's relay: %q", why)
	}
	if g.failed != nil || g.workspace == nil {
		return "", g.failed
	}
	res, err := g.workspace.Apply()
	switch {
	case IsTooMuch(err):
		return sandbox.LimitDisk, nil
	case err != nil:
		return "", err
	}
	if res.Left > 0 {
		g.log.Warn("some files that the script left in its workspace cannot be stored on this machine", "left", res.Left, "example", res.Example)
	}
	if res.Largest == lim.WithDefaults().LargestFile() { // larger files existed before
		g.run.Note(sandbox.LimitFileSize)
	}
	return "", nil
}

// LacksChanges reports whether the guest has a workspace that has not been copied back completely.
func (g *Guest) LacksChanges() bool {
	select {
	case <-g.complete:
		return false
	default:
		return g.workspace != nil
	}
}

// Close releases the workspace.
func (g *Guest) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.workspace == nil {
		return nil
	}
	return g.workspace.Close()
}

// Tail keeps the end of what is written to it.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

// Write adds p.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = append(t.text[:0], t.text[max(0, len(t.text)-1000):]...)
	return len(p), nil
}

// String returns the end without surrounding white space.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
