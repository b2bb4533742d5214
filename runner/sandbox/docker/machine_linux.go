package docker

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/system"
)

// sameMachine tells whether an engine has the kernel and the memory that this process has. What cannot be read leaves
// it unknown.
func sameMachine(info system.Info) (same, known bool) {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return false, false
	}
	meminfo, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return false, false
	}
	line, _, _ := bytes.Cut(meminfo, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) != 3 || fields[0] != "MemTotal:" || info.KernelVersion == "" || info.MemTotal == 0 {
		return false, false
	}
	kib, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return false, false
	}
	return strings.TrimSpace(string(release)) == info.KernelVersion && kib<<10 == info.MemTotal, true
}
