package main

import (
	"archive/tar"
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestDepends(t *testing.T) {
	got := stanzas([]byte("Package: a\nVersion: 1\nPre-Depends: p (= 1)\nDepends: b (>= 2), c:any | d, e\nDescription: x\n two lines: of it\n\nPackage: z\n"))
	if len(got) != 2 || got[1]["Package"] != "z" {
		t.Fatalf("stanzas: %v", got)
	}
	if names := depends(got[0]); !slices.Equal(names, []string{"p", "b", "c", "e"}) {
		t.Errorf("depends on %v", names)
	}
}

func TestWanted(t *testing.T) {
	for name, want := range map[string]bool{
		"./usr/bin/python3.11":                              true,
		"./usr/bin/python3-config":                          false,
		"./lib/x86_64-linux-gnu/libc.so.6":                  true,
		"./usr/lib/x86_64-linux-gnu/gconv/UTF-16.so":        false,
		"./lib64/ld-linux-x86-64.so.2":                      true,
		"./usr/lib/python3.11/json/decoder.py":              true,
		"./usr/lib/python3.11/test/x.py":                    false,
		"./usr/lib/python3.11/sitecustomize.py":             false,
		"./usr/share/zoneinfo/Europe/Berlin":                true,
		"./usr/share/zoneinfo/right/Europe/Berlin":          false,
		"./usr/share/doc/libc6/copyright":                   true,
		"./usr/share/doc/libc6/changelog.gz":                false,
		"./etc/passwd":                                      false,
		"./bin/sh":                                          false,
		"./sbin/ldconfig":                                   false,
		"./usr/lib/python3/dist-packages/debpython/x.py":    false,
		"./usr/lib/x86_64-linux-gnu/perl-base/auto/X/X.so":  false,
		"./usr/lib/aarch64-linux-gnu/libstdc++.so.6":        true,
		"./usr/lib/locale/C.utf8/LC_CTYPE":                  true,
		"./usr/share/locale/de/LC_MESSAGES/libc.mo":         false,
		"./usr/lib/python3.11/lib-dynload/nis.cpython-3.so": false,
	} {
		if got := wanted(merged(name)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLayerIsTheSameForTheSameFiles(t *testing.T) {
	build := func(names ...string) []byte {
		files := newTree()
		for _, n := range names {
			files.file(n, 0o755, []byte(n))
		}
		files.link("l", "a")
		layer, err := files.layer()
		if err != nil {
			t.Fatal(err)
		}
		return layer
	}
	one, two := build("a", "b/c", "b/d"), build("b/d", "a", "b/c")
	if !bytes.Equal(one, two) {
		t.Error("the order in which files came shows in the layer")
	}
	for tr := tar.NewReader(bytes.NewReader(one)); ; {
		h, err := tr.Next()
		if err != nil {
			break
		}
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 || h.Mode&0o6000 != 0 {
			t.Errorf("%s: %+v", h.Name, h)
		}
	}
}

func TestCheckFindsWhatIsMissing(t *testing.T) {
	files := newTree()
	files.addFixed()
	files.file("usr/bin/python3", 0o755, []byte("x"))
	files.link("usr/bin/broken", "nowhere")
	files.file("usr/bin/sh", 0o755, []byte("x"))
	err := files.check()
	if err == nil {
		t.Fatal("no fault was found")
	}
	for _, want := range []string{"nowhere", "holds sh", "no usr/local/bin/node"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}
