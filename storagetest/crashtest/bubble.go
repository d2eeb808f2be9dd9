package crashtest

import (
	"fmt"
	"runtime/debug"
	"testing"
	"testing/synctest"
)

// bubble calls f in a bubble of testing/synctest. A deadlock in f is an error.
func bubble(t *testing.T, f func()) (err error) {
	ended := false
	defer func() {
		switch r := recover(); {
		case r != nil:
			err = fmt.Errorf("the run does not end: %v", r)
		case !ended && err == nil:
			err = fmt.Errorf("t.FailNow ended the run; call t.FailNow only in the goroutine of the test")
		}
	}()
	synctest.Test(t, func(*testing.T) { f() })
	ended = true
	return nil
}

// recovered calls f and returns a panic as an error.
func recovered(name string, f func() error) (panicked bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			panicked, err = true, fmt.Errorf("%s panicked: %v\n%s", name, r, debug.Stack())
		}
	}()
	return false, f()
}
