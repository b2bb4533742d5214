package daemon

import (
	"fmt"
	"os"
)

// BuildID identifies the build of the program in file exe, by its path, size and time.
func BuildID(exe string) (string, error) {
	st, err := os.Stat(exe)
	if err != nil {
		return "", fmt.Errorf("identify this build: %w", err)
	}
	return fmt.Sprintf("%s %d %d", exe, st.Size(), st.ModTime().UnixNano()), nil
}
