// Package peers runs test suites that others wrote for the live services: against storagetest, and
// against the emulator for comparison. It contains tests only.
package peers
