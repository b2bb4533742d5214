package check

import "os/exec"

// group leaves a checker as it is: there are no process groups to end it by.
func group(*exec.Cmd) {}
