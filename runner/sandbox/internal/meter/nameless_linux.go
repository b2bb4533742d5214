package meter

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/proctree"
)

// nameless returns the space of removed files on dir's disk that the processes still hold open or have mapped. A mapping counts with its
// full length, since the kernel does not report how much of its file is on disk.
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
