package acl

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const nobody = 65534

// asNobody runs touch as the unprivileged user, within the folder, because the folders above it are closed to that user.
func asNobody(t *testing.T, dir, file string) error {
	t.Helper()
	fd, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer fd.Close()
	cmd := exec.Command("touch", "/proc/self/fd/3/"+file)
	cmd.ExtraFiles = []*os.File{fd}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	return cmd.Run()
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		if os.Getenv("CI") != "" {
			t.Fatal("the test cannot run: only root can become another user")
		}
		t.Skip("only root can become another user")
	}
}

func TestGrantLetsTheUserWrite(t *testing.T) {
	needRoot(t)
	dir := filepath.Join(t.TempDir(), "w")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := asNobody(t, dir, "before"); err == nil {
		t.Fatal("the user could write before it was allowed to: got no error, want an error")
	}
	for range 2 { // the second time changes nothing
		if err := Grant(dir, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := asNobody(t, dir, "after"); err != nil {
		t.Errorf("write to the folder: %v", err)
	}
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o770); err != nil {
		t.Fatal(err)
	}
	if err := asNobody(t, sub, "inherited"); err != nil {
		t.Errorf("write to a folder that was created later: %v", err)
	}
	st, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if st.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Error("the owner changed")
	}
	if st.Mode().Perm()&0o007 != 0 {
		t.Errorf("mode %v: other users gained permissions", st.Mode())
	}
}

func TestGrantOwnFolderLeavesNoList(t *testing.T) {
	dir := t.TempDir()
	if err := Grant(dir, os.Geteuid()); err != nil {
		t.Fatal(err)
	}
	if n, err := unix.Getxattr(dir, accessList, nil); err == nil {
		t.Errorf("a list of %d bytes was written for the owner: got no error, want an error", n)
	}
}

func TestReads(t *testing.T) {
	needRoot(t)
	dir := filepath.Join(t.TempDir(), "w")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	before := filepath.Join(dir, "before")
	if err := os.WriteFile(before, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if Reads(dir, nobody) {
		t.Error("a user who is not in the list can read the folder")
	}
	if err := Grant(dir, nobody); err != nil {
		t.Fatal(err)
	}
	after := filepath.Join(dir, "after")
	if err := os.WriteFile(after, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{dir: true, after: true, before: false, filepath.Join(dir, "none"): false} {
		if Reads(name, nobody) != want || Reads(name, nobody-1) {
			t.Errorf("%s: read by the user %t, by another %t", name, !want, Reads(name, nobody-1))
		}
	}
}

func TestGrantMissingFolder(t *testing.T) {
	if err := Grant(filepath.Join(t.TempDir(), "none"), nobody); err == nil {
		t.Error("got no error for a missing folder")
	}
}

func TestWithKeepsOthersBounded(t *testing.T) {
	l := list{{tagUserObj, 7, noID}, {tagUser, 7, 1000}, {tagGroupObj, 5, noID}, {tagMask, 4, noID}, {tagOther, 0, noID}}
	want := list{{tagUserObj, 7, noID}, {tagUser, 4, 1000}, {tagUser, 7, nobody}, {tagGroupObj, 4, noID}, {tagMask, 7, noID}, {tagOther, 0, noID}}
	got := l.with(nobody)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	back, err := parse(got.bytes())
	if err != nil || !slices.Equal(back, want) {
		t.Errorf("read back: %v, %v, want %v and no error", back, err, want)
	}
	if !got.allows(nobody) || got.allows(1000) {
		t.Error("allows disagrees with the entries")
	}
}

func TestParseRefusesGarbage(t *testing.T) {
	for _, b := range [][]byte{nil, {2, 0, 0}, {1, 0, 0, 0}, {2, 0, 0, 0, 1}} {
		if _, err := parse(b); err == nil {
			t.Errorf("parse(%v) returned no error", b)
		}
	}
}
