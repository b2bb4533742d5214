package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"mime"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/cmd/internal/cli"
	"github.com/mcpgen/mcpgen/runner"
	"github.com/mcpgen/mcpgen/runner/sandbox"
	"github.com/mcpgen/mcpgen/runner/workspace"
)

const (
	// maxImages and maxImageBytes bound what one run shows.
	maxImages     = 50
	maxImageBytes = 64 << 20
	// imageFolder is where images are, in the workspace's folder of what the host puts there.
	imageFolder = "images"
)

var imageType = regexp.MustCompile(`^image/[a-z0-9][a-z0-9.+-]{0,60}$`)

// shownImages keeps the images that a script shows until the run is over: only then is the workspace what it will be, in
// every sandbox.
type shownImages struct {
	mu    sync.Mutex
	list  []shownImage
	bytes int
}

type shownImage struct {
	mimeType string
	data     []byte
}

// imageFile is an image that lies in a file.
type imageFile struct {
	Path     string `json:"path"` // below the workspace
	MimeType string `json:"mimeType"`
	Size     int    `json:"size"` // bytes
}

func (s *shownImages) add(mimeType string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.list) >= maxImages:
		return fmt.Errorf("a run shows at most %d images", maxImages)
	case s.bytes+len(data) > maxImageBytes:
		return fmt.Errorf("the images of a run have at most %s together", byteCount(maxImageBytes))
	}
	s.list = append(s.list, shownImage{mimeType, data})
	s.bytes += len(data)
	return nil
}

// store writes the images into the store of the workspace, which may hold disk bytes in all (0: what a run's limit is by
// itself). What could be written is returned also with an error.
func (s *shownImages) store(dir string, disk int64) ([]imageFile, error) {
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
	var files []imageFile
	var failed []error
	run := strings.ToLower(rand.Text()[:8])
	for i, img := range s.list {
		path, err := st.Put(imageFolder, fmt.Sprintf("%s-%d%s", run, i+1, extensionOf(img.mimeType)), img.data)
		if err != nil {
			failed = append(failed, fmt.Errorf("put image %d into the workspace: %w", i+1, err))
			continue
		}
		files = append(files, imageFile{Path: path, MimeType: img.mimeType, Size: len(img.data)})
	}
	return files, errors.Join(failed...)
}

// extensionOf is the ending of a file's name, the same on every machine for the usual types.
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

// sayImages says where images were put, for people.
func sayImages(say func(string), dir string, files []imageFile, err error) {
	for _, f := range files {
		say(fmt.Sprintf("image: %s (%s, %s)", cli.CleanLine(filepath.Join(dir, filepath.FromSlash(f.Path))), cli.CleanLine(f.MimeType), byteCount(f.Size)))
	}
	if err != nil {
		say(cli.CleanLine(err.Error()))
	}
}

// shownResult is a result with the images that the script showed, and where the run is logged.
type shownResult struct {
	*runner.Result
	Images []imageFile `json:"images,omitempty"`
	Logged *logged     `json:"logged,omitempty"`
}
