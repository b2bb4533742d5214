//go:build 386 || arm

package embedded

import (
	"fmt"
	"io"
	"os"
)

const engineAvailable = false

const engineName = ""

func guestMain(*os.File, environment) int {
	return complain(fmt.Errorf("the engine needs a 64-bit processor"))
}

func guestOn(io.ReadWriteCloser, environment) int { return guestMain(nil, environment{}) }

func complain(err error) int {
	fmt.Fprintf(os.Stderr, "mcprun: the embedded engine could not start: %v\n", err)
	return 125
}
