// Command mkimage builds the sandbox image from Debian packages and npm's node without a registry and loads it into
// the local engine. The same packages give the same image, bit for bit; image.lock.json next to the backend names both.
//
// It needs apt-get, apt-cache, dpkg-deb and npm; downloads are kept in the build folder. Where the mirrors have moved
// on from the pinned packages it takes the new ones, rewrites the lock and says so: programs built before look for
// the old image.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"

	"github.com/mcpgen/mcpgen/runner/sandbox/docker/internal/imagelock"
)

type options struct {
	lock    string
	npmLock string
	build   string
	host    string
	update  bool
	noLoad  bool
}

func main() {
	var o options
	flag.StringVar(&o.lock, "lock", "runner/sandbox/docker/image.lock.json", "the `file` that pins the image")
	flag.StringVar(&o.npmLock, "npm", "testdata/npm/package-lock.json", "the npm lock `file` that pins node")
	flag.StringVar(&o.build, "build", "build/image", "the `folder` for downloads and the archive")
	flag.StringVar(&o.host, "host", "", "the engine's `address` (default: DOCKER_HOST, else /var/run/docker.sock)")
	flag.BoolVar(&o.update, "update", false, "take the newest packages even where the pinned ones are to be had")
	flag.BoolVar(&o.noLoad, "no-load", false, "write the archive only")
	flag.Parse()
	if o.host == "" {
		o.host = os.Getenv("DOCKER_HOST")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "mkimage:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, log io.Writer) error {
	lock, err := readLock(o.lock)
	if err != nil {
		return err
	}
	pin, pinned := lock.Images[runtime.GOARCH]
	node, err := nodePackage(o.npmLock)
	if err != nil {
		return err
	}
	if pinned && !o.update && !o.noLoad && pin.Node == node && loaded(ctx, o.host, pin) {
		fmt.Fprintf(log, "the sandbox image is there: %s (%s)\n", pin.Tag(), pin.ID)
		return nil
	}
	img, archive, err := build(ctx, o, pin, node, log)
	if err != nil {
		return err
	}
	if !img.Same(pin) || pin.Node != img.Node {
		if err := writeLock(o.lock, lock, img); err != nil {
			return err
		}
		defer reportChange(log, o.lock, pin, img)
	}
	if o.noLoad {
		fmt.Fprintf(log, "%s\n", archive)
		return nil
	}
	if err := load(ctx, o.host, archive, img); err != nil {
		return fmt.Errorf("%w\nthe image is in %s: docker load -i %[2]s", err, archive)
	}
	fmt.Fprintf(log, "loaded %s (%s, %d MB)\n", img.Tag(), img.ID, img.Size/1e6)
	return nil
}

// build makes the archive from the pinned packages where they are to be had, and from the newest otherwise.
func build(ctx context.Context, o options, pin imagelock.Image, node imagelock.Node, log io.Writer) (imagelock.Image, string, error) {
	debs, err := fetchDebs(ctx, filepath.Join(o.build, "debs"), pin.Packages, o.update, log)
	if err != nil {
		return imagelock.Image{}, "", err
	}
	nodeArchive, err := fetchNode(ctx, filepath.Join(o.build, "npm"), node, log)
	if err != nil {
		return imagelock.Image{}, "", err
	}
	files := newTree()
	for _, d := range debs {
		if err := files.addDeb(ctx, d.path); err != nil {
			return imagelock.Image{}, "", err
		}
	}
	if err := files.addNode(nodeArchive); err != nil {
		return imagelock.Image{}, "", err
	}
	files.addFixed()
	if err := files.check(); err != nil {
		return imagelock.Image{}, "", err
	}
	if err := files.compilePython(ctx); err != nil {
		return imagelock.Image{}, "", err
	}
	img := imagelock.Image{Node: node}
	for _, d := range debs {
		img.Packages = append(img.Packages, d.Package)
	}
	archive := filepath.Join(o.build, "sandbox-"+runtime.GOARCH+".tar")
	if err := writeArchive(archive, files, &img); err != nil {
		return imagelock.Image{}, "", err
	}
	return img, archive, nil
}

func readLock(path string) (imagelock.Lock, error) {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return imagelock.Lock{}, nil
	}
	if err != nil {
		return imagelock.Lock{}, err
	}
	return imagelock.Parse(data)
}

func writeLock(path string, lock imagelock.Lock, img imagelock.Image) error {
	if lock.Images == nil {
		lock.Images = map[string]imagelock.Image{}
	}
	lock.Images[runtime.GOARCH] = img
	data, err := lock.Marshal()
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// reportChange says what made the image differ from the pinned one.
func reportChange(log io.Writer, path string, pin, img imagelock.Image) {
	fmt.Fprintf(log, "the image is not the one that %s named; the file was rewritten\n", path)
	was := map[string]string{pin.Node.Package: pin.Node.Version}
	for _, p := range pin.Packages {
		was[p.Name] = p.Version
	}
	now := append([]imagelock.Package{{Name: img.Node.Package, Version: img.Node.Version}}, img.Packages...)
	for _, p := range now {
		if old := was[p.Name]; old != p.Version && old != "" {
			fmt.Fprintf(log, "  %s %s → %s\n", p.Name, old, p.Version)
		}
	}
	fmt.Fprintln(log, "build the programs again: they look for the image that was pinned when they were built")
}
