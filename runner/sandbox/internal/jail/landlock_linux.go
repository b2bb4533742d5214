//go:build linux && (amd64 || arm64)

package jail

import (
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"github.com/mcpgen/mcpgen/runner/sandbox"
)

// applyLandlock repeats for paths what the mounts already enforce, and adds what mounts cannot. Without namespaces, only Landlock keeps a
// function away from the machine's files.
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

// landlockRules allow what the jail shows: everything in its own root if it has one, and otherwise the mounts' sources. refer means that
// the kernel knows the right to move files between folders; requesting it from an older kernel would disable Landlock.
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
	if p.Network {
		rules = append(rules, landlock.BindTCP(sandbox.ProxyPort), landlock.ConnectTCP(sandbox.ProxyPort))
	}
	if p.Warm {
		writable("/") // the mounts are not known yet, and rules cannot be added later
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
