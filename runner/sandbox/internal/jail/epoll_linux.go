//go:build linux && (amd64 || arm64)

package jail

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/mcpgen/mcpgen/runner/sandbox/internal/meter"
)

// MostWatches is how much the processes of one run may have epoll look at. The kernel bounds that for a user, and so for
// all runs together and, where these are the caller's own user, for the caller too: without any left hardly a program works.
const MostWatches = 32 << 10

const epollName = "anon_inode:[eventpoll]"

// ManyWatches tells whether processes have epoll look at more than MostWatches or, with locks, hold so many locks of parts
// of files: each is memory of the kernel's, which none but a control group counts. A descriptor that is a copy, as after a
// fork, counts again. What cannot be looked at is not counted.
func ManyWatches(pids []int, locks bool) bool {
	buf := make([]byte, 0, 64<<10)
	sum := 0
	for _, pid := range pids {
		dir := meter.Living(pid)
		names, err := os.ReadDir(filepath.Join(dir, "fd"))
		if err != nil {
			continue
		}
		for _, name := range names {
			to, err := os.Readlink(filepath.Join(dir, "fd", name.Name()))
			mark := "tfd:"
			switch {
			case err != nil:
				continue
			case to == epollName:
			case locks && filepath.IsAbs(to):
				mark = "lock:"
			default:
				continue
			}
			if sum += count(filepath.Join(dir, "fdinfo", name.Name()), mark, buf, MostWatches-sum); sum > MostWatches {
				return true
			}
		}
	}
	return false
}

// count counts the lines of file that begin with mark, of which there is one for each of what a descriptor holds, until
// there are more than most.
func count(file, begin string, buf []byte, most int) (sum int) {
	f, err := os.Open(file)
	if err != nil {
		return 0
	}
	defer f.Close()
	mark := []byte(begin)
	rest := 0 // of the last piece, which may end in the middle of a mark
	for sum <= most {
		n, err := f.Read(buf[rest:cap(buf)])
		if n <= 0 || err != nil {
			break
		}
		piece := buf[:rest+n]
		sum += bytes.Count(piece, mark)
		rest = copy(buf[:cap(buf)], piece[max(0, len(piece)-len(mark)+1):])
	}
	return sum
}
