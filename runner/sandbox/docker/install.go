package docker

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

// imageScript builds the image from the pins beside it.
//
//go:embed image.sh
var imageScript []byte

// imageTools are the programs that imageScript needs and a small Debian may lack.
var imageTools = []string{"bash", "dpkg-deb", "mmdebstrap", "npm", "python3"}

// InstallOptions say where [Backend.InstallImage] gets the image from.
type InstallOptions struct {
	// Build builds the pinned image on this machine, even if a registry has it.
	Build bool
	// Newest builds an image from the newest packages instead. It is not the pinned one: Options.Image has to name it.
	Newest bool
	// Data asks for the larger image, with numpy, pandas and openpyxl. Runs use it as soon as the engine has it.
	Data bool
	// LookPath finds programs. Nil: exec.LookPath.
	LookPath func(name string) (string, error)
	// Log receives a line when something begins that takes long, and what the build prints. Nil discards it.
	Log io.Writer
}

// InstallImage puts the sandbox image into the engine, unless it has it, and returns its name. The pinned image is pulled by its
// digest if one is known, and built otherwise. Either way, it is used only if it has the pinned layers.
func (b *Backend) InstallImage(ctx context.Context, opt InstallOptions) (name string, installed bool, err error) {
	if opt.LookPath == nil {
		opt.LookPath = exec.LookPath
	}
	if opt.Log == nil {
		opt.Log = io.Discard
	}
	e, err := b.facts(ctx)
	if err != nil {
		return "", false, err
	}
	if opt.Newest {
		name, err = b.buildImage(ctx, &opt, e.arch)
		return name, err == nil, err
	}
	img, err := b.pinnedImage(ctx, e.arch, opt.Data)
	if err == nil {
		return img.name, false, nil
	}
	if !errors.As(err, new(*ImageError)) {
		return "", false, err
	}
	pin, err := b.pin(e.arch, opt.Data)
	if err != nil {
		return "", false, err
	}
	if pin.Manifest != "" && !opt.Build {
		err = b.pullImage(ctx, &opt, pin)
	} else {
		_, err = b.buildImage(ctx, &opt, e.arch)
	}
	if err != nil {
		return "", false, err
	}
	img, err = b.pinnedImage(ctx, e.arch, opt.Data)
	return img.name, err == nil, err
}

func (b *Backend) pullImage(ctx context.Context, opt *InstallOptions, pin pinnedImage) error {
	ref := b.registry + "@" + pin.Manifest
	fmt.Fprintf(opt.Log, "pulling %s\n", ref)
	pulled, err := b.client.ImagePull(ctx, ref, client.ImagePullOptions{})
	if err == nil {
		err = pulled.Wait(ctx)
	}
	if ended := contextErr(ctx); ended != nil {
		return ended
	}
	if err != nil {
		return &ImageError{Image: ref, Reason: fmt.Sprintf("cannot be pulled: %v", b.engineError(err)),
			hint: "check that the engine can reach the registry, or build the image here: mcprun image --build"}
	}
	if _, err := b.client.ImageTag(ctx, client.ImageTagOptions{Source: ref, Target: pin.tag()}); err != nil {
		return fmt.Errorf("name the image %s: %w", pin.tag(), b.engineError(err))
	}
	return nil
}

// buildImage builds the image with imageScript and loads it. It returns the image's name.
func (b *Backend) buildImage(ctx context.Context, opt *InstallOptions, arch string) (string, error) {
	var missing []string
	for _, tool := range imageTools {
		if _, err := opt.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	if len(missing) > 0 {
		return "", &ImageError{Image: repository, Reason: "cannot be built here: missing " + strings.Join(missing, ", no "),
			hint: "on Debian or Ubuntu: sudo apt-get install mmdebstrap debian-archive-keyring npm python3\nelsewhere, " + ownImageHint}
	}
	fmt.Fprintln(opt.Log, "building the image from Debian packages; this takes about a minute")
	dir, err := os.MkdirTemp("", "mcprun-image-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	script, lock := filepath.Join(dir, "image.sh"), filepath.Join(dir, "image.lock.json")
	if err := errors.Join(os.WriteFile(script, imageScript, 0o600), os.WriteFile(lock, b.lock, 0o600)); err != nil {
		return "", err
	}
	args := []string{script}
	if opt.Newest {
		args = append(args, "--newest")
	}
	if opt.Data {
		args = append(args, "--data")
	}
	args = append(args, dir)
	build := exec.CommandContext(ctx, "bash", args...)
	build.Stdout, build.Stderr = opt.Log, opt.Log
	build.Cancel = func() error { return build.Process.Signal(os.Interrupt) } // the script then removes what it has created so far
	build.WaitDelay = 10 * time.Second
	if err := build.Run(); err != nil {
		if ended := contextErr(ctx); ended != nil {
			return "", ended
		}
		return "", &ImageError{Image: repository, Reason: fmt.Sprintf("could not be built: %v; see the output above", err),
			hint: "if Debian has newer packages than this mcprun pins: update mcprun, or run: mcprun image --newest\nor " + ownImageHint}
	}
	if err := b.loadImage(ctx, filepath.Join(dir, "sandbox-"+arch+".tar")); err != nil {
		return "", err
	}
	made, err := os.ReadFile(lock)
	if err != nil {
		return "", err
	}
	pins, err := readLock(made)
	return pins.of(opt.Data)[arch].tag(), err
}

func (b *Backend) loadImage(ctx context.Context, file string) error {
	archive, err := os.Open(file)
	if err != nil {
		return err
	}
	defer archive.Close()
	loaded, err := b.client.ImageLoad(ctx, archive, client.ImageLoadWithQuiet(true))
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(loaded)
		loaded.Close()
	}
	if err == nil && bytes.Contains(answer, []byte(`"errorDetail"`)) { // the engine answers 200 before it reads the archive
		err = errors.New(strings.TrimSpace(string(answer)))
	}
	if err != nil {
		return fmt.Errorf("load the image into the engine: %w", b.engineError(err))
	}
	return nil
}
