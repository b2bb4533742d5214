package embedded

// holds lists the guarantees of the sandbox, with or without a jail.
func holds(jailed bool) []string {
	all := []string{
		"network: none, not even name resolution",
		"files: the workspace, a private /tmp, plus the generated tree and the skills read-only",
		"processes: scripts cannot start any",
	}
	if jailed {
		return append(all,
			"engine crashes: end a child process that has no files, network or privileges",
			"kernel: an allow list of system calls; no io_uring, bpf, keyrings, ptrace, mounts, namespaces",
			"limits: memory, processor time, file size, output, workspace, /tmp",
		)
	}
	return append(all,
		"engine crashes: end a child process, not mcprun",
		"limits: memory, processor time, file size, output, workspace, /tmp",
	)
}

// lacks lists what this sandbox does not guarantee.
func lacks(jailed bool) []string {
	kernel := "kernel: shared with the machine"
	if !jailed {
		kernel = "engine: an exploit gains your user's rights"
	}
	return []string{
		"languages: no Python, no npm packages, only part of Node's modules",
		kernel,
		"customers: do not run one customer's scripts on a machine with another's secrets",
		"hardware: side channels of the shared processor",
	}
}
