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

// sweepOptions are the options of a sweep.
type sweepOptions struct {
	table.Pass

	// archived reports whether the entity of a moved blob is archived; nil if that is not known.
	archived func(ctx context.Context, k keys.Key, incarnation string) (bool, error)

	relink bool // [Values.Relink]

	// fault is called for each fault. The kinds:
	//
	//   - Dangling: nothing refers to the blob any more, and the sweep deletes it. The fault has
	//     the entity that has linked the blob; none if no entity ever has.
	//   - Missing: the entity links a blob that does not exist. It is not repaired.
	//   - StateMismatch: the entity links the blob, and no row says so.
	fault func(verify.Fault)
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
func (o *sweepOptions) position() (sweepPosition, error) {
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
	return p, &table.ValueError{Field: "Pass.Token", Reason: "is damaged, was made by something else, or is of another range, or of Sweep and not of Relink; use Progress.Token of an earlier call"}
}

// token returns a position as a text: a checksum that is also of what is swept, and the position.
func (o *sweepOptions) token(p sweepPosition) string {
	rest := string(p.by)
	if p.begun {
		rest += ":" + p.partition
	}
	return o.checksum(rest) + ":" + rest
}

func (o *sweepOptions) checksum(rest string) string {
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(fmt.Appendf(nil, "%s|%v|%v", rest, o.Partitions, o.relink)))
}

// sweepReport is what a sweep has done and seen.
type sweepReport struct {
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

	Token string // where another sweep goes on, "" at the end
}

// progress returns the report of a sweep, with how far it is.
func (w *sweep) progress() table.Progress {
	r := w.report
	p := table.Progress{
		Rows:    r.Blobs + r.Rows,
		Changed: r.Orphans + r.Replaced + r.Relinked + r.RowsGone,
		Faults:  r.Missing,
		Counts:  map[string]int{},
		Token:   r.Token,
	}
	for name, n := range map[string]int{
		"blobs": r.Blobs, "linked": r.Linked, "young": r.Young, "foreign": r.Foreign, "kept": r.Kept,
		"orphans": r.Orphans, "replaced": r.Replaced, "relinked": r.Relinked, "tombstones": r.RowsGone,
	} {
		if n > 0 {
			p.Counts[name] = n
		}
	}
	if w.at.begun {
		p.Through = keys.Raw(w.at.partition, "")
	}
	return p
}
