package meter

import (
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
)

// A tree of folders thousands deep must not take thousands of descriptors, nor a walk from the top for each folder.
const (
	maxBelow   = 64   // how many folders deep a folder is opened from an open one,
	maxName    = 3000 // in how many bytes; the kernel takes 4095
	maxAnchors = 1000 // folders open at the same time; more need tens of thousands of folders, each beside others
)

// beneath opens folders without following links or leaving the tree.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// anchor is an open folder, kept while folders below it are still to be scanned.
type anchor struct {
	fd, users int
}

// place is a folder that is still to be scanned.
type place struct {
	from *anchor
	name string // below from
	deep int    // how many folders below
}

// walker scans folders, the deepest first. A guest may change them at the same time.
type walker struct {
	used, enough usage
	todo         []place
	anchors      int // open now
}

// measure scans all that is below dir and stops when that exceeds enough. It follows no link and skips what it cannot read.
func measure(dir string, enough usage) usage {
	locked, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return usage{}
	}
	fd, err := unlock(locked) // the guest may have locked it, like folders below it
	if err != nil {
		return usage{}
	}
	if probe, err := openBelow(fd, ".", unix.O_PATH); err == nil {
		unix.Close(probe)
	} else if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // an older kernel, or a filter that refuses unknown calls
		unix.Close(fd)
		return measureByNames(dir, enough)
	}
	w := &walker{enough: enough}
	w.todo, w.anchors = []place{{from: &anchor{fd: fd, users: 1}, name: "."}}, 1
	for len(w.todo) > 0 {
		last := len(w.todo) - 1
		p := w.todo[last]
		w.todo = w.todo[:last]
		if !w.used.beyond(enough) {
			w.scan(p)
		}
		w.release(p.from)
	}
	return w.used
}

func (w *walker) release(a *anchor) {
	if a.users--; a.users == 0 {
		w.anchors--
		unix.Close(a.fd)
	}
}

// scan counts what is in one folder and queues the folders in it.
func (w *walker) scan(p place) {
	fd, err := openFolder(p.from.fd, p.name)
	if err != nil {
		return
	}
	dir := os.NewFile(uintptr(fd), p.name)
	defer dir.Close()
	from := p.from
	if p.deep >= maxBelow || len(p.name) > maxName {
		copied := -1
		if w.anchors < maxAnchors {
			copied, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		}
		if copied < 0 || err != nil {
			w.used.tooDeep = true
			return
		}
		from, p = &anchor{fd: copied, users: 1}, place{name: "."}
		w.anchors++
		defer w.release(from)
	}
	for {
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			if w.used.beyond(w.enough) {
				return
			}
			var st unix.Stat_t
			if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue // removed in the meantime
			}
			size := int64(0)
			if st.Mode&unix.S_IFMT == unix.S_IFREG {
				size = st.Size
			}
			w.used.add(size, st.Blocks*512, st.Mtim.Nano())
			if st.Mode&unix.S_IFMT == unix.S_IFDIR {
				from.users++
				w.todo = append(w.todo, place{from: from, name: path.Join(p.name, name), deep: p.deep + 1})
			}
		}
		if err != nil {
			return
		}
	}
}

func openBelow(at int, name string, flags uint64) (int, error) {
	for range 10 { // the kernel gives up if something is renamed at that moment
		fd, err := unix.Openat2(at, name, &unix.OpenHow{Flags: flags | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: beneath})
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
	return -1, unix.EAGAIN
}

// canLook are the permissions needed to scan a folder.
const canLook = 0o500

// openFolder opens a folder. It permanently adds the permissions if this user owns the folder but may not read it: its files could
// otherwise neither be counted nor be removed by a person.
func openFolder(at int, name string) (int, error) {
	fd, err := openBelow(at, name, unix.O_RDONLY)
	if err != nil && !errors.Is(err, unix.EACCES) {
		return fd, err
	}
	var st unix.Stat_t
	if err == nil && (unix.Fstat(fd, &st) != nil || st.Mode&canLook == canLook || int(st.Uid) != os.Geteuid() || st.Uid == 0) {
		return fd, nil
	}
	if err == nil {
		unix.Close(fd)
	}
	locked, err := openBelow(at, name, unix.O_PATH)
	if err != nil {
		return -1, err
	}
	return unlock(locked)
}

// unlock opens the folder that an O_PATH descriptor stands for, and closes that.
func unlock(locked int) (int, error) {
	defer unix.Close(locked)
	var st unix.Stat_t
	if err := unix.Fstat(locked, &st); err != nil {
		return -1, err
	}
	self := "/proc/self/fd/" + strconv.Itoa(locked)
	if int(st.Uid) == os.Geteuid() && st.Mode&canLook != canLook {
		_ = unix.Chmod(self, st.Mode&0o7777|canLook)
	}
	return unix.Open(self, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// nameless returns the space of removed files on dir's disk that the processes still hold open or have mapped. A mapping counts
// with its length, since the kernel does not report how much of its file is on disk.
func nameless(dir string, pids []int) int64 {
	var st unix.Stat_t
	if unix.Stat(dir, &st) != nil {
		return 0
	}
	held := make(map[[2]uint64]int64)
	for _, pid := range pids {
		process := proctree.Living(pid)
		openFiles(process+"/fd", uint64(st.Dev), held)
		mappedFiles(process+"/maps", held)
	}
	var sum int64
	for _, bytes := range held {
		sum += bytes
	}
	return sum
}

func openFiles(dir string, device uint64, held map[[2]uint64]int64) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			var st unix.Stat_t
			if unix.Stat(dir+"/"+name, &st) == nil && st.Nlink == 0 && uint64(st.Dev) == device && st.Mode&unix.S_IFMT == unix.S_IFREG {
				held[[2]uint64{uint64(st.Dev), st.Ino}] = st.Blocks * 512
			}
		}
		if err != nil {
			return
		}
	}
}

// maxMaps bounds what is read of a process's list of mappings.
const maxMaps = 16 << 20

func mappedFiles(file string, held map[[2]uint64]int64) {
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxMaps))
	mapped := make(map[[2]uint64]int64)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasSuffix(line, " (deleted)") || strings.HasSuffix(line, " /dev/zero (deleted)") || strings.Contains(line, " /memfd:") { // memory
			continue
		}
		// from-to permissions offset major:minor inode name
		fields := strings.Fields(line)
		if len(fields) < 6 {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		major, minor, _ := strings.Cut(fields[3], ":")
		var n [5]uint64
		for i, text := range []string{from, to, major, minor} {
			n[i], _ = strconv.ParseUint(text, 16, 64)
		}
		n[4], _ = strconv.ParseUint(fields[4], 10, 64)
		if n[4] != 0 && n[1] > n[0] {
			mapped[[2]uint64{unix.Mkdev(uint32(n[2]), uint32(n[3])), n[4]}] += int64(n[1] - n[0])
		}
	}
	for file, bytes := range mapped {
		if _, known := held[file]; !known {
			held[file] = bytes
		}
	}
}
