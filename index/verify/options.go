package verify

import (
	"fmt"
	"hash/crc32"

	"github.com/aztablekit/aztablekit/commit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Options are the options of [Run]. The zero value compares the whole table and changes nothing.
type Options struct {
	// Partition is the only partition to verify. Unset means all.
	Partition keys.Enc

	// Concurrency is the number of partitions that are verified at the same time. Defaults to 1.
	Concurrency int

	// Repair repairs faults. Without it, Run only reports them.
	Repair bool

	// Orphans says what Repair does with what a write over several partitions has prepared more than a day ago, if its commit record
	// cannot be read; see commit.Records.FinishPrepared. By default Run reports it, with Repair, as Orphaned.
	Orphans commit.Orphans

	// Token is the token of an earlier Report. Run resumes behind the partitions that were finished.
	Token string

	// Rate is the most rows that are read and written in a second, repairs included; 0 means no limit.
	Rate int

	// Fault is called for each fault. Progress is called after each 1,000 entities of a partition and after each partition. No two of
	// these calls overlap.
	Fault    func(Fault)
	Progress func(Report)
}

// check fails for options that are wrong. It returns the PartitionKey in the token, nil if there is no token.
func (o *Options) check() (after *string, err error) {
	switch {
	case o.Rate < 0:
		return nil, &table.ValueError{Field: "Options.Rate", Reason: "is negative; 0 means no limit"}
	case o.Concurrency < 0:
		return nil, &table.ValueError{Field: "Options.Concurrency", Reason: "is negative; 0 means 1"}
	case o.Partition.IsSet() && o.Token != "":
		return nil, &table.ValueError{Field: "Options.Token", Reason: "is set together with Options.Partition, but resumes with all later partitions; leave one of the two out"}
	case o.Token == "":
		return nil, nil
	}
	if start := len(tokenOf("")); len(o.Token) >= start {
		if pk := o.Token[start:]; tokenOf(pk) == o.Token {
			return &pk, nil
		}
	}
	return nil, &table.TokenError{Reason: "is damaged or was made by something else; use Report.Token of an earlier call"}
}

// tokenOf returns the token behind a partition: a version, a checksum, and the PartitionKey.
func tokenOf(partitionKey string) string {
	return fmt.Sprintf("2:%08x:%s", crc32.ChecksumIEEE([]byte(partitionKey)), partitionKey)
}
