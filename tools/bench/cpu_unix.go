//go:build unix

package main

import (
	"syscall"
	"time"
)

// processTime returns the processor time of this process: unlike the wall clock, it does not
// contain the work of other processes.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("bench: getrusage: " + err.Error()) // no kernel refuses it
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
