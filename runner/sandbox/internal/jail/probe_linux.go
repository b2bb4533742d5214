//go:build linux && (amd64 || arm64)

package jail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Probe starts an empty jail, and returns the isolation that the machine does not support. The error says why no jail can be started; it
// wraps ErrUnsupported if the machine refuses. Probe takes about ten milliseconds. It uses only Exe and AllowNoNamespaces of cfg.
func Probe(ctx context.Context, cfg Config) (missing []string, err error) {
	c, err := Start(ctx, Config{ID: "probe", Exe: cfg.Exe, Entry: probeEntry, AllowNoNamespaces: cfg.AllowNoNamespaces})
	if err != nil {
		return nil, err
	}
	exit, err := c.Wait()
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("an empty sandbox ended with code %d", exit.Code)
	}
	return c.Missing(), err
}

// Remedy returns one line that says what a person can do about an error of Probe or Start that wraps ErrUnsupported.
func Remedy(err error) string {
	if !errors.Is(err, ErrUnsupported) {
		return ""
	}
	for _, s := range []struct{ file, bad, remedy string }{
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
			"allow user namespaces: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0 (or an AppArmor profile for mcprun)"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "allow user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1"},
		{"/proc/sys/user/max_user_namespaces", "0", "allow user namespaces: sudo sysctl user.max_user_namespaces=10000"},
	} {
		if text, err := os.ReadFile(s.file); err == nil && strings.TrimSpace(string(text)) == s.bad {
			return s.remedy
		}
	}
	return "run where user namespaces are allowed (inside a container: docker run --security-opt seccomp=unconfined " +
		"--security-opt systempaths=unconfined), or use --sandbox docker"
}
