package hostapi

import (
	"strings"
	"testing"
)

func TestShownImages(t *testing.T) {
	var s Images
	for range maxImages {
		if err := s.Add("image/png", []byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Add("image/png", []byte{1}); err == nil {
		t.Error("images are taken without bound: got no error, want an error")
	}
	dir := t.TempDir()
	files, err := s.Store(dir, 0)
	if err != nil || len(files) != maxImages || !strings.HasPrefix(files[0].Path, ".mcprun/images/") || !strings.HasSuffix(files[0].Path, "-1.png") {
		t.Errorf(`%d files, %v, want %d, ".mcprun/images/" at its start, "-1.png" at its end and no error`, len(files), err, maxImages)
	}
	var large Images
	if err := large.Add("image/png", make([]byte, maxImageBytes+1)); err == nil {
		t.Error("an image of any size is taken: got no error, want an error")
	}
	_ = large.Add("image/x-foreign", make([]byte, 5000))
	if files, err := large.Store(dir, 1000); err == nil || len(files) != 0 {
		t.Errorf("the workspace grows over its limit: %v, %v, want an error and len(files) 0", files, err)
	}
	if files, err := large.Store("", 0); err == nil || files != nil {
		t.Errorf("no workspace: %v, %v, want an error and nil", files, err)
	}
	for mimeType, want := range map[string]string{"image/jpeg": ".jpg", "image/svg+xml": ".svg", "image/x-foreign-thing": ".image"} {
		if got := extensionOf(mimeType); got != want {
			t.Errorf("%s: %s, want %s", mimeType, got, want)
		}
	}
}
