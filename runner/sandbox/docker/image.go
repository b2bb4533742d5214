package docker

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/mcpgen/mcpgen/runner/sandbox/docker/internal/imagelock"
)

//go:embed image.lock.json
var imageLock []byte

// image is one that guests can run from.
type image struct {
	id    string
	name  string   // for people
	unset []string // variables that the image would set
}

// ImageError says that the image to run from is not there, or not fit.
type ImageError struct {
	Image  string
	Reason string
	hint   string
}

func (e *ImageError) Error() string { return fmt.Sprintf("sandbox image %s %s", e.Image, e.Reason) }

// Hint is what a person can do about it.
func (e *ImageError) Hint() string { return e.hint }

// ExitCode is mcprun's for a sandbox that is not there.
func (e *ImageError) ExitCode() int { return 127 }

const buildHint = "build it: make image (in mcpgen's source tree)"

// image finds the image to run from on an engine of the architecture, by Go's name of it. It asks the engine each time: a
// person may remove it at any time. An engine that takes long but lives is merely busy, and gets more time.
func (b *Backend) image(ctx context.Context, arch string) (image, error) {
	img, err := b.imageWithin(ctx, arch, busyTime)
	if _, bounded := ctx.Deadline(); bounded || ctx.Err() != nil || !isNoAnswer(err) || b.ping() != nil {
		return img, err
	}
	return b.imageWithin(ctx, arch, createTime)
}

func (b *Backend) imageWithin(ctx context.Context, arch string, patience time.Duration) (image, error) {
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var img image
	var err error
	if b.opt.Image != "" {
		img, err = b.namedImage(asking)
	} else {
		img, err = b.pinnedImage(asking, arch)
	}
	if ended := over(ctx); ended != nil { // it is the caller who ended this, not the engine
		return image{}, ended
	}
	return img, err
}

// isNoAnswer tells whether an engine took too long to answer.
func isNoAnswer(err error) bool {
	var e *EngineError
	return errors.As(err, &e) && errors.Is(e.Err, errNoAnswer)
}

func (b *Backend) pinnedImage(ctx context.Context, arch string) (image, error) {
	lock, err := imagelock.Parse(imageLock)
	if err != nil {
		return image{}, err
	}
	pin, ok := lock.Images[arch]
	if !ok {
		return image{}, &ImageError{Image: imagelock.Repository, Reason: "is not pinned for " + arch,
			hint: "build it and mcprun: make image build (in mcpgen's source tree)"}
	}
	found, err := b.client.ImageInspect(ctx, pin.ID)
	if gone(err) {
		// Engines with containerd's image store give images other IDs. The digests of the layers are the same.
		found, err = b.client.ImageInspect(ctx, pin.Tag())
	}
	if gone(err) {
		return image{}, &ImageError{Image: pin.Tag(), Reason: "is not in the engine", hint: buildHint}
	}
	if err != nil {
		return image{}, fmt.Errorf("look for the image %s: %w", pin.Tag(), b.asked(err))
	}
	if !slices.Equal(found.RootFS.Layers, pin.Layers) {
		return image{}, &ImageError{Image: pin.Tag(), Reason: "is not the one that this mcprun was built for", hint: buildHint}
	}
	return b.usable(pin.Tag(), found)
}

func (b *Backend) namedImage(ctx context.Context) (image, error) {
	ref := b.opt.Image
	found, err := b.client.ImageInspect(ctx, ref)
	if gone(err) {
		return image{}, &ImageError{Image: ref, Reason: "is not in the engine", hint: "load, pull or build it first: mcprun never does"}
	}
	if err != nil {
		return image{}, fmt.Errorf("look for the image %s: %w", ref, b.asked(err))
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
