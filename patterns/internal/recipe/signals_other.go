//go:build !unix

package recipe

import "os"

// Signals that stop a process, and let it go on. This system has none: Process.Signal refuses nil.
var sigStop, sigCont os.Signal
