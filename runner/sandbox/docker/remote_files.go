package docker

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/folder"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/remote"
)

// A container of a remote engine has anonymous volumes, which the engine removes with it. Those that hold what a script may read
// are filled before the container starts. Their files belong to root, and everything in the container runs as another user
// without capabilities: guest program and relay at sandbox.Root, and each folder in the workspace, where a mount can be neither
// renamed nor removed, with a link to it at sandbox.Root. The workspace is a volume in memory, whose size bounds it; it is filled
// when the container runs, and copied back at its end.

// remoteMounts are the volumes of a container.
func remoteMounts(lim sandbox.Limits, folders []readOnly, labels map[string]string) []mount.Mount {
	volume := func(target string, driver *mount.Driver) mount.Mount {
		return mount.Mount{Type: mount.TypeVolume, Target: target, VolumeOptions: &mount.VolumeOptions{NoCopy: true, Labels: labels, DriverConfig: driver}}
	}
	memory := &mount.Driver{Name: "local", Options: map[string]string{
		"type": "tmpfs", "device": "tmpfs",
		"o": fmt.Sprintf("nosuid,nodev,mode=1777,size=%d,nr_inodes=%d", lim.Disk+remote.Slack, lim.DiskFiles+remote.FileSlack),
	}}
	all := []mount.Mount{volume(sandbox.Root, nil), volume(sandbox.WorkspaceDir, memory)}
	for _, f := range folders {
		all = append(all, volume(path.Join(sandbox.WorkspaceDir, f.name), nil))
	}
	return all
}

// programs returns the guest's files and those that start it.
func programs(guest map[string][]byte) map[string][]byte {
	all := remote.Files()
	all[enterName] = enterProgram
	maps.Copy(all, guest)
	return all
}

// copyIn has write make an archive and copies it to a folder of a container.
func (b *Backend) copyIn(ctx context.Context, container, to string, write func(io.Writer) error) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(write(w)) }()
	_, err := b.client.CopyToContainer(ctx, container, client.CopyToContainerOptions{DestinationPath: to, Content: r})
	r.CloseWithError(io.ErrClosedPipe)
	if err != nil {
		return fmt.Errorf("copy files to %s of container %s: %w", to, container, b.engineError(err))
	}
	return nil
}

// copyReadOnly copies the files that a script may read into a container.
func (b *Backend) copyReadOnly(ctx context.Context, container string, spec sandbox.Spec) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var all errgroup.Group
	copyTo := func(folder string, write func(*tar.Writer) error) {
		all.Go(func() error {
			return b.copyIn(ctx, container, folder, func(to io.Writer) error {
				t := tar.NewWriter(to)
				return errors.Join(write(t), t.Close())
			})
		})
	}
	folders := readOnlyFolders(spec)
	copyTo(sandbox.Root, func(t *tar.Writer) error { return writeRoot(t, programs(spec.Guest), folders) })
	for _, f := range folders {
		copyTo(path.Join(sandbox.WorkspaceDir, f.name), func(t *tar.Writer) error { return writeFolder(t, f.source) })
	}
	return all.Wait()
}

// writeRoot packs the guest's files and links to folders in the workspace.
func writeRoot(t *tar.Writer, files map[string][]byte, folders []readOnly) error {
	guest := path.Base(sandbox.GuestDir)
	err := t.WriteHeader(header(tar.TypeDir, guest+"/", 0))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err = errors.Join(err, writeFile(t, path.Join(guest, name), files[name]))
	}
	for _, f := range folders {
		h := header(tar.TypeSymlink, f.name, 0)
		h.Linkname = path.Join(sandbox.WorkspaceDir, f.name)
		err = errors.Join(err, t.WriteHeader(h))
	}
	return err
}

// header describes something that belongs to root and that nobody else may write to.
func header(kind byte, name string, size int64) *tar.Header {
	mode := int64(0o644)
	if kind != tar.TypeReg {
		mode = 0o755
	}
	return &tar.Header{Typeflag: kind, Name: name, Size: size, Mode: mode, Format: tar.FormatPAX}
}

func writeFile(t *tar.Writer, name string, data []byte) error {
	if err := t.WriteHeader(header(tar.TypeReg, name, int64(len(data)))); err != nil {
		return err
	}
	_, err := t.Write(data)
	return err
}

// writeFolder packs everything in a folder. Symbolic links are packed as links, but for those that [remote.Link] refuses.
func writeFolder(t *tar.Writer, dir string) error {
	root, err := safeopen.Root(dir)
	if err != nil {
		return fmt.Errorf("read a folder of the run: %w", err)
	}
	defer root.Close()
	err = fs.WalkDir(safeopen.FS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir():
			return t.WriteHeader(header(tar.TypeDir, name+"/", 0))
		case d.Type()&fs.ModeSymlink != 0:
			target, ok := remote.Link(root, name)
			if !ok {
				return nil
			}
			h := header(tar.TypeSymlink, name, 0)
			h.Linkname = target
			return t.WriteHeader(h)
		case !d.Type().IsRegular():
			return nil
		}
		data, err := fs.ReadFile(safeopen.FS(root), name)
		if err != nil {
			return err
		}
		return writeFile(t, name, data)
	})
	if err != nil {
		return fmt.Errorf("read a folder of the run: %w", err)
	}
	return nil
}

// openWorkspace opens the workspace of a run; nil if it has none.
func openWorkspace(spec sandbox.Spec) (*remote.Workspace, error) {
	var skip []string
	for _, f := range readOnlyFolders(spec) {
		if err := folder.Check(f.source); err != nil {
			return nil, err
		}
		skip = append(skip, f.name)
	}
	if spec.Workspace == "" {
		return nil, nil
	}
	if err := folder.Check(spec.Workspace); err != nil {
		return nil, err
	}
	lim := spec.Limits.WithDefaults()
	w, err := remote.OpenWorkspace(spec.Workspace, remote.Limits{
		Bytes: lim.Disk, Files: lim.DiskFiles, Largest: fileSize(lim), Skip: skip,
	})
	if large, ok := errors.AsType[*remote.TooLargeError](err); ok {
		return nil, &folder.Error{Path: spec.Workspace, Reason: "cannot be copied to the engine: " + large.Error(),
			Remedy: "use a smaller workspace or a larger limit, or an engine that sees this machine's folders"}
	}
	return w, err
}

// copyWorkspace copies the run's workspace to the container.
func (r *remoteProcess) copyWorkspace(ctx context.Context) error {
	if r.workspace == nil {
		return nil
	}
	if left := r.workspace.Left(); left > 0 {
		r.backend.log.Warn("not everything in the workspace can be copied to the engine", "left", left)
	}
	if r.workspace.Empty() {
		return nil
	}
	return r.backend.copyIn(ctx, r.id, sandbox.WorkspaceDir, func(to io.Writer) error { return r.workspace.Pack(ctx, nobody, to) })
}

// receiveWorkspace copies the workspace back. A container that was killed may be gone before that can begin: the workspace
// stays as it was then.
func (r *remoteProcess) receiveWorkspace() error {
	r.mu.Lock()
	w := r.workspace
	r.mu.Unlock()
	if w == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	res, err := r.backend.client.CopyFromContainer(ctx, r.id, client.CopyFromContainerOptions{SourcePath: sandbox.WorkspaceDir + "/."})
	if errdefs.IsNotFound(err) && r.isKilled() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy the workspace from container %s: %w", r.id, r.backend.engineError(err))
	}
	defer res.Content.Close()
	stop := time.AfterFunc(fetchTime, func() { res.Content.Close() })
	defer stop.Stop()
	return w.Receive(res.Content)
}

// applyChanges applies the changes that were received to the workspace. It returns the limit that the guest has passed, or "".
func (r *remoteProcess) applyChanges(spec sandbox.Spec) (limit string, err error) {
	res, err := r.workspace.Apply()
	switch {
	case remote.IsTooMuch(err):
		return sandbox.LimitDisk, nil
	case err != nil:
		return "", err
	}
	if res.Left > 0 {
		r.backend.log.Warn("not everything that a script left in its workspace can be there on this machine", "left", res.Left, "example", res.Example)
	}
	if res.Largest == fileSize(spec.Limits.WithDefaults()) { // larger files existed before
		return sandbox.LimitFileSize, nil
	}
	return "", nil
}
