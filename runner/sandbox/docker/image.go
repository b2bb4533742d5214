package docker

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/exit"
)

// repository is the name that every sandbox image is tagged with.
const repository = "mcpgen/sandbox"

// registry is where releases have pushed the pinned images to.
const registry = "ghcr.io/mcpgen/sandbox"

// imageLock pins the image of each architecture, and records what it was made of. image.sh writes it.
//
//go:embed image.lock.json
var imageLock []byte

// pinnedImage is one entry of imageLock.
type pinnedImage struct {
	// ID is the digest of the image's configuration, which names the digests of its layers.
	ID string `json:"id"`
	// Layers are the digests of the uncompressed layers. Engines that keep images in containerd's store know an image
	// by another ID than ours, but by the same layers.
	Layers []string `json:"layers"`
	// Manifest is the image's digest in the registry; empty while nobody has pushed it.
	Manifest string `json:"manifest"`
}

// tag returns the image's name for people.
func (i pinnedImage) tag() string {
	return repository + ":" + strings.TrimPrefix(i.ID, "sha256:")[:12]
}

// readLock returns the pinned images by Go's name of their architecture.
func readLock(data []byte) (map[string]pinnedImage, error) {
	var lock struct {
		Images map[string]pinnedImage `json:"images"`
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return nil, fmt.Errorf("read the image lock: %w", err)
	}
	for arch, img := range lock.Images {
		if digest, ok := strings.CutPrefix(img.ID, "sha256:"); !ok || len(digest) != 64 || len(img.Layers) == 0 {
			return nil, fmt.Errorf("read the image lock: the image for %q is incomplete", arch)
		}
	}
	return lock.Images, nil
}

// image is an image that guests run from.
type image struct {
	id    string
	name  string   // for people
	unset []string // variables that the image would set
}

// ImageError reports that the image to run from is missing, or not suitable.
type ImageError struct {
	Image  string
	Reason string
	hint   string
}

func (e *ImageError) Error() string { return fmt.Sprintf("sandbox image %s %s", e.Image, e.Reason) }

// Hint returns what a person can do about it.
func (e *ImageError) Hint() string { return e.hint }

// ExitCode returns mcprun's code for a sandbox that is not available.
func (e *ImageError) ExitCode() int { return exit.NoBackend }

const installHint = "install it: mcprun image"

// ownImageHint says what to do where the pinned image cannot be had.
const ownImageHint = "build one from a registry's images: docker build -t mcpgen/sandbox:mine https://github.com/mcpgen/mcpgen.git#main:runner/sandbox/docker, then set MCPRUN_IMAGE=mcpgen/sandbox:mine"

// image finds the image to run from on an engine of the architecture, in Go's terms. It asks the engine each time, because
// the image may be removed at any time.
func (b *Backend) image(ctx context.Context, arch string) (image, error) {
	reqCtx, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	var img image
	var err error
	if b.opt.Image != "" {
		img, err = b.namedImage(reqCtx)
	} else {
		img, err = b.pinnedImage(reqCtx, arch)
	}
	if ended := contextErr(ctx); ended != nil { // the caller ended this, not the engine
		return image{}, ended
	}
	return img, err
}

func (b *Backend) pinnedImage(ctx context.Context, arch string) (image, error) {
	pin, err := b.pin(arch)
	if err != nil {
		return image{}, err
	}
	found, err := b.client.ImageInspect(ctx, pin.ID)
	if gone(err) {
		// Engines with containerd's image store give images other IDs. The digests of the layers are the same.
		found, err = b.client.ImageInspect(ctx, pin.tag())
	}
	if gone(err) {
		return image{}, &ImageError{Image: pin.tag(), Reason: "is not in the engine", hint: installHint}
	}
	if err != nil {
		return image{}, fmt.Errorf("inspect the image %s: %w", pin.tag(), b.engineError(err))
	}
	if !slices.Equal(found.RootFS.Layers, pin.Layers) {
		return image{}, &ImageError{Image: pin.tag(), Reason: "is not the one that this mcprun was built for", hint: installHint}
	}
	return b.usable(pin.tag(), found)
}

// pin returns the pinned image of an architecture.
func (b *Backend) pin(arch string) (pinnedImage, error) {
	pins, err := readLock(b.lock)
	if err != nil {
		return pinnedImage{}, err
	}
	pin, ok := pins[arch]
	if !ok {
		return pinnedImage{}, &ImageError{Image: repository, Reason: "is not pinned for " + arch, hint: ownImageHint}
	}
	return pin, nil
}

func (b *Backend) namedImage(ctx context.Context) (image, error) {
	ref := b.opt.Image
	found, err := b.client.ImageInspect(ctx, ref)
	if gone(err) {
		return image{}, &ImageError{Image: ref, Reason: "is not in the engine", hint: "load, pull or build it first; mcprun does not do that for you"}
	}
	if err != nil {
		return image{}, fmt.Errorf("inspect the image %s: %w", ref, b.engineError(err))
	}
	return b.usable(ref, found)
}

// usable refuses what a container would inherit from its image and cannot be told to drop.
func (b *Backend) usable(name string, found client.ImageInspectResult) (image, error) {
	img := image{id: found.ID, name: name}
	if found.Config == nil {
		return img, nil
	}
	if len(found.Config.Volumes) > 0 {
		return image{}, &ImageError{Image: name, Reason: fmt.Sprintf("declares volumes (%s), which would be writable",
			strings.Join(slices.Sorted(maps.Keys(found.Config.Volumes)), ", ")), hint: "build one without VOLUME"}
	}
	for _, kv := range found.Config.Env {
		key, _, _ := strings.Cut(kv, "=")
		img.unset = append(img.unset, key)
	}
	return img, nil
}
