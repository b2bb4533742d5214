package meter

import (
	"errors"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Folders thousands deep must take neither thousands of descriptors nor, for each, the whole way from the top.
const (
	maxBelow   = 64   // how many folders deep one is opened from an open one,
	maxName    = 3000 // in how many bytes; the kernel takes 4095
	maxAnchors = 1000 // folders open at the same time; more need tens of thousands of folders, each beside others
)

// beneath is how folders are opened: no link is followed, and nothing outside is reached.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// anchor is an open folder, kept as long as something below it is still to be looked at.
type anchor struct {
	fd, users int
}

// place is a folder still to be looked at.
type place struct {
	from *anchor
	name string // below from
	deep int    // how many folders below
}

// walker looks at folders, the deepest first. A guest may change them at the same time.
type walker struct {
	used, enough usage
	todo         []place
	anchors      int // open now
}

// measure looks at all that is below dir, until that is more than enough. It follows no link and skips what it cannot
// read.
func measure(dir string, enough usage) usage {
	locked, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return usage{}
	}
	fd, err := unlock(locked) // it may have been the guest's to lock, like those below
	if err != nil {
		return usage{}
	}
	if probe, err := openBelow(fd, ".", unix.O_PATH); err == nil {
		unix.Close(probe)
	} else if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // an older kernel, or a filter that knows no better
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
			w.look(p)
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

// look counts what is in one folder and notes the folders in it.
func (w *walker) look(p place) {
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
				continue // gone meanwhile
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
	for range 10 { // the kernel gives up where something is renamed just then
		fd, err := unix.Openat2(at, name, &unix.OpenHow{Flags: flags | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: beneath})
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
	return -1, unix.EAGAIN
}

// canLook are the permissions that it takes to count what is in a folder.
const canLook = 0o500

// openFolder opens a folder. One that its owner, this user, may not look into is unlocked for good: what cannot be
// seen could not be counted, nor be removed by a person.
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

// Living is the folder of /proc that tells of a process's memory and files. Once its first thread has ended, which it can
// without the others, its own folder has neither, but theirs do.
func Living(pid int) string {
	dir := "/proc/" + strconv.Itoa(pid)
	if !ended(dir) {
		return dir
	}
	tasks, _ := os.ReadDir(dir + "/task")
	for _, t := range tasks {
		if task := dir + "/task/" + t.Name(); !ended(task) {
			return task
		}
	}
	return dir
}

// ended tells whether a thread is there no more, or only because nobody has asked for its end.
func ended(dir string) bool {
	text, err := os.ReadFile(dir + "/stat")
	_, state, ok := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	return err != nil || !ok || strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}

// nameless is what the files take that the processes hold open, or have in memory, and that have no name any more. A
// mapping counts with its length, since nothing tells how much of its file is on disk.
func nameless(pids []int) int64 {
	held := make(map[[2]uint64]int64)
	for _, pid := range pids {
		dir := Living(pid)
		openFiles(dir+"/fd", held)
		mappedFiles(dir+"/maps", held)
	}
	var sum int64
	for _, bytes := range held {
		sum += bytes
	}
	return sum
}

func openFiles(dir string, held map[[2]uint64]int64) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			var st unix.Stat_t
			if unix.Stat(dir+"/"+name, &st) == nil && st.Nlink == 0 && st.Mode&unix.S_IFMT == unix.S_IFREG {
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
		if !strings.HasSuffix(line, " (deleted)") || strings.HasSuffix(line, " /dev/zero (deleted)") { // shared memory
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
