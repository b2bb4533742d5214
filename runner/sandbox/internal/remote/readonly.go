package remote

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

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/runner/internal/safeopen"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/sandbox/internal/layout"
)

// Volumes lists the folders of a container that CopyReadOnly fills. They must be volumes of the container: sandbox.Root holds the guest
// program and the relay. Each folder that a script may read is in the workspace, where a mount can be neither renamed nor removed, and
// sandbox.Root has a link to it.
func Volumes(spec sandbox.Spec) []string {
	all := []string{sandbox.Root}
	for _, target := range layout.Folders(spec) {
		all = append(all, inWorkspace(target))
	}
	for _, f := range layout.Packages(spec) {
		all = append(all, f.Target)
	}
	return all
}

func inWorkspace(target string) string { return path.Join(sandbox.WorkspaceDir, path.Base(target)) }

// CopyReadOnly copies what a guest may only read into its container: its program, others that are needed to start it, and the folders. All
// of it belongs to root; nothing in the container runs as root.
func CopyReadOnly(ctx context.Context, c Container, spec sandbox.Spec, others map[string][]byte) error {
	files := Files()
	maps.Copy(files, others)
	maps.Copy(files, spec.Guest)
	all, ctx := errgroup.WithContext(ctx)
	copyTo := func(folder string, pack func(*tar.Writer) error) {
		all.Go(func() error {
			return copyIn(ctx, c, folder, func(to io.Writer) error {
				t := tar.NewWriter(to)
				return errors.Join(pack(t), t.Close())
			})
		})
	}
	copyTo(sandbox.Root, func(t *tar.Writer) error { return packRoot(t, files, spec) })
	for source, target := range layout.Folders(spec) {
		copyTo(inWorkspace(target), func(t *tar.Writer) error { return packFolder(t, source) })
	}
	for _, f := range layout.Packages(spec) {
		copyTo(f.Target, func(t *tar.Writer) error { return packFolder(t, f.Source) })
	}
	return all.Wait()
}

// copyIn copies the archive that pack writes to a folder of a container.
func copyIn(ctx context.Context, c Container, folder string, pack func(io.Writer) error) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(pack(w)) }()
	defer r.Close()
	return c.CopyIn(ctx, folder, r)
}

// packRoot packs the guest's files, and links to the folders in the workspace.
func packRoot(t *tar.Writer, files map[string][]byte, spec sandbox.Spec) error {
	guest := path.Base(sandbox.GuestDir)
	err := t.WriteHeader(header(tar.TypeDir, guest+"/", 0))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		err = errors.Join(err, packFile(t, path.Join(guest, name), files[name]))
	}
	for _, target := range layout.Folders(spec) {
		h := header(tar.TypeSymlink, path.Base(target), 0)
		h.Linkname = inWorkspace(target)
		err = errors.Join(err, t.WriteHeader(h))
	}
	return err
}

// header describes a file or folder that belongs to root and that nobody else may write to.
func header(kind byte, name string, size int64) *tar.Header {
	mode := int64(0o644)
	if kind != tar.TypeReg {
		mode = 0o755
	}
	return &tar.Header{Typeflag: kind, Name: name, Size: size, Mode: mode, Format: tar.FormatPAX}
}

func packFile(t *tar.Writer, name string, data []byte) error {
	if err := t.WriteHeader(header(tar.TypeReg, name, int64(len(data)))); err != nil {
		return err
	}
	_, err := t.Write(data)
	return err
}

// packFolder packs everything in a folder. Symbolic links are packed as links, except those that readLink refuses.
func packFolder(t *tar.Writer, dir string) error {
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
			target, ok := readLink(root, name)
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
		return packFile(t, name, data)
	})
	if err != nil {
		return fmt.Errorf("read a folder of the run: %w", err)
	}
	return nil
}
