package process

// holds lists what the sandbox protects on every machine on which it works. What a machine lacks is in Status.Missing.
func holds() []string {
	return []string{
		"network: none, not even name resolution",
		"files: the workspace, plus the generated tree and the interpreter read-only; nothing else of the machine",
		"processes: cannot see or reach the machine's",
		"privileges: an unprivileged user without capabilities, who cannot gain any",
		"kernel: an allow list of system calls; no io_uring, bpf, keyrings, ptrace, mounts, namespaces",
		"limits: memory, processor time, processes, open files, file size, output, workspace",
	}
}

// lacks lists what no sandbox of this kind protects.
func lacks() []string {
	return []string{
		"kernel: shared with the machine; a bug in an allowed system call is a way out",
		"customers: do not run one customer's scripts on a machine with another's secrets",
		"hardware: side channels of the shared processor",
	}
}
