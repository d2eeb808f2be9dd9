package table

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aztablekit/aztablekit/keys"
)

// Pass says how a call goes through a whole table. The zero value goes through all of it from the
// beginning, as fast as the service lets it, and changes what the call is for. A call refuses the
// fields that it cannot use with a *ValueError.
//
// Once the service has answered, a call goes on behind an outage of up to 10 minutes, unless its
// context ends, or its table has a number of Retry.Attempts. An outage at the beginning, which may
// be a wrong address, ends it as it ends a single request; so does one during the first write of a
// Bulk that has read nothing. Conflicts have their usual time, from the first one on.
type Pass struct {
	// Partitions is the range of partitions. The zero value has all.
	Partitions keys.PartitionRange

	// Token is where to go on: that of a Progress of an earlier call with the same arguments. ""
	// begins at the beginning.
	Token string

	// Rate is the most rows in a second; 0 means no limit until the service is busy.
	Rate int

	// Concurrency is how many requests run at once. The comment of the call has the default.
	Concurrency int

	// DryRun changes nothing. The Progress counts what the call would do.
	DryRun bool

	// Skip, if set, decides about each row that the call cannot read or change. It receives the key
	// and the error that would end the call. If it returns true, the row stays as it is, and is
	// counted.
	Skip func(k keys.Key, err error) bool

	// Progress is called from time to time, when all rows through Progress.Through are done. No two
	// calls overlap.
	Progress func(Progress)
}

// Progress is how far a call has come with a table; see [Pass]. It is right beside an error, too.
type Progress struct {
	Table string // its name, if the call is for several tables
	State string // what the call does, if it has several states; its comment has them

	// Wait is how long the call waits now for other programs; 0 if it works.
	Wait time.Duration

	Rows    int // that were read
	Changed int // what was stored, changed, moved or deleted, or would be with Pass.DryRun
	Skipped int // what Pass.Skip has left as it is
	Faults  int // what is wrong and stays so

	// Counts has what a call counts besides, by the names in its comment. It has no zeros.
	Counts map[string]int

	// Through is the last key up to which all is done, and Token the way to go on behind it: "" at
	// the end of the table.
	Through keys.Key
	Token   string
}

// String returns the numbers in words: "120 rows, 2 changed, 1 faults; 3 missing".
func (p Progress) String() string {
	text := fmt.Sprintf("%d rows, %d changed, %d faults", p.Rows, p.Changed, p.Faults)
	if p.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", p.Skipped)
	}
	for i, name := range slices.Sorted(maps.Keys(p.Counts)) {
		separator := ", "
		if i == 0 {
			separator = "; "
		}
		text += fmt.Sprintf("%s%d %s", separator, p.Counts[name], name)
	}
	return text
}

// checkPass returns a *ValueError for the fields of a pass that are wrong, or that a call does not
// use. used has the names of those that it uses besides Progress.
func checkPass(p *Pass, used ...string) error {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"Partitions", p.Partitions.IsSet()},
		{"Token", p.Token != ""},
		{"Rate", p.Rate != 0},
		{"Concurrency", p.Concurrency != 0},
		{"DryRun", p.DryRun},
		{"Skip", p.Skip != nil},
	} {
		if f.set && !slices.Contains(used, f.name) {
			return &ValueError{Field: "Pass." + f.name, Reason: "is set, and this call does not use it; see its comment"}
		}
	}
	switch {
	case p.Rate < 0:
		return &ValueError{Field: "Pass.Rate", Reason: "is negative; 0 means no limit until the service is busy"}
	case p.Concurrency < 0:
		return &ValueError{Field: "Pass.Concurrency", Reason: "is negative; 0 means the default"}
	}
	return nil
}
