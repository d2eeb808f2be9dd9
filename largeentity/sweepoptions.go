package largeentity

import (
	"context"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// SweepOptions are the options of [Sweep]. The zero value reclaims whatever nothing refers to.
type SweepOptions struct {
	// DryRun changes nothing. The report counts what a sweep would do.
	DryRun bool

	// MaxDeletes ends the sweep when it has deleted so many blobs; 0 means no limit. The next sweep continues: it finds what is left.
	MaxDeletes int

	// Rate is the most blobs and rows that are read, written and deleted in a second; 0 means no limit.
	Rate int

	// Archived reports whether the destination of package archive contains an incarnation of a key: the method Contains of the
	// archive.Mover, or a function that asks several. Sweep calls it for each blob of a moved entity, and deletes the blob if the
	// destination does not contain the entity any more. Without it, blobs of moved entities stay.
	Archived func(ctx context.Context, k keys.Key, incarnation string) (bool, error)

	// Relink stores the rows of blobs that entities link and that have none, of whatever age, and deletes nothing: for a table that was
	// restored or copied without its rows that begin with ~. Without it, Sweep fails with an UnrecordedLinkError for such a blob. Links
	// of archived entities are not known without their rows: see docs/operations.md before the next sweep.
	Relink bool

	// Finding is called for each blob that Sweep deletes, misses or relinks, and Progress after each 1,000 blobs. No two of these calls
	// overlap.
	Finding  func(Finding)
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
	return nil
}

// Finding is a blob that Sweep deletes or relinks, or that is missing.
type Finding struct {
	Kind FindingKind
	Blob string   // its name
	Key  keys.Key // of the entity that links it or has linked it; zero for an orphan
}

// FindingKind is a kind of finding.
type FindingKind int

// The kinds of findings.
const (
	Orphan     FindingKind = iota + 1 // no entity has ever linked the blob, and it is older than Options.Grace: it is deleted
	Replaced                          // the entity has another value, or is deleted, also from an archive: the blob is deleted
	Dangling                          // the entity links the blob, which does not exist
	Unrecorded                        // the entity links the blob, and no row said so: it has one now; see SweepOptions.Relink
)

// String returns the name of the kind.
func (k FindingKind) String() string {
	switch k {
	case Orphan:
		return "orphan"
	case Replaced:
		return "replaced"
	case Dangling:
		return "dangling"
	case Unrecorded:
		return "unrecorded"
	}
	return "unknown"
}

// SweepReport is what [Sweep] has done and seen.
type SweepReport struct {
	Blobs    int // that were listed
	Linked   int // blobs that an entity links, or an archived entity
	Young    int // blobs without an entity that are younger than Options.Grace
	Foreign  int // blobs below the name of the table whose names are of another form, and rows of another form: they stay as they are
	Rows     int // of blobs, that were listed
	Orphans  int // blobs that were deleted, or would be, by the kinds of findings
	Replaced int
	Dangling int
	Relinked int // blobs of entities that got their rows again, or would
	RowsGone int // tombstones that were deleted, or would be
	Kept     int // blobs without an entity that the service refuses to delete: leased, with snapshots, or under a policy

	// Incomplete reports that the sweep ended at SweepOptions.MaxDeletes.
	Incomplete bool
}
