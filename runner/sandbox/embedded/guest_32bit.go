//go:build 386 || arm

package embedded

import (
	"fmt"
	"io"
	"os"
)

const engineAvailable = false

const engineName = ""

func guestMain(*os.File, habitat) int {
	return complain(fmt.Errorf("the engine needs a 64-bit processor"))
}

func guestOn(io.ReadWriteCloser, habitat) int { return guestMain(nil, habitat{}) }

func complain(err error) int {
	fmt.Fprintf(os.Stderr, "mcprun: the embedded engine could not start: %v\n", err)
	return 125
}
