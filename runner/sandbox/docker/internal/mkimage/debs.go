package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runner/sandbox/docker/internal/imagelock"
)

// roots are the packages the image is made of; what they depend on comes along.
var roots = []string{"libc-bin", "libstdc++6", "python3", "tzdata"}

// skipped are dependencies that only installing, documenting or configuring needs, or whose only user in the image is
// dropped (Python's nis module). check proves that no program misses a library of theirs.
var skipped = []string{
	"cdebconf", "debconf", "debconf-2.0", "dpkg", "libnsl2", "libtirpc3", "libtirpc3t64", "media-types", "mime-support",
	"netbase", "readline-common",
}

// deb is a downloaded package.
type deb struct {
	imagelock.Package
	path string
}

// fetchDebs returns the pinned packages, or the newest where there is no pin, one of them cannot be had any more, or
// newest is set.
func fetchDebs(ctx context.Context, dir string, pinned []imagelock.Package, newest bool, log io.Writer) ([]deb, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if len(pinned) > 0 && !newest {
		debs, err := download(ctx, dir, pinned, log)
		if err == nil {
			return debs, nil
		}
		fmt.Fprintf(log, "the pinned packages cannot be had (%v): taking the newest\n", err)
	}
	want, err := resolve(ctx)
	if err == nil {
		var debs []deb
		if debs, err = download(ctx, dir, want, log); err == nil {
			return debs, nil
		}
	}
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w\napt's lists may be missing or old: sudo apt-get update", err)
	}
	fmt.Fprintln(log, "apt-get update")
	if _, err := output(ctx, dir, "apt-get", "-q", "update"); err != nil {
		return nil, err
	}
	if want, err = resolve(ctx); err != nil {
		return nil, err
	}
	return download(ctx, dir, want, log)
}

// resolve finds the newest version of every root and of what it depends on, sorted by name.
func resolve(ctx context.Context) ([]imagelock.Package, error) {
	seen := map[string]bool{}
	for _, name := range skipped {
		seen[name] = true
	}
	var out []imagelock.Package
	for next := roots; len(next) > 0; {
		var todo []string
		for _, name := range next {
			if !seen[name] {
				seen[name] = true
				todo = append(todo, name)
			}
		}
		next = nil
		if len(todo) == 0 {
			break
		}
		text, err := output(ctx, ".", "apt-cache", append([]string{"show", "--no-all-versions"}, todo...)...)
		if err != nil {
			return nil, err
		}
		for _, stanza := range stanzas(text) {
			p := imagelock.Package{Name: stanza["Package"], Version: stanza["Version"], SHA256: stanza["SHA256"]}
			if p.Name == "" || p.Version == "" || p.SHA256 == "" {
				return nil, fmt.Errorf("apt-cache show %v: an entry without name, version or digest", todo)
			}
			out = append(out, p)
			next = append(next, depends(stanza)...)
		}
	}
	slices.SortFunc(out, func(a, b imagelock.Package) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// stanzas reads the control file form, without continuation lines.
func stanzas(text []byte) []map[string]string {
	var all []map[string]string
	current := map[string]string{}
	flush := func() {
		if len(current) > 0 {
			all = append(all, current)
			current = map[string]string{}
		}
	}
	for sc := bufio.NewScanner(bytes.NewReader(text)); sc.Scan(); {
		if strings.TrimSpace(sc.Text()) == "" {
			flush()
			continue
		}
		if key, value, ok := strings.Cut(sc.Text(), ": "); ok && !strings.HasPrefix(key, " ") {
			current[key] = value
		}
	}
	flush()
	return all
}

// depends lists the names a package depends on; of alternatives the first.
func depends(stanza map[string]string) []string {
	var names []string
	for _, field := range []string{"Pre-Depends", "Depends"} {
		for dep := range strings.SplitSeq(stanza[field], ",") {
			name, _, _ := strings.Cut(dep, "|")
			name, _, _ = strings.Cut(strings.TrimSpace(name), " ")
			name, _, _ = strings.Cut(name, ":")
			if name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// download fetches what is not in dir yet and checks every digest.
func download(ctx context.Context, dir string, want []imagelock.Package, log io.Writer) ([]deb, error) {
	var debs []deb
	for _, p := range want {
		d := deb{Package: p, path: filepath.Join(dir, p.SHA256+".deb")}
		if err := d.verify(); err != nil {
			if err := d.fetch(ctx, log); err != nil {
				return nil, err
			}
		}
		debs = append(debs, d)
	}
	return debs, nil
}

func (d deb) fetch(ctx context.Context, log io.Writer) error {
	tmp, err := os.MkdirTemp(filepath.Dir(d.path), "get-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	fmt.Fprintf(log, "apt-get download %s=%s\n", d.Name, d.Version)
	// As root, apt would become another user, who may not write here.
	if _, err := output(ctx, tmp, "apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", d.Name+"="+d.Version); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(tmp, "*.deb"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("apt-get download %s: %d files, %w", d.Name, len(found), err)
	}
	if err := os.Rename(found[0], d.path); err != nil {
		return err
	}
	if err := d.verify(); err != nil {
		return errors.Join(err, os.Remove(d.path))
	}
	return nil
}

func (d deb) verify() error {
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != d.SHA256 {
		return fmt.Errorf("%s %s: digest %s, want %s", d.Name, d.Version, got, d.SHA256)
	}
	return nil
}

// output runs a program in dir and returns what it prints; its complaints become the error.
func output(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}
