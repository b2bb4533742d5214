package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/mcpgen/mcpgen/runner/sandbox/docker/internal/imagelock"
)

// config is the image's configuration in the form of the OCI image specification; its digest is the image's ID.
// Whatever a container needs is set when it is created, so there is nothing in it to inherit but the user.
type config struct {
	Architecture string   `json:"architecture"`
	Config       settings `json:"config"`
	Created      string   `json:"created"`
	OS           string   `json:"os"`
	RootFS       rootFS   `json:"rootfs"`
}

type settings struct {
	User       string `json:"User"`
	WorkingDir string `json:"WorkingDir"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

// manifest is one entry of manifest.json in an archive for `docker load`.
type manifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// writeArchive writes the archive for `docker load` and fills the image's ID, layers and size.
func writeArchive(file string, files *tree, img *imagelock.Image) error {
	layer, err := files.layer()
	if err != nil {
		return err
	}
	diff := digest(layer)
	conf, err := json.Marshal(config{
		Architecture: runtime.GOARCH,
		Config:       settings{User: "65534:65534", WorkingDir: "/workspace"},
		Created:      time.Unix(0, 0).UTC().Format(time.RFC3339),
		OS:           "linux",
		RootFS:       rootFS{Type: "layers", DiffIDs: []string{"sha256:" + diff}},
	})
	if err != nil {
		return err
	}
	id := digest(conf)
	img.ID, img.Layers, img.Size = "sha256:"+id, []string{"sha256:" + diff}, int64(len(layer))
	man, err := json.Marshal([]manifest{{Config: id + ".json", RepoTags: []string{img.Tag()}, Layers: []string{diff + "/layer.tar"}}})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".archive-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if err := writeParts(tmp, []part{{id + ".json", conf}, {diff + "/layer.tar", layer}, {"manifest.json", man}}); err != nil {
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}

type part struct {
	name string
	data []byte
}

func writeParts(w io.Writer, parts []part) error {
	tw := tar.NewWriter(w)
	for _, p := range parts {
		h := &tar.Header{Name: p.name, Mode: 0o644, Size: int64(len(p.data)), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := tw.Write(p.data); err != nil {
			return err
		}
	}
	return tw.Close()
}

// layer is the tree as an uncompressed tar archive: sorted, everything root's, at the epoch.
func (t *tree) layer() ([]byte, error) {
	var buf bytes.Buffer
	tw := tar.NewWriter(&buf)
	for _, name := range t.names() {
		e := t.entries[name]
		h := &tar.Header{Name: name, Mode: e.mode, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
		switch {
		case e.dir:
			h.Typeflag, h.Name = tar.TypeDir, name+"/"
		case e.link != "":
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		default:
			h.Typeflag, h.Size = tar.TypeReg, int64(len(e.data))
		}
		if err := tw.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := tw.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := tw.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
