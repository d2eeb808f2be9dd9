package testkit

import "github.com/aztablekit/aztablekit/table"

// NoPauses returns options without pauses between attempts.
func NoPauses() (c table.Common) {
	c.Retry.Wait, c.Retry.ConflictWait = -1, -1
	return c
}
