package docker

// holds is what a container of ours keeps from a script wherever it starts; what an engine lacks is in Status.Missing.
func holds() []string {
	return []string{
		"network: none, and no name resolution",
		"files: the workspace, and read-only the generated tree and the image; nothing of the machine",
		"processes: none of the machine's are seen or reached",
		"privileges: an unprivileged user, no capabilities, no new ones",
		"kernel: a list of system calls of our own, stricter than the engine's; no io_uring, bpf, keyrings, ptrace, mounts, namespaces",
		"limits: memory, processor time, processes, open files, file size, output, workspace",
	}
}

// lacks is what no container holds.
func lacks() []string {
	return []string{
		"kernel: it is the machine's own; a hole in a system call that is allowed is a way out",
		"hardware: side channels of a shared processor",
	}
}
