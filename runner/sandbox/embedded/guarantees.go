package embedded

// holds lists the guarantees of the sandbox, in a jail or without one.
func holds(jailed bool) []string {
	all := []string{
		"network: none, and no name resolution",
		"files: the workspace, a private /tmp, and read-only the generated tree and the skills",
		"processes: a script can start none",
	}
	if jailed {
		return append(all,
			"faults of the engine: they end a child process that has no files, network or privileges",
			"kernel: an allow list of system calls; no io_uring, bpf, keyrings, ptrace, mounts, namespaces",
			"limits: memory, processor time, file size, output, workspace, /tmp",
		)
	}
	return append(all,
		"faults of the engine: they end a child process, not mcprun",
		"limits: memory, processor time, file size, output, workspace, /tmp",
	)
}

// lacks lists what this sandbox does not guarantee.
func lacks(jailed bool) []string {
	kernel := "kernel: shared with the machine"
	if !jailed {
		kernel = "engine: an exploit of it gets the rights of your user"
	}
	return []string{
		"languages: no Python, no npm packages, only part of Node's modules",
		kernel,
		"customers: a run of one must not share a machine with secrets of another",
		"hardware: side channels of a shared processor",
	}
}
