package docker

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moby/moby/client"
)

// image is an image that guests run from.
type image struct {
	id    string
	name  string   // for people
	unset []string // variables that the image would set
	data  bool     // it is the pinned image with libraries for data
	// python is the version of its Python, such as 3.11. It is empty if the image does not say it.
	python string
}

const installHint = "install it: mcprun image"

// ownImageHint says what to do if the pinned image is not available.
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
		img, err = b.largestImage(reqCtx, arch)
	}
	if ended := contextErr(ctx); ended != nil { // the caller ended this, not the engine
		return image{}, ended
	}
	return img, err
}

// largestImage returns the pinned image with libraries for data if the engine has it, and otherwise the usual one.
func (b *Backend) largestImage(ctx context.Context, arch string) (image, error) {
	if pins, err := readLock(b.lock); err == nil && pins.Data[arch].ID != "" {
		if img, err := b.pinnedImage(ctx, arch, true); err == nil {
			return img, nil
		}
	}
	return b.pinnedImage(ctx, arch, false)
}

func (b *Backend) pinnedImage(ctx context.Context, arch string, data bool) (image, error) {
	pin, err := b.pin(arch, data)
	if err != nil {
		return image{}, err
	}
	hint := installHint
	if data {
		hint += " --data"
	}
	found, err := b.client.ImageInspect(ctx, pin.ID)
	if gone(err) {
		// Engines with containerd's image store give images other IDs. The digests of the layers are the same.
		found, err = b.client.ImageInspect(ctx, pin.tag())
	}
	if gone(err) {
		return image{}, &ImageError{Image: pin.tag(), Reason: "is not in the engine", hint: hint}
	}
	if err != nil {
		return image{}, fmt.Errorf("inspect the image %s: %w", pin.tag(), b.engineError(err))
	}
	if !slices.Equal(found.RootFS.Layers, pin.Layers) {
		return image{}, &ImageError{Image: pin.tag(), Reason: "is not the one that this mcprun was built for", hint: hint}
	}
	img, err := b.usable(pin.tag(), found)
	img.data, img.python = data, pin.python()
	return img, err
}

// pin returns the pinned image of an architecture: the usual one, or the one with libraries for data.
func (b *Backend) pin(arch string, data bool) (pinnedImage, error) {
	pins, err := readLock(b.lock)
	if err != nil {
		return pinnedImage{}, err
	}
	pin, ok := pins.of(data)[arch]
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

// pythonLabel is the label with which an image says which Python it has, such as 3.11.
const pythonLabel = "mcpgen.python"

// debianPython is the version of Python in the release of Debian that images are built from, which have no label.
const debianPython = "3.11"

// PythonVersion implements sandbox.Packager.
func (b *Backend) PythonVersion(ctx context.Context) (string, error) {
	e, err := b.facts(ctx)
	if err != nil {
		return "", err
	}
	img, err := b.image(ctx, e.arch)
	if err == nil && img.python == "" {
		err = &ImageError{Image: img.name, Reason: "does not say which Python it has, which decides what packages fit it",
			hint: "build it with docker build --label " + pythonLabel + "=" + debianPython + "; packages are installed for that version and for this machine's, and fit no other"}
	}
	return img.python, err
}

// usable refuses an image with settings that a container would inherit and cannot be told to drop.
func (b *Backend) usable(name string, found client.ImageInspectResult) (image, error) {
	img := image{id: found.ID, name: name}
	if found.Config == nil {
		return img, nil
	}
	if len(found.Config.Volumes) > 0 {
		return image{}, &ImageError{Image: name, Reason: fmt.Sprintf("declares volumes (%s), which would be writable",
			strings.Join(slices.Sorted(maps.Keys(found.Config.Volumes)), ", ")), hint: "build one without VOLUME"}
	}
	img.python = found.Config.Labels[pythonLabel]
	for _, kv := range found.Config.Env {
		key, value, _ := strings.Cut(kv, "=")
		img.unset = append(img.unset, key)
		if parts := strings.Split(value, "."); key == "PYTHON_VERSION" && len(parts) > 1 { // as images of the Python project say
			img.python = cmp.Or(img.python, strings.Join(parts[:2], "."))
		}
	}
	if img.python == "" && strings.HasPrefix(name, repository+":") { // mcprun image --newest built it
		img.python = debianPython
	}
	return img, nil
}
