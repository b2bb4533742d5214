// Package images collects the images that a script shows, for hosts that pass them to a model.
package images

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxImages = 8
	MaxBytes  = 5 << 20 // for all images of a run together
)

// imageTypes are the types that hosts show.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// Images holds the images that a script showed. It is safe for concurrent use.
type Images struct {
	mu      sync.Mutex
	content []mcp.Content
	bytes   int
	refused []string // the reasons
}

// Add adds an image, or returns the reason for refusing it.
func (i *Images) Add(mimeType string, data []byte) error {
	mimeType = strings.ToLower(mimeType)
	i.mu.Lock()
	defer i.mu.Unlock()
	if err := i.check(mimeType, data); err != nil {
		if len(i.refused) < 3 {
			i.refused = append(i.refused, "an image was not shown: "+err.Error())
		}
		return err
	}
	i.bytes += len(data)
	i.content = append(i.content, &mcp.ImageContent{MIMEType: mimeType, Data: slices.Clone(data)})
	return nil
}

// List returns the images, and the reasons why others were refused.
func (i *Images) List() (content []mcp.Content, refused []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.content), slices.Clone(i.refused)
}

// check compares the bytes with the type, because a host passes them to a decoder.
func (i *Images) check(mimeType string, data []byte) error {
	switch {
	case !slices.Contains(imageTypes, mimeType):
		return fmt.Errorf("its type %.50q is not one of %s", mimeType, strings.Join(imageTypes, ", "))
	case http.DetectContentType(data) != mimeType:
		return fmt.Errorf("its bytes are not %s", mimeType)
	case len(i.content) >= maxImages:
		return fmt.Errorf("a run shows at most %d images", maxImages)
	case i.bytes+len(data) > MaxBytes:
		return fmt.Errorf("the images of a run have at most %d MiB together; make it smaller, or write it to a file", MaxBytes>>20)
	}
	return nil
}
