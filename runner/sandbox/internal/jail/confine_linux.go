//go:build linux && (amd64 || arm64)

package jail

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// confine gives up, for every thread of this process, all it does not need from here on. The order matters: what
// needs a privilege comes before the privilege goes, and the filter comes last because it refuses what the others use.
func confine(p *plan, lastCap int) (missing []string, err error) {
	if err := setLimits(p.Limits); err != nil {
		return nil, err
	}
	// The bounding set matters to what execs, so to the thread that starts the program; a function's process has only
	// this one chance and nothing to exec. Both are covered by dropping it here, on the thread that Init has locked.
	for c := 0; c <= lastCap; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && p.canDropBounds() {
			return nil, fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if err := dropUser(p.DropTo); err != nil {
		return nil, err
	}
	if err := dropCapabilities(); err != nil {
		return nil, err
	}
	// Changing the user cleared the parent-death signal. Not dumpable: /proc/<pid> of init belongs to root, so that the
	// script, which has the same user, reaches none of its memory or descriptors there.
	for _, ctl := range [][2]uintptr{{unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL)}, {unix.PR_SET_DUMPABLE, 0}, {unix.PR_SET_NO_NEW_PRIVS, 1}} {
		if err := prctlAll(ctl[0], ctl[1]); err != nil {
			return nil, fmt.Errorf("prctl %d: %w", ctl[0], err)
		}
	}
	if missing, err = applyLandlock(p); err != nil {
		return nil, err
	}
	return missing, applySeccomp(p.Program == "")
}

// canDropBounds tells whether this process has the right to: it does inside a user namespace of its own and as root.
func (p *plan) canDropBounds() bool { return p.Namespaces || p.DropTo != 0 }

func setLimits(l rlimits) error {
	for _, lim := range []struct {
		name  string
		which int
		value uint64
		set   bool
	}{
		{"core size", unix.RLIMIT_CORE, 0, true},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0, true},
		{"locked memory", unix.RLIMIT_MEMLOCK, 64 << 10, true},
		{"real-time priority", unix.RLIMIT_RTPRIO, 0, true},
		{"open files", unix.RLIMIT_NOFILE, l.Files, l.Files > 0},
		{"file size", unix.RLIMIT_FSIZE, l.FileSize, l.FileSize > 0},
		{"processor time", unix.RLIMIT_CPU, l.CPU, l.CPU > 0},
		{"data", unix.RLIMIT_DATA, l.Data, l.Data > 0},
		{"processes", unix.RLIMIT_NPROC, l.Processes, l.Processes > 0},
	} {
		if !lim.set {
			continue
		}
		var old syscall.Rlimit
		if err := syscall.Getrlimit(lim.which, &old); err != nil {
			return fmt.Errorf("limit %s: %w", lim.name, err)
		}
		value := min(lim.value, old.Max) // raising a limit is neither wanted nor allowed
		hard := value
		if lim.which == unix.RLIMIT_CPU { // the soft limit sends a signal that tells the cause, the hard one kills
			hard = min(value+1, old.Max)
		}
		// syscall, not unix: it also forgets the soft limit on files that the Go runtime would give back to children.
		if err := syscall.Setrlimit(lim.which, &syscall.Rlimit{Cur: value, Max: hard}); err != nil {
			return fmt.Errorf("limit %s: %w", lim.name, err)
		}
	}
	return nil
}

// dropUser becomes the user id, with no other group; 0 leaves everything as it is.
func dropUser(id int) error {
	if id == 0 {
		return nil
	}
	// The syscall package changes all threads.
	if err := syscall.Setgroups([]int{}); err != nil {
		return fmt.Errorf("give up groups: %w", err)
	}
	if err := syscall.Setresgid(id, id, id); err != nil {
		return fmt.Errorf("become group %d: %w", id, err)
	}
	if err := syscall.Setresuid(id, id, id); err != nil {
		return fmt.Errorf("become user %d: %w", id, err)
	}
	return nil
}

func dropCapabilities() error {
	if err := prctlAll(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	if errno != 0 {
		return fmt.Errorf("drop capabilities: %w", errno)
	}
	return nil
}

// prctlAll calls prctl on every thread, cgo's included.
func prctlAll(option, arg uintptr) error {
	if _, _, errno := psx.Syscall6(unix.SYS_PRCTL, option, arg, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// applyLandlock repeats with paths what the mounts already say, and closes what mounts don't: where there are no
// namespaces, it is what keeps a function away from every file.
func applyLandlock(p *plan) (missing []string, err error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return []string{"landlock: the kernel does not offer it"}, nil
	}
	if abi < 3 {
		missing = append(missing, fmt.Sprintf("landlock: version %d of the kernel lacks some rights", abi))
	}
	rules := landlockRules(p, abi >= 2)
	if err := landlock.V6.BestEffort().Restrict(rules...); err != nil {
		return nil, fmt.Errorf("landlock: %w", err)
	}
	return missing, nil
}

// landlockRules allow what the jail shows: everything in its own root where it has one, else the mounts' sources.
// refer: the kernel knows the right to move files between folders; asking an older one for it would switch everything off.
func landlockRules(p *plan, refer bool) []landlock.Rule {
	var rules []landlock.Rule
	writable := func(dirs ...string) {
		rule := landlock.RWDirs(dirs...)
		if refer {
			rule = rule.WithRefer()
		}
		rules = append(rules, rule)
	}
	for _, m := range p.Mounts {
		place := m.Target
		if !p.Namespaces {
			place = m.Source
		}
		switch st, err := os.Stat(place); {
		case err != nil:
		case m.Writable:
			writable(place)
		case st.IsDir() && !p.Namespaces:
			rules = append(rules, landlock.RODirs(place))
		case !p.Namespaces:
			rules = append(rules, landlock.ROFiles(place))
		}
	}
	if p.Namespaces {
		writable(append([]string{"/tmp"}, p.Tmpfs...)...)
		rules = append(rules, landlock.RODirs("/"))
		for _, d := range devices() {
			rules = append(rules, landlock.RWFiles(d.Target))
		}
	}
	return rules
}

// lastCapability is the kernel's highest capability number.
func lastCapability() int {
	text, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return unix.CAP_LAST_CAP
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return unix.CAP_LAST_CAP
	}
	return n
}
