package workspace

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestExportAndImport(t *testing.T) {
	r, now := openTest(t, 0)
	c := customer(t, r, "acme")
	s := session(t, c, "one")
	write(t, filepath.Join(c.Files(), "a", "b.txt"), "state")
	write(t, filepath.Join(c.Files(), "a", "lock"), "the script's own")
	write(t, filepath.Join(c.Files(), "run.sh"), "#!/bin/sh")
	if err := os.Chmod(filepath.Join(c.Files(), "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(c.Skills(), "csv", "SKILL.md"), "skill")
	write(t, filepath.Join(c.Vault(), "v"), "sealed")
	if _, err := s.Checkpoint(t.Context(), "cp"); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	done, err := c.Export(t.Context(), &out)
	if err != nil || done.Files != 10 || done.Skipped != 0 {
		t.Fatalf("%+v %v", done, err)
	}
	if _, err := r.Import(t.Context(), bytes.NewReader(out.Bytes()), nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over the one that is there: %v", err)
	}
	other, err := OpenRoot(filepath.Join(t.TempDir(), "others"), &RootOptions{Now: func() time.Time { return *now }})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, as := range []string{"", "copy"} {
		got, err := other.Import(t.Context(), bytes.NewReader(out.Bytes()), &ImportOptions{As: as})
		if err != nil || got.Files != done.Files || got.Bytes != done.Bytes {
			t.Fatalf("%+v %v, want %+v", got, err, done)
		}
		d, err := other.Find(got.Customer)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(d.Files(), "a", "b.txt"), "changed")
		ds, err := d.Session("one")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ds.Restore(t.Context(), "cp"); err != nil {
			t.Fatal(err)
		}
		if read(t, filepath.Join(d.Files(), "a", "b.txt")) != "state" || read(t, filepath.Join(d.Files(), "a", "lock")) == "" || read(t, filepath.Join(d.Vault(), "v")) != "sealed" {
			t.Error("it is not what was exported")
		}
		if st, err := os.Stat(filepath.Join(d.Files(), "run.sh")); err != nil || st.Mode().Perm() != 0o777 {
			t.Errorf("%v %v", st, err)
		}
	}
	if entries, err := os.ReadDir(other.Dir()); err != nil || len(entries) != 4 { // acme, copy, the lock, .gitignore
		t.Errorf("%v %v", entries, err)
	}
	begin(t, c, 0)
	var busy *BusyError
	if _, err := c.Export(t.Context(), &out); !errors.As(err, &busy) {
		t.Errorf("beside a run: %v", err)
	}
}

// tarEntry is one of a tar that a test makes up.
type tarEntry struct {
	name string
	kind byte
	size int64
	link string
	text string
}

func tarOf(t *testing.T, customer string, entries ...tarEntry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	add := func(h *tar.Header, text string) {
		t.Helper()
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf(`{"mcprun":"workspace","version":1,"customer":%q}`, customer)
	add(&tar.Header{Typeflag: tar.TypeReg, Name: exportHead, Size: int64(len(text)), Mode: 0o600}, text)
	for _, name := range folders() {
		add(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o700}, "")
	}
	for _, e := range entries {
		add(&tar.Header{Typeflag: e.kind, Name: e.name, Linkname: e.link, Size: max(e.size, int64(len(e.text))), Mode: 0o7777}, e.text)
		if e.size > int64(len(e.text)) {
			return out.Bytes() // cut short
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestHostileTars(t *testing.T) {
	r, _ := openTest(t, 8<<20)
	file := func(name string) tarEntry { return tarEntry{name: name, kind: tar.TypeReg, text: "x"} }
	dir := func(name string) tarEntry { return tarEntry{name: name, kind: tar.TypeDir} }
	for name, entries := range map[string][]tarEntry{
		"up":               {file("../x")},
		"up inside":        {file("state/../../x")},
		"absolute":         {file("/etc/x")},
		"backslash":        {file(`state\..\..\x`)},
		"dot":              {file("state/./x")},
		"double slash":     {file("state//x")},
		"at the top":       {file("lock")},
		"another folder":   {dir("runs/"), file("runs/x")},
		"folder as file":   {file("state")},
		"link":             {{name: "state/l", kind: tar.TypeSymlink, link: "/etc/passwd"}},
		"hard link":        {file("state/a"), {name: "state/l", kind: tar.TypeLink, link: "state/a"}},
		"device":           {{name: "state/d", kind: tar.TypeChar}},
		"pipe":             {{name: "state/p", kind: tar.TypeFifo}},
		"twice":            {file("state/a"), file("state/a")},
		"folder twice":     {dir("state/a/"), dir("state/a/")},
		"file and folder":  {file("state/a"), dir("state/a/")},
		"below a file":     {file("state/a"), file("state/a/b")},
		"no folder":        {file("state/a/b")},
		"control":          {file("state/a\x1b[2J")},
		"not UTF-8":        {file("state/a\xff")},
		"long":             {file("state/" + strings.Repeat("a", 300))},
		"large":            {{name: "state/a", kind: tar.TypeReg, size: 9 << 20}},
		"largest":          {{name: "state/a", kind: tar.TypeReg, size: 1<<62 + 5}},
		"log is a folder":  {dir("sessions/s/"), dir("sessions/s/log.jsonl/")},
		"lock is a folder": {dir("sessions/s/"), dir("sessions/s/lock/")},
		"no checkpoints":   {dir("sessions/s/"), file("sessions/s/log.jsonl"), file("sessions/s/checkpoints")},
		"no session":       {file("sessions/s")},
		"session's name":   {dir("sessions/a b/")},
		"cut short":        {{name: "state/a", kind: tar.TypeReg, size: 100, text: "x"}},
	} {
		var refused *ImportError
		if _, err := r.Import(t.Context(), bytes.NewReader(tarOf(t, "acme", entries...)), nil); !errors.As(err, &refused) || refused.Hint() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	var many []tarEntry
	for i := range 3000 { // of 4 KiB each on the disk
		many = append(many, file(fmt.Sprint("state/f", i)))
	}
	var refused *ImportError
	if _, err := r.Import(t.Context(), bytes.NewReader(tarOf(t, "acme", many...)), nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "quota") {
		t.Errorf("many small files: %v", err)
	}
	for _, junk := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte{0}, 2048), bytes.Repeat([]byte("a"), 4096)} {
		if _, err := r.Import(t.Context(), bytes.NewReader(junk), &ImportOptions{As: "acme"}); !errors.As(err, &refused) {
			t.Errorf("%.10q: %v", junk, err)
		}
	}
	var id *IDError
	for _, hostile := range []string{"../x", "", "con"} {
		if _, err := r.Import(t.Context(), bytes.NewReader(tarOf(t, hostile)), nil); !errors.As(err, &id) {
			t.Errorf("the customer %q: %v", hostile, err)
		}
	}
	entries, err := os.ReadDir(r.Dir())
	if err != nil || len(entries) != 1 { // .gitignore
		t.Errorf("something was left: %v %v", entries, err)
	}
	if _, err := r.Import(t.Context(), bytes.NewReader(tarOf(t, "acme", file("state/a"))), nil); err != nil {
		t.Errorf("a good one: %v", err)
	}
	if st, err := os.Stat(filepath.Join(r.Dir(), "acme", "state", "a")); err != nil || st.Mode() != 0o777 { // no set-user-ID
		t.Errorf("%v %v", st.Mode(), err)
	}
	if st, err := os.Stat(filepath.Join(r.Dir(), "acme")); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", st.Mode(), err)
	}
}

// TestExportIsBounded: files that say that they are larger than what they take do not fill the disk as a tar.
func TestExportIsBounded(t *testing.T) {
	r, _ := openTest(t, 8<<20)
	c := customer(t, r, "acme")
	write(t, filepath.Join(c.Files(), "a"), "x")
	for i := range 3 {
		name := filepath.Join(c.Files(), fmt.Sprint("sparse", i))
		write(t, name, "")
		if err := os.Truncate(name, 3<<20); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	var large *LargeError
	if _, err := c.Export(t.Context(), &out); !errors.As(err, &large) || large.Hint() == "" {
		t.Errorf("%v", err)
	}
	if out.Len() > 8<<20 {
		t.Errorf("%d bytes were written", out.Len())
	}
	if err := os.Remove(filepath.Join(c.Files(), "sparse0")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(c.Dir(), sessionsDir, "a note"), "not mcprun's")
	out.Reset()
	if done, err := c.Export(t.Context(), &out); err != nil || done.Skipped != 1 {
		t.Errorf("%+v %v", done, err)
	}
	if _, err := r.Import(t.Context(), &out, &ImportOptions{As: "copy"}); err != nil {
		t.Error(err)
	}
}

func FuzzImport(f *testing.F) {
	r, err := OpenRoot(f.TempDir(), &RootOptions{Quota: MinQuota})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { r.Close() })
	c, err := r.Customer("seed")
	if err != nil {
		f.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := c.Export(f.Context(), &out); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add(out.Bytes()[:1000])
	f.Fuzz(func(t *testing.T, data []byte) {
		done, err := r.Import(t.Context(), bytes.NewReader(data), &ImportOptions{As: "new"})
		if (done == nil) != (err != nil) {
			t.Fatalf("%+v %v", done, err)
		}
		if err == nil {
			if err := removeAll(r.root, "new"); err != nil {
				t.Fatal(err)
			}
		}
		if entries, err := os.ReadDir(r.Dir()); err != nil || len(entries) > 2 { // seed, and the lock
			t.Fatalf("%v %v", entries, err)
		}
	})
}
