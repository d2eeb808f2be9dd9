package largeentity

import (
	"context"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/verify"
)

// SweepOptions are the options of [Values.Sweep]. The zero value reclaims whatever nothing refers to.
type SweepOptions struct {
	// Partitions is the range of partitions to sweep. Unset means all. Unless it is that of one partition, all blobs of the table are listed.
	Partitions keys.PartitionRange

	// Token continues a sweep with the same Partitions and Relink that has ended before its time: SweepReport.Token, or that of the last call
	// of Progress. It begins behind the last partition that was finished, and lists the blobs again, 1 request for each 5,000. Tombstones of
	// finished partitions may stay for the next sweep.
	Token string

	// DryRun changes nothing. The report counts what a sweep would do.
	DryRun bool

	// MaxDeletes ends the sweep when it has deleted so many blobs; 0 means no limit. The next sweep continues: it finds what is left.
	MaxDeletes int

	// Rate is the most blobs and rows that are read, written and deleted in a second; 0 means no limit.
	Rate int

	// Archived reports whether the destination of package archive contains an incarnation of a key: the method Contains of the
	// archive.Mover, or a function that asks several. Sweep calls it for each blob of a moved entity, and deletes the blob if the
	// destination does not contain the entity any more. Options.Archived if it is nil; without both, blobs of moved entities stay.
	Archived func(ctx context.Context, k keys.Key, incarnation string) (bool, error)

	// Relink stores the rows of blobs that entities link and that have none, of whatever age, and deletes nothing: for a table that was
	// restored or copied without its rows that begin with ~. Without it, Sweep fails with an UnrecordedLinkError for such a blob. Links
	// of archived entities are not known without their rows: see docs/operations.md before the next sweep.
	Relink bool

	// Fault is called for each fault that Sweep finds, and Progress after each 1,000 blobs and each 1,000 rows. No two of these calls overlap. The kinds:
	//
	//   - Dangling: nothing refers to the blob any more, and Sweep deletes it. The fault has the entity that has linked the blob; none if no
	//     entity ever has.
	//   - Missing: the entity links a blob that does not exist. It is not repaired.
	//   - StateMismatch: the entity links the blob, and no row says so; see Relink.
	Fault    func(verify.Fault)
	Progress func(SweepReport)
}

// check fails for options that are wrong.
func (o *SweepOptions) check() error {
	if o.MaxDeletes < 0 {
		return &table.ValueError{Field: "SweepOptions.MaxDeletes", Reason: "is negative; 0 means no limit"}
	}
	if o.Rate < 0 {
		return &table.ValueError{Field: "SweepOptions.Rate", Reason: "is negative; 0 means no limit"}
	}
	return o.Partitions.Err()
}

// sweepPosition is how far a sweep is: what it sweeps by, and the last partition that is finished.
type sweepPosition struct {
	by        byte // byBlobs or byRows
	partition string
	begun     bool // partition is set
}

const (
	byBlobs = 'b'
	byRows  = 'r'
)

// position returns where the sweep begins. Errors: *table.ValueError.
func (o *SweepOptions) position() (sweepPosition, error) {
	p := sweepPosition{by: byBlobs}
	if o.Token == "" {
		return p, nil
	}
	sum, rest, _ := strings.Cut(o.Token, ":")
	if rest != "" && (rest[0] == byBlobs || rest[0] == byRows) && sum == o.checksum(rest) {
		p.by = rest[0]
		p.partition, p.begun = strings.CutPrefix(rest[1:], ":")
		return p, nil
	}
	return p, &table.ValueError{Field: "token", Reason: "is damaged, was made by something else, or is of another range or another Relink; use SweepReport.Token of an earlier call"}
}

// token returns a position as a text: a checksum that is also of what is swept, and the position.
func (o *SweepOptions) token(p sweepPosition) string {
	rest := string(p.by)
	if p.begun {
		rest += ":" + p.partition
	}
	return o.checksum(rest) + ":" + rest
}

func (o *SweepOptions) checksum(rest string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Appendf(nil, "%s|%v|%v", rest, o.Partitions, o.Relink)))
}

// SweepReport is what [Values.Sweep] has done and seen.
type SweepReport struct {
	Blobs    int // that were listed
	Linked   int // blobs that an entity links, or an archived entity
	Young    int // blobs without an entity that are younger than Options.Grace
	Foreign  int // blobs below the name of the table whose names are of another form, and rows of another form: they stay as they are
	Rows     int // of blobs, that were listed
	Orphans  int // blobs that no entity has ever linked: they are older than Options.Grace, and were deleted, or would be
	Replaced int // blobs that were deleted, or would be: their entity has another value, or is deleted, also from an archive
	Missing  int // links to blobs that do not exist
	Relinked int // blobs of entities that got their rows again, or would
	RowsGone int // tombstones that were deleted, or would be
	Kept     int // blobs without an entity that the service refuses to delete: leased, with snapshots, or under a policy

	// Incomplete reports that the sweep ended at SweepOptions.MaxDeletes.
	Incomplete bool

	// Token is for SweepOptions.Token: the partitions that are left, "" at the end.
	Token string
}
