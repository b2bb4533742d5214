// Package imagelock is the form of image.lock.json: which sandbox image belongs to this source tree, and what it was
// made of. The image builder writes it, the backend reads the copy that is part of the program.
package imagelock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Repository is what every sandbox image is tagged as.
const Repository = "mcpgen/sandbox"

// Lock holds one image per architecture, by Go's name of it.
type Lock struct {
	Images map[string]Image `json:"images"`
}

// Image is one pinned image.
type Image struct {
	// ID is the digest of the image's configuration, which names the digests of its layers.
	ID string `json:"id"`
	// Layers are the digests of the uncompressed layers. Engines that keep images in containerd's store know an image
	// by another ID than ours and can only be asked for these.
	Layers []string `json:"layers"`
	// Size is that of the layers, in bytes.
	Size     int64     `json:"size"`
	Node     Node      `json:"node"`
	Packages []Package `json:"packages"`
}

// Node is the npm package that the node binary comes from.
type Node struct {
	Package   string `json:"package"`
	Version   string `json:"version"`
	Integrity string `json:"integrity"`
}

// Package is one Debian package.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// Tag is the name a person sees the image by.
func (i Image) Tag() string {
	digest := strings.TrimPrefix(i.ID, "sha256:")
	return Repository + ":" + digest[:min(12, len(digest))]
}

// Same tells whether i and other are one image.
func (i Image) Same(other Image) bool {
	return i.ID == other.ID && slices.Equal(i.Layers, other.Layers)
}

// Parse reads a lock file.
func Parse(data []byte) (Lock, error) {
	var l Lock
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return Lock{}, fmt.Errorf("read the image lock: %w", err)
	}
	for arch, img := range l.Images {
		if len(img.Layers) == 0 || !strings.HasPrefix(img.ID, "sha256:") {
			return Lock{}, fmt.Errorf("read the image lock: %q has no complete image", arch)
		}
	}
	return l, nil
}

// Marshal writes a lock file, the same bytes for the same lock.
func (l Lock) Marshal() ([]byte, error) {
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the image lock: %w", err)
	}
	return append(b, '\n'), nil
}
