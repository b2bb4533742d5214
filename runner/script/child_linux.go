package script

import "golang.org/x/sys/unix"

// ownProgram also works after the file was replaced.
func ownProgram() string { return "/proc/self/exe" }

// limitWorker bounds the memory that this process may get from the system, in bytes. Address space that is only reserved does
// not count.
func limitWorker(data uint64) error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: data, Max: data})
}
