package mcpserver

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxImages     = 8
	maxImageBytes = 5 << 20 // one image, and all of a run
)

// imageTypes are what hosts show.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// images are those that a script showed. It is safe for concurrent use.
type images struct {
	mu    sync.Mutex
	list  []mcp.Content
	bytes int
	no    []string
}

// add takes one image. Its bytes must be what its type says: a host hands them to a decoder.
func (i *images) add(mimeType string, data []byte) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	err := i.check(strings.ToLower(mimeType), data)
	if err != nil {
		if len(i.no) < 3 {
			i.no = append(i.no, "an image was not shown: "+err.Error())
		}
		return err
	}
	i.bytes += len(data)
	i.list = append(i.list, &mcp.ImageContent{MIMEType: strings.ToLower(mimeType), Data: slices.Clone(data)})
	return nil
}

func (i *images) check(mimeType string, data []byte) error {
	switch {
	case !slices.Contains(imageTypes, mimeType):
		return fmt.Errorf("its type %.50q is not one of %s", mimeType, strings.Join(imageTypes, ", "))
	case http.DetectContentType(data) != mimeType:
		return fmt.Errorf("its bytes are not %s", mimeType)
	case len(i.list) >= maxImages:
		return fmt.Errorf("a run shows at most %d images", maxImages)
	case i.bytes+len(data) > maxImageBytes:
		return fmt.Errorf("the images of a run have at most %d MiB together; make it smaller, or write it to a file", maxImageBytes>>20)
	}
	return nil
}

func (i *images) content() []mcp.Content {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.list)
}

func (i *images) refused() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.no)
}
