package hostapi

import (
	"crypto/rand"
	"errors"
	"fmt"
	"mime"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

const (
	// maxImages and maxImageBytes bound the images of one run.
	maxImages     = 50
	maxImageBytes = 64 << 20
	// imageFolder is the folder of images, below the store of the workspace.
	imageFolder = "images"
)

var imageType = regexp.MustCompile(`^image/[a-z0-9][a-z0-9.+-]{0,60}$`)

// Images keeps the images that a script shows until the run has ended, because only then does every sandbox's workspace hold them. It is
// safe for concurrent use.
type Images struct {
	mu    sync.Mutex
	list  []shownImage
	bytes int
}

type shownImage struct {
	mimeType string
	data     []byte
}

// ImageFile is an image in a file.
type ImageFile struct {
	Path     string `json:"path"` // below the workspace
	MimeType string `json:"mimeType"`
	Size     int    `json:"size"` // bytes
}

// Add keeps an image. It returns an error when the run has shown too many images or too many bytes.
func (s *Images) Add(mimeType string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.list) >= maxImages:
		return fmt.Errorf("a run shows at most %d images", maxImages)
	case s.bytes+len(data) > maxImageBytes:
		return fmt.Errorf("the images of a run have at most %d MiB together", maxImageBytes>>20)
	}
	s.list = append(s.list, shownImage{mimeType, data})
	s.bytes += len(data)
	return nil
}

// Store writes the images to the store of the workspace, which may use disk bytes in all (0: the default limit of a run). If it returns an
// error, it also returns the images written so far.
func (s *Images) Store(dir string, disk int64) ([]ImageFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.list) == 0 {
		return nil, nil
	}
	if dir == "" {
		return nil, errors.New("there is no workspace to put the images into")
	}
	now, err := workspace.Take(dir)
	if err != nil {
		return nil, fmt.Errorf("put the images into the workspace: %w", err)
	}
	limits := sandbox.Limits{Disk: disk}.WithDefaults()
	st := workspace.NewStore(dir, limits.Disk-now.Bytes())
	defer st.Close()
	var files []ImageFile
	var failed []error
	run := strings.ToLower(rand.Text()[:8])
	for i, img := range s.list {
		path, err := st.Put(imageFolder, fmt.Sprintf("%s-%d%s", run, i+1, extensionOf(img.mimeType)), img.data)
		if err != nil {
			failed = append(failed, fmt.Errorf("put image %d into the workspace: %w", i+1, err))
			continue
		}
		files = append(files, ImageFile{Path: path, MimeType: img.mimeType, Size: len(img.data)})
	}
	return files, errors.Join(failed...)
}

// extensionOf returns a file name extension, which for the usual types is the same on every machine.
func extensionOf(mimeType string) string {
	switch mimeType {
	case "image/png", "image/gif", "image/webp", "image/avif", "image/bmp":
		return "." + strings.TrimPrefix(mimeType, "image/")
	case "image/jpeg":
		return ".jpg"
	case "image/svg+xml":
		return ".svg"
	case "image/tiff":
		return ".tiff"
	}
	if all, err := mime.ExtensionsByType(mimeType); err == nil && len(all) > 0 {
		return all[0]
	}
	return ".image"
}
