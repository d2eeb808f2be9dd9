package eventual_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// operationIDAt returns the operation ID of a write that began at a time.
func operationIDAt(t time.Time) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	b := make([]byte, 10)
	ms := t.UnixMilli()
	for i := 9; i >= 0; i-- {
		b[i] = digits[ms&31]
		ms >>= 5
	}
	return string(b) + "ABCDEFGHJKMNPQRS"
}

// recordStates returns the states of the commit records of staff, sorted.
func recordStates(s *storagetest.Service) string {
	var all []string
	for _, r := range s.Rows("staff") {
		if strings.HasPrefix(r.RowKey, "~i|") {
			all = append(all, fmt.Sprint(r.Get("State")))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// storedStates returns the partition and the state of each row of staff whose RowKey begins with a prefix.
func storedStates(s *storagetest.Service, prefix string) string {
	var all []string
	for _, r := range s.Rows("staff") {
		if strings.HasPrefix(r.RowKey, prefix) {
			all = append(all, fmt.Sprint(r.PartitionKey, " ", r.Get("State")))
		}
	}
	return strings.Join(all, ", ")
}

// allExecuted returns an error unless each committed write with an effect has its letter, no commit record is pending, and the
// queues are empty.
func allExecuted(s *storagetest.Service) error {
	states, due := map[string]any{}, map[string]bool{}
	for _, r := range s.Rows("staff") {
		if id, is := strings.CutPrefix(r.RowKey, "~i|"); is {
			states[id] = r.Get("State")
			if _, due[id] = r.Get("Effects").(string); states[id] == "pending" {
				return fmt.Errorf("commit record %s is pending", id)
			}
		}
	}
	sent := map[string]bool{}
	for _, r := range s.Rows("sent") {
		sent[r.RowKey] = true
	}
	for id, is := range due {
		if is && !sent[id] {
			return fmt.Errorf("no letter was sent for write %s", id)
		}
	}
	for _, q := range []string{"notifications", "poison"} {
		if left := s.Messages(q); len(left) > 0 {
			return fmt.Errorf("queue %s has %d messages, want none: %v", q, len(left), left[0].Text)
		}
	}
	return nil
}

// onlyCommitted returns an error if a letter was sent for a write that is not committed. It holds at any time.
func onlyCommitted(s *storagetest.Service) error {
	committed := map[string]bool{}
	for _, r := range s.Rows("staff") {
		if id, is := strings.CutPrefix(r.RowKey, "~i|"); is && r.Get("State") != "aborted" {
			committed[id] = true
		}
	}
	for _, r := range s.Rows("sent") {
		if !committed[r.RowKey] {
			return fmt.Errorf("a letter was sent for write %s, which is not committed", r.RowKey)
		}
	}
	return nil
}

// anyVisible reports whether a message is visible.
func anyVisible(s *storagetest.Service) bool {
	for _, m := range s.Messages("notifications") {
		if !m.Visible.After(s.Now()) {
			return true
		}
	}
	return false
}
