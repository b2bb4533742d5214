package daemon

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// inherited returns what a process inherits on macOS. Its umask can only be read by setting it.
func inherited() (map[string]string, error) {
	mask := unix.Umask(0o077)
	unix.Umask(mask)
	groups, err := unix.Getgroups()
	if err != nil {
		return nil, err
	}
	slices.Sort(groups)
	return map[string]string{
		"the umask": fmt.Sprint(mask), "the user": fmt.Sprint(unix.Getuid(), unix.Geteuid()),
		"the group": fmt.Sprint(unix.Getgid(), unix.Getegid()), "the groups": fmt.Sprint(groups),
	}, nil
}
