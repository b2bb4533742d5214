package config

import (
	"fmt"
	"strconv"

	"github.com/docker/go-units"
)

// maxSize bounds sizes, in bytes. It is so low that sums cannot overflow.
const maxSize = 1 << 50

// ParseSize reads a size in bytes, of 0 to 1 PiB. A plain number is megabytes (10⁶ bytes); KiB, MiB and GiB are powers of 1024, kB, MB and
// GB powers of 1000.
func ParseSize(text string) (int64, error) {
	bytes, err := parseSize(text)
	if err != nil || bytes < 0 || bytes > maxSize { // package units does not report an overflow
		return 0, fmt.Errorf("%q is not a size: write megabytes, or for example 512MiB", text)
	}
	return bytes, nil
}

func parseSize(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 40); err == nil {
		return n * 1_000_000, nil
	}
	if len(text) > 3 && text[len(text)-2] == 'i' {
		return units.RAMInBytes(text)
	}
	return units.FromHumanSize(text)
}
