package proctree

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
)

// MaxWatches bounds how many descriptors the processes of one run may watch with epoll. The kernel bounds this per user, and so for all
// runs together; with none left, hardly any program works. A control group does not count them.
const MaxWatches = 32 << 10

// ManyWatches reports whether processes watch more than MaxWatches descriptors with epoll. A copy of a descriptor, as after a fork, counts
// again. Processes that cannot be examined are not counted.
func ManyWatches(pids []int) bool {
	total := 0
	for _, pid := range pids {
		dir := Living(pid)
		names, _ := os.ReadDir(filepath.Join(dir, "fd"))
		for _, name := range names {
			if to, _ := os.Readlink(filepath.Join(dir, "fd", name.Name())); to != "anon_inode:[eventpoll]" {
				continue
			}
			text := readSome(filepath.Join(dir, "fdinfo", name.Name()))
			if total += bytes.Count(text, []byte("tfd:")); total > MaxWatches {
				return true
			}
		}
	}
	return false
}

// readSome reads a file with one line for each watched descriptor, and stops once there are too many.
func readSome(file string) []byte {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	const longestLine = 160
	text, _ := io.ReadAll(io.LimitReader(f, (MaxWatches+1)*longestLine))
	return text
}
