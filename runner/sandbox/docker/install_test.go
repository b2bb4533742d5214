package docker_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runner/sandbox/docker"
)

// smallImage is an image of one file, in the form in which registries keep images.
type smallImage struct{ manifest, config, layer []byte }

func newSmallImage(t *testing.T, content string) smallImage {
	t.Helper()
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := w.WriteHeader(&tar.Header{Name: "file", Mode: 0o644, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, content)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	img := smallImage{layer: layer.Bytes()}
	img.config = fmt.Appendf(nil, `{"architecture":%q,"os":"linux","config":{},"rootfs":{"type":"layers","diff_ids":[%q]}}`, goarch(), digest(img.layer))
	const docker = "application/vnd.docker."
	img.manifest, _ = json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": docker + "distribution.manifest.v2+json",
		"config": map[string]any{"mediaType": docker + "container.image.v1+json", "size": len(img.config), "digest": digest(img.config)},
		"layers": []any{map[string]any{"mediaType": docker + "image.rootfs.diff.tar", "size": len(img.layer), "digest": digest(img.layer)}},
	})
	return img
}

func digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

// lock pins the image as image.lock.json does, with these layers.
func (i smallImage) lock(layers ...string) []byte {
	text, _ := json.Marshal(map[string]any{"images": map[string]any{goarch(): map[string]any{
		"id": digest(i.config), "layers": layers, "manifest": digest(i.manifest),
	}}})
	return text
}

// serve is a registry on the loopback address that has the image. It returns the image's name there.
func (i smallImage) serve(t *testing.T) string {
	t.Helper()
	files := map[string][]byte{}
	for _, data := range [][]byte{i.manifest, i.config, i.layer} {
		files[digest(data)] = data
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			return
		}
		data, ok := files[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.Contains(r.URL.Path, "/manifests/") {
			w.Header().Set("Content-Type", "application/vnd.docker.distribution.manifest.v2+json")
			w.Header().Set("Docker-Content-Digest", digest(data))
		}
		w.Write(data)
	}))
	t.Cleanup(srv.Close)
	return strings.TrimPrefix(srv.URL, "http://") + "/mcpgen/sandbox"
}

// TestInstallImagePulls: what the registry has under the pinned digest is used if its layers are those that are pinned.
func TestInstallImagePulls(t *testing.T) {
	b := newBackend(t)
	img := newSmallImage(t, t.Name())
	name := "mcpgen/sandbox:" + strings.TrimPrefix(digest(img.config), "sha256:")[:12]
	source := img.serve(t)
	t.Cleanup(func() {
		client := pool(t).Client
		for _, name := range []string{name, source + "@" + digest(img.manifest)} {
			_ = client.RemoveImage(name)
		}
	})

	b.SetImageSource(img.lock("sha256:"+strings.Repeat("0", 64)), source)
	_, _, err := b.InstallImage(t.Context(), docker.InstallOptions{})
	if _, ok := errors.AsType[*docker.ImageError](err); !ok || !strings.Contains(err.Error(), "not the one that this mcprun was built for") {
		t.Errorf("InstallImage() of an image with another layer = %v", err)
	}

	b.SetImageSource(img.lock(digest(img.layer)), source)
	for _, installed := range []bool{false, true} { // it is there from the first part
		if installed {
			if err := pool(t).Client.RemoveImage(name); err != nil {
				t.Fatal(err)
			}
			if err := pool(t).Client.RemoveImage(source + "@" + digest(img.manifest)); err != nil {
				t.Fatal(err)
			}
		}
		got, did, err := b.InstallImage(t.Context(), docker.InstallOptions{})
		if got != name || did != installed || err != nil {
			t.Errorf("InstallImage() = %q, %v, %v, want %q, %v", got, did, err, name, installed)
		}
	}
}

// TestLargerImageIsPreferred: runs use the image with libraries for data while the engine has it.
func TestLargerImageIsPreferred(t *testing.T) {
	b := newBackend(t)
	usual, larger := newSmallImage(t, "usual"), newSmallImage(t, "larger")
	source := larger.serve(t)
	lock := fmt.Sprintf(`{"images": {%[1]q: {"id": %[2]q, "layers": [%[3]q]}}, "data": {%[1]q: {"id": %[4]q, "layers": [%[5]q], "manifest": %[6]q,
		"packages": [{"name": "python3-pandas", "version": "1:1.5.3+dfsg-2"}, {"name": "python3-six", "version": "1.16.0-4"}]}}}`,
		goarch(), digest(usual.config), digest(usual.layer), digest(larger.config), digest(larger.layer), digest(larger.manifest))
	b.SetImageSource([]byte(lock), source)

	if st := b.Probe(t.Context()); st.Usable || st.Remedy != "install it: mcprun image" || st.Packages != nil {
		t.Errorf("Probe() without an image = %+v", st)
	}
	name, installed, err := b.InstallImage(t.Context(), docker.InstallOptions{Data: true})
	if err != nil || !installed {
		t.Fatalf("InstallImage() = %q, %v, %v", name, installed, err)
	}
	t.Cleanup(func() {
		for _, name := range []string{name, source + "@" + digest(larger.manifest)} {
			_ = pool(t).Client.RemoveImage(name)
		}
	})
	st := b.Probe(t.Context())
	if !st.Usable || !strings.Contains(st.Detail, name+" with pandas 1.5.3") || !slices.Equal(st.Packages, []string{"pandas 1.5.3"}) {
		t.Errorf("Probe() with the larger image = %+v", st)
	}
}

func TestInstallImageSaysWhatIsMissing(t *testing.T) {
	b := newBackend(t)
	img := newSmallImage(t, t.Name())
	b.SetImageSource(img.lock(digest(img.layer)), "127.0.0.1:1/mcpgen/sandbox")
	noTools := func(name string) (string, error) {
		if name == "mmdebstrap" {
			return "", exec.ErrNotFound
		}
		return name, nil
	}
	for name, c := range map[string]struct {
		opt        docker.InstallOptions
		text, hint string
	}{
		"no registry":   {docker.InstallOptions{}, "cannot be pulled", "mcprun image --build"},
		"no mmdebstrap": {docker.InstallOptions{Build: true, LookPath: noTools}, "missing mmdebstrap", "apt-get install mmdebstrap"},
	} {
		_, _, err := b.InstallImage(t.Context(), c.opt)
		image, ok := errors.AsType[*docker.ImageError](err)
		if !ok || !strings.Contains(image.Error(), c.text) || !strings.Contains(image.Hint(), c.hint) {
			t.Errorf("%s: InstallImage() = %v", name, err)
		}
	}
}
