package seccomp

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// archAllowed are the calls that only this architecture has; there are none.
func archAllowed() []uintptr { return nil }

// archForks start processes without flags; arm64 has none.
func archForks() []uintptr { return nil }

func archModes() []modeArg { return nil }

func archOpens() []modeArg { return nil }
