package docker

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// repository is the name that every sandbox image is tagged with.
const repository = "mcpgen/sandbox"

// registry is where releases have pushed the pinned images to.
const registry = "ghcr.io/mcpgen/sandbox"

// imageLock pins the image of each architecture, and records what it was built from. image.sh writes it.
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
	// Manifest is the image's digest in the registry, or empty until it has been pushed.
	Manifest string `json:"manifest"`
	// Packages are the Debian packages that the image was built from.
	Packages []debianPackage `json:"packages"`
}

type debianPackage struct{ Name, Version string }

// libraries returns the libraries that the larger image is made for, with their versions.
func (i pinnedImage) libraries() []string {
	var list []string
	for _, p := range i.Packages {
		name, ok := strings.CutPrefix(p.Name, "python3-")
		if !ok || !slices.Contains(dataLibraries, name) {
			continue
		}
		version, _, _ := strings.Cut(p.Version[strings.Index(p.Version, ":")+1:], "-") // without Debian's epoch and revision
		list = append(list, name+" "+strings.TrimSuffix(version, "+dfsg"))
	}
	return list
}

// python returns the version of the image's Python, such as 3.11.
func (i pinnedImage) python() string {
	for _, p := range i.Packages {
		if version, ok := strings.CutPrefix(p.Name, "python"); ok && strings.HasPrefix(version, "3.") && !strings.Contains(version, "-") {
			return version
		}
	}
	return ""
}

// dataLibraries are the packages that image.sh --data asks for; others come as their dependencies.
var dataLibraries = []string{"numpy", "openpyxl", "pandas"}

// imagePins are the pinned images by Go's name of their architecture: the usual ones, and the larger ones with libraries for data.
type imagePins struct{ Images, Data map[string]pinnedImage }

// of returns the pins of one of the two images.
func (p *imagePins) of(data bool) map[string]pinnedImage {
	if data {
		return p.Data
	}
	return p.Images
}

// tag returns the image's name for people.
func (i pinnedImage) tag() string {
	return repository + ":" + strings.TrimPrefix(i.ID, "sha256:")[:12]
}

// readLock reads the lock in the form of image.lock.json.
func readLock(text []byte) (imagePins, error) {
	var pins imagePins
	if err := json.Unmarshal(text, &pins); err != nil {
		return imagePins{}, fmt.Errorf("read the image lock: %w", err)
	}
	for _, images := range []map[string]pinnedImage{pins.Images, pins.Data} {
		for arch, img := range images {
			if digest, ok := strings.CutPrefix(img.ID, "sha256:"); !ok || len(digest) != 64 || len(img.Layers) == 0 {
				return imagePins{}, fmt.Errorf("read the image lock: the image for %q is incomplete", arch)
			}
		}
	}
	return pins, nil
}
