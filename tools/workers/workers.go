// Package workers runs the worker processes of a measurement: the program itself, with another
// environment.
package workers

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Crew is worker processes, by numbers. It is not for concurrent use.
type Crew struct {
	// Env is what the environment of the workers has besides that of the program.
	Env []string

	MostKiB   int64         // the most memory of a worker, as Linux shows it
	Processor time.Duration // of workers that have ended

	running map[int]*exec.Cmd
}

// Start starts a worker, with the arguments of the program and with more of an environment.
func (c *Crew) Start(i int, env ...string) error {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(append(os.Environ(), c.Env...), env...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	if c.running == nil {
		c.running = map[int]*exec.Cmd{}
	}
	c.running[i] = cmd
	return nil
}

// Running returns the numbers of the workers that were not ended, in any order.
func (c *Crew) Running() (all []int) {
	for i := range c.running {
		all = append(all, i)
	}
	return all
}

// HasEnded reports whether a worker has ended by itself, and notes its memory.
func (c *Crew) HasEnded(i int) bool {
	c.note(i)
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.running[i].Process.Pid))
	_, state, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(state, "Z")
}

// End sends a signal to a worker, nil for none, and returns how it has ended.
func (c *Crew) End(i int, signal os.Signal) error {
	c.note(i)
	cmd := c.running[i]
	if signal != nil {
		_ = cmd.Process.Signal(signal) // it may have ended
	}
	err := cmd.Wait()
	c.Processor += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	delete(c.running, i)
	return err
}

// Replace kills a worker, and starts it again.
func (c *Crew) Replace(i int, env ...string) error {
	_ = c.End(i, os.Kill) // a killed process is no error
	return c.Start(i, env...)
}

// note notes the memory of a worker.
func (c *Crew) note(i int) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.running[i].Process.Pid))
	if err != nil {
		return
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscan(line, &kib); err == nil {
		c.MostKiB = max(c.MostKiB, kib)
	}
}
