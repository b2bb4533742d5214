package docker

import (
	_ "embed"
	"encoding/json"
	"fmt"
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
