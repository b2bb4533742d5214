package docker

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// owner names the process that a container or folder belongs to, so that another one can tell whether it still lives:
// numbers of processes are used again, and mean something only in one process namespace of one boot.
type owner struct {
	boot  string // the boot's ID
	space string // the process namespace
	uid   int
	pid   int
	start string // when the process started, in ticks since the boot
}

// self is this process.
func self() (owner, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return owner{}, fmt.Errorf("name this process: %w", err)
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return owner{}, fmt.Errorf("name this process: %w", err)
	}
	start, err := started(os.Getpid())
	if err != nil {
		return owner{}, fmt.Errorf("name this process: %w", err)
	}
	return owner{
		boot:  strings.TrimSpace(string(boot)),
		space: strings.Trim(space, "pid:[]"),
		uid:   os.Geteuid(), pid: os.Getpid(), start: start,
	}, nil
}

// started reads when a process began; the name before it may hold anything.
func started(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	const startTime = 22 - 3 // the field's number in proc(5), counted from the one behind the name
	if len(fields) <= startTime {
		return "", fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields[startTime], nil
}

func (o owner) String() string {
	return fmt.Sprintf("%s/%s/%d/%d/%s", o.boot, o.space, o.uid, o.pid, o.start)
}

func parseOwner(s string) (owner, bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 5 {
		return owner{}, false
	}
	uid, err1 := strconv.Atoi(parts[2])
	pid, err2 := strconv.Atoi(parts[3])
	if err1 != nil || err2 != nil {
		return owner{}, false
	}
	return owner{boot: parts[0], space: parts[1], uid: uid, pid: pid, start: parts[4]}, true
}

// state is what one process can tell about another.
type state int

const (
	alive state = iota
	dead
	unknown // of another boot, namespace or user
)

// judge tells whether o lives. A process of another user may be invisible, so it is unknown unless root asks.
func (o owner) judge(me owner) state {
	if o.boot != me.boot || o.space != me.space || (o.uid != me.uid && me.uid != 0) {
		return unknown
	}
	start, err := started(o.pid)
	if err == nil && start == o.start {
		return alive
	}
	if err != nil && !os.IsNotExist(err) {
		return unknown
	}
	return dead
}
