package testkit

import (
	"os"
	"runtime/debug"
)

// Tests keep few objects and make much garbage. With Go's default of 100 percent, a third of their time is garbage collection.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
