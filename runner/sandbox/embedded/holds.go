package embedded

// holds is what the sandbox keeps from a script, in a jail or without one.
func holds(jailed bool) []string {
	all := []string{
		"network: none, and no name resolution",
		"files: the workspace, a private /tmp, and read-only the generated tree and the skills",
		"processes: a script can start none",
	}
	if jailed {
		return append(all,
			"faults of the engine: they end a child process without files, network and privileges, and nothing else",
			"kernel: an allow list of system calls; no io_uring, bpf, keyrings, ptrace, mounts, namespaces",
			"limits: memory, processor time, file size, output, workspace, /tmp",
		)
	}
	return append(all,
		"faults of the engine: they end a child process, and not mcprun",
		"limits: memory, processor time, file size, output, workspace, /tmp",
	)
}

// lacks is what no sandbox of this kind holds.
func lacks(jailed bool) []string {
	kernel := "kernel: it is the machine's own"
	if !jailed {
		kernel = "engine: whoever finds a hole in it has the rights of your user"
	}
	return []string{
		"languages: no Python, no npm packages, and Node's modules in part",
		kernel,
		"customers: a run of one must not share a machine with secrets of another",
		"hardware: side channels of a shared processor",
	}
}
