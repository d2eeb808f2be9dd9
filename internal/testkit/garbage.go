package testkit

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Tests keep few objects and make much garbage. With Go's default of 100 percent, a third of their
// time is garbage collection. Samples of allocations take some percent more, and are taken for a
// memory profile only.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	if !strings.Contains(strings.Join(os.Args, " "), "memprofile") {
		runtime.MemProfileRate = 0
	}
}
