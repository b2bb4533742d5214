package proctree

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
)

// MaxWatches is how many descriptors the processes of one run may have epoll watch. The kernel bounds that for a user, and so
// for all runs together: without any left hardly a program works. A control group does not count them.
const MaxWatches = 32 << 10

// ManyWatches reports whether processes have epoll watch more than MaxWatches descriptors. A descriptor that is a copy, as
// after a fork, counts again. What cannot be looked at is not counted.
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

// readSome reads a file of one line for each watched descriptor, and stops once they are too many.
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
