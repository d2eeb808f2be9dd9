// Package processes tests programs of several processes that write to the emulator at the same
// time, some of which are killed. It contains tests only.
package processes
