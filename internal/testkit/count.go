// Package testkit holds what the tests of several packages share.
package testkit

import (
	"flag"
	"os"
	"strconv"
	"strings"
)

// Count returns a flag of a test binary: how often a random test repeats itself. The environment
// can replace the default for all packages at once: AZTABLEKIT_SCHEDULES for the flag schedules.
func Count(name string, n int, usage string) *int {
	env := "AZTABLEKIT_" + strings.ToUpper(name)
	if text := os.Getenv(env); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			panic(env + " is " + text + "; it must be a number above 0")
		}
	}
	return flag.Int(name, n, usage+"; the environment variable "+env+" sets the default")
}
