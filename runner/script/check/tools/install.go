package tools

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Bounds of a package. Its hash says that it is the right one; they are against a server that sends without end.
const (
	maxDownload = 200 << 20 // bytes
	maxUnpacked = 1 << 30   // bytes
	maxFiles    = 50_000
	maxTime     = 10 * time.Minute // of one download
)

// IntegrityError reports that a registry sent another file than the pinned one.
type IntegrityError struct {
	URL       string // without a password
	Want, Got string // as npm writes them: sha512-BASE64
}

func (e *IntegrityError) Error() string {
	return fmt.Sprintf("%s is not the file that this version of mcprun expects: its hash is %s, want %s; nothing was installed", e.URL, e.Got, e.Want)
}

// Hint says what to do.
func (e *IntegrityError) Hint() string {
	return "the registry, or a proxy before it, has changed the file: take another registry with --registry"
}

// downloadError reports that a file could not be had.
type downloadError struct{ error }

func (e downloadError) Unwrap() error { return e.error }

// Hint says what to do.
func (downloadError) Hint() string {
	return "take another npm registry with --registry, and a proxy with HTTPS_PROXY"
}

// Install installs the tool in dir, the folder of all tools, which is created if missing. It reports whether it had to: a tool that is
// there is left alone. Registry is the address of an npm registry; empty: an error. A file with another hash than the pinned
// one is an *IntegrityError. Several processes may install the same tool at once.
func (t *Tool) Install(ctx context.Context, dir, registry string) (bool, error) {
	if _, ok := t.Installed(dir); ok {
		return false, nil
	}
	from, err := t.address(registry)
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, fmt.Errorf("make the folder for %s: %w", t.Name, err)
	}
	work, err := os.MkdirTemp(dir, ".new-")
	if err != nil {
		return false, fmt.Errorf("make a folder for %s: %w", t.Name, err)
	}
	defer func() { _ = os.RemoveAll(work) }() // what is left is found by its name
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	file := filepath.Join(work, "package.tgz")
	if err := t.download(ctx, from, file); err != nil {
		return false, err
	}
	unpacked := filepath.Join(work, "package")
	if err := t.unpack(file, unpacked); err != nil {
		return false, fmt.Errorf("unpack %s: %w", from.Redacted(), err)
	}
	if _, ok := t.in(unpacked); !ok {
		return false, fmt.Errorf("unpack %s: it has no %s", from.Redacted(), t.entry)
	}
	if err := os.Rename(unpacked, t.Folder(dir)); err != nil {
		if _, ok := t.Installed(dir); ok {
			return false, nil // another process was faster
		}
		return false, fmt.Errorf("install %s: %w", t.Name, err)
	}
	return true, nil
}

// address returns the address of the package's file in a registry.
func (t *Tool) address(registry string) (*url.URL, error) {
	if registry == "" {
		return nil, errors.New("no npm registry is known; name one: mcprun tools install --registry URL, or install npm, whose registry is taken")
	}
	base, err := url.Parse(registry)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("the address of the npm registry is not an http or https URL: %s", redacted(registry))
	}
	return base.JoinPath(t.Package, "-", t.file()), nil
}

// redacted returns what may be shown of an address that cannot be parsed or is of another kind.
func redacted(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "(not shown)"
}

// download gets the file at an address, if it is the pinned one.
func (t *Tool) download(ctx context.Context, from *url.URL, to string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return downloadError{fmt.Errorf("download %s %s: %w", t.Name, t.Version, err)}
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return downloadError{fmt.Errorf("download %s: the registry answers %s", from.Redacted(), res.Status)}
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	sum := sha512.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(res.Body, maxDownload+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return downloadError{fmt.Errorf("download %s: %w", from.Redacted(), err)}
	}
	if n > maxDownload {
		return downloadError{fmt.Errorf("download %s: it has more than %d bytes", from.Redacted(), maxDownload)}
	}
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum.Sum(nil)); got != t.Integrity {
		return &IntegrityError{URL: from.Redacted(), Want: t.Integrity, Got: got}
	}
	return nil
}

// unpack writes the regular files of a package to a new folder. npm leaves links out, too.
func (t *Tool) unpack(file, to string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	zipped, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	archive, left := tar.NewReader(zipped), int64(maxUnpacked)
	for n := 0; ; n++ {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, below := strings.Cut(path.Clean(head.Name), "/") // the first folder is the package itself
		if head.Typeflag != tar.TypeReg || !below {
			continue
		}
		if left -= head.Size; left < 0 || n == maxFiles {
			return fmt.Errorf("it has more than %d files or %d bytes", maxFiles, maxUnpacked)
		}
		mode := os.FileMode(0o600)
		if name == t.entry {
			mode = 0o700
		}
		if err := write(root, filepath.FromSlash(name), archive, mode); err != nil {
			return err
		}
	}
}

func write(root *os.Root, name string, from io.Reader, mode os.FileMode) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
