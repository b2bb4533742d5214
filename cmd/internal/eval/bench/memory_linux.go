package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// processes returns the ids of all processes.
func processes() []int {
	entries, _ := os.ReadDir("/proc")
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// memoryOfNew sums the proportional set sizes, in MiB, of the sandboxes' processes that are not in before. Processes of sandboxes
// are descendants of this process or of an engine's shim. ok is false if there are none, or none can be read.
func memoryOfNew(before []int) (mib float64, ok bool) {
	for _, pid := range processes() {
		if slices.Contains(before, pid) || !ofSandbox(pid) {
			continue
		}
		kib, found := pss(pid)
		mib += float64(kib) / 1024
		ok = ok || found
	}
	return mib, ok
}

// ofSandbox reports whether this process, or the shim of an engine, is among the parents of a process.
func ofSandbox(pid int) bool {
	for range 20 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		open, end := strings.IndexByte(string(stat), '('), strings.LastIndexByte(string(stat), ')')
		fields := strings.Fields(string(stat[end+1:]))
		if strings.HasPrefix(string(stat[open+1:]), "containerd-shim") {
			return true
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil || pid <= 1 {
			return false
		}
		if pid == os.Getpid() {
			return true
		}
	}
	return false
}

// pss returns the proportional set size of a process in KiB.
func pss(pid int) (kib int, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "Pss:"); found {
			kib, err = strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return kib, err == nil
		}
	}
	return 0, false
}
