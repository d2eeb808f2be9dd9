//go:build unix

package recipe

import (
	"os"
	"syscall"
)

// Signals that stop a process, and let it go on.
var sigStop, sigCont os.Signal = syscall.SIGSTOP, syscall.SIGCONT
