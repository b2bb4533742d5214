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

// confine drops, on every thread of this process, the rights it no longer needs. The order matters: a step that
// needs a privilege comes before the privilege is dropped, and the filter is last because it refuses calls of other steps.
func confine(p *request, lastCap int) (missing []string, err error) {
	// The bounding set matters on exec, so it is dropped on the thread that Init has locked, which starts the program.
	// A function also runs on other threads, which keep their sets: exec gains them nothing, and the filter refuses it.
	for c := 0; c <= lastCap; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && p.canDropBounds() {
			return nil, fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	if err := giveUpEarly(p); err != nil {
		return nil, err
	}
	return giveUpRest(p, true)
}

// giveUpEarly drops the rights that a warm jail does not need for mounting later.
func giveUpEarly(p *request) error {
	if p.DropTo != 0 {
		// The syscall package changes all threads.
		if err := syscall.Setgroups([]int{}); err != nil {
			return fmt.Errorf("give up groups: %w", err)
		}
		if err := syscall.Setresgid(p.DropTo, p.DropTo, p.DropTo); err != nil {
			return fmt.Errorf("become group %d: %w", p.DropTo, err)
		}
	}
	if err := prctlAll(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	if err := prctlAll(unix.PR_SET_NO_NEW_PRIVS, 1); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	return dieWithHost()
}

// dieWithHost arms the parent-death signal, which a change of user or group clears. One thread is enough.
func dieWithHost() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("arm the parent-death signal: %w", err)
	}
	return nil
}

// giveUpRest drops the remaining rights. Landlock is for processes that run untrusted code.
func giveUpRest(p *request, withLandlock bool) (missing []string, err error) {
	if err := setLimits(p.Limits, p.Warm); err != nil {
		return nil, err
	}
	// This precedes the change of user: changing all threads needs signals, and those of the scripts' user may be used up.
	if withLandlock {
		if missing, err = applyLandlock(p); err != nil {
			return nil, err
		}
	}
	if p.DropTo != 0 {
		if err := syscall.Setresuid(p.DropTo, p.DropTo, p.DropTo); err != nil {
			return nil, fmt.Errorf("become user %d: %w", p.DropTo, err)
		}
	}
	if err := dropCapabilities(); err != nil {
		return nil, err
	}
	if err := dieWithHost(); err != nil {
		return nil, err
	}
	// Not dumpable: /proc/<pid> of init belongs to root, so that the script, which has the same user, reaches none of its
	// memory or descriptors there.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("make the first process unreachable: %w", err)
	}
	if err := applySeccomp(p.Program == "", p.Watched); err != nil {
		return nil, err
	}
	return missing, boundSignals()
}

// queuedSignals is how many real-time signals and timers may be pending.
const queuedSignals = 1024

// boundSignals keeps scripts from using up the kernel's quota of pending signals and timers, which all runs of a user
// share: with nothing left, none of that user's processes could change its threads' privileges, and no jail would start.
// It follows the last such change: a process already above the bound can make none.
func boundSignals() error {
	return setLimit(rlimit{"queued signals", unix.RLIMIT_SIGPENDING, queuedSignals}, false)
}

// canDropBounds reports whether this process may drop capability bounds: it may as root and in its own user namespace.
func (p *request) canDropBounds() bool { return p.Namespaces || p.DropTo != 0 }

// rlimit is one resource limit of the kernel.
type rlimit struct {
	name  string
	which int
	value uint64
}

// list returns the limits that are not zero.
func (l rlimits) list() []rlimit {
	all := []rlimit{
		{"core size", unix.RLIMIT_CORE, 0},
		{"message queues", unix.RLIMIT_MSGQUEUE, 0},
		{"locked memory", unix.RLIMIT_MEMLOCK, 64 << 10},
		{"real-time priority", unix.RLIMIT_RTPRIO, 0},
	}
	for _, lim := range []rlimit{
		{"open files", unix.RLIMIT_NOFILE, l.Files},
		{"file size", unix.RLIMIT_FSIZE, l.FileSize},
		{"processor time", unix.RLIMIT_CPU, l.CPU},
		{"data", unix.RLIMIT_DATA, l.Data},
		{"processes", unix.RLIMIT_NPROC, l.Processes},
	} {
		if lim.value > 0 {
			all = append(all, lim)
		}
	}
	return all
}

// below returns the limit to set where old is in force: limits are never raised. A soft limit can be
// changed again.
func (lim rlimit) below(old syscall.Rlimit, soft bool) syscall.Rlimit {
	value := min(lim.value, old.Max)
	switch {
	case soft:
		return syscall.Rlimit{Cur: value, Max: old.Max}
	case lim.which == unix.RLIMIT_CPU: // the soft limit sends a signal that identifies the cause, the hard one kills
		return syscall.Rlimit{Cur: value, Max: min(value+1, old.Max)}
	}
	return syscall.Rlimit{Cur: value, Max: value}
}

func setLimits(l rlimits, soft bool) error {
	for _, lim := range l.list() {
		if err := setLimit(lim, soft); err != nil {
			return err
		}
	}
	return nil
}

func setLimit(lim rlimit, soft bool) error {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(lim.which, &old); err != nil {
		return fmt.Errorf("limit %s: %w", lim.name, err)
	}
	value := lim.below(old, soft)
	// syscall, not unix: it also forgets the soft limit on files that the Go runtime would give back to children.
	if err := syscall.Setrlimit(lim.which, &value); err != nil {
		return fmt.Errorf("limit %s: %w", lim.name, err)
	}
	return nil
}

// limitProcess sets hard limits on another process.
func limitProcess(pid int, l rlimits) error {
	for _, lim := range l.list() {
		var old unix.Rlimit
		if err := unix.Prlimit(pid, lim.which, nil, &old); err != nil {
			return fmt.Errorf("limit %s: %w", lim.name, err)
		}
		value := unix.Rlimit(lim.below(syscall.Rlimit(old), false))
		if err := unix.Prlimit(pid, lim.which, &value, nil); err != nil {
			return fmt.Errorf("limit %s: %w", lim.name, err)
		}
	}
	return nil
}

func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has, none [2]unix.CapUserData
	if err := unix.Capget(&header, &has[0]); err == nil && has == none && unix.Getuid() != 0 {
		return nil // all threads have lost them as they became another user
	}
	_, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	if errno != 0 {
		return fmt.Errorf("drop capabilities: %w", errno)
	}
	return nil
}

// prctlAll calls prctl on every thread, including those of cgo.
func prctlAll(option, arg uintptr) error {
	if _, _, errno := psx.Syscall6(unix.SYS_PRCTL, option, arg, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// applyLandlock repeats for paths what the mounts already enforce, and adds what mounts cannot: without
// namespaces, it alone keeps a function away from every file.
func applyLandlock(p *request) (missing []string, err error) {
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

// landlockRules allow what the jail shows: everything in its own root if it has one, otherwise the mounts' sources.
// refer: the kernel knows the right to move files between folders; requesting it from an older one would disable Landlock.
func landlockRules(p *request, refer bool) []landlock.Rule {
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
	if p.Warm {
		writable("/") // the mounts are not known yet, and rules can't be added later
	}
	if p.Namespaces {
		writable(append([]string{"/tmp"}, p.Tmpfs...)...)
		rules = append(rules, landlock.RODirs("/"))
		for _, d := range p.devices() {
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
