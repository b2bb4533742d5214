package process

// holds is what the sandbox keeps from a script wherever it works at all; what a machine lacks is in Status.Missing.
func holds() []string {
	return []string{
		"network: none, and no name resolution",
		"files: the workspace, and read-only the generated tree and the interpreter; nothing else of the machine",
		"processes: none of the machine's are seen or reached",
		"privileges: an unprivileged user, no capabilities, no new ones",
		"kernel: an allow list of system calls; no io_uring, bpf, keyrings, ptrace, mounts, namespaces",
		"limits: memory, processor time, processes, open files, file size, output, workspace",
	}
}

// lacks is what no sandbox of this kind holds.
func lacks() []string {
	return []string{
		"kernel: it is the machine's own; a hole in a system call that is allowed is a way out",
		"customers: a run of one must not share a machine with secrets of another",
		"hardware: side channels of a shared processor",
	}
}
