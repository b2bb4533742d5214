package daemon

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// inherited returns what a process inherits on Linux.
func inherited() (map[string]string, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	f := map[string]string{}
	words := map[string]string{
		"Umask": "the umask", "Uid": "the user", "Gid": "the group", "Groups": "the groups", "CapEff": "the capabilities",
		"NoNewPrivs": "no_new_privs", "Seccomp": "the system call filter",
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if word, ok := words[name]; ok {
			f[word] = strings.Join(strings.Fields(value), " ")
		}
	}
	for _, name := range []string{"mnt", "net", "user", "pid", "ipc", "uts"} {
		if f["the "+name+" namespace"], err = os.Readlink("/proc/self/ns/" + name); err != nil {
			return nil, err
		}
	}
	var root unix.Stat_t
	if err := unix.Stat("/", &root); err != nil {
		return nil, err
	}
	f["the root folder"] = fmt.Sprint(root.Dev, root.Ino)
	limits := map[string]int{
		"open files": unix.RLIMIT_NOFILE, "processes": unix.RLIMIT_NPROC, "memory": unix.RLIMIT_AS, "file size": unix.RLIMIT_FSIZE,
		"processor time": unix.RLIMIT_CPU, "data": unix.RLIMIT_DATA,
	}
	for name, which := range limits {
		var l unix.Rlimit
		if err := unix.Getrlimit(which, &l); err != nil {
			return nil, err
		}
		f["the limit of "+name] = fmt.Sprint(l.Max) // a Go program raises some of the soft limits by itself
		if which != unix.RLIMIT_NOFILE {
			f["the limit of "+name] = fmt.Sprint(l.Cur, l.Max)
		}
	}
	return f, nil
}
