package transfer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
)

// batch is rows of one partition, for one transaction.
type batch struct {
	rows   []*row
	bodies []edm.Body
	size   int
}

// The limits of a transaction, and of its bytes: the request contains more than the rows.
const (
	mostRows  = 100
	mostBytes = 3 << 20
)

// add adds a row, if it fits: behind those before it, since a batch is compared with a range of the
// table, and files have any order.
func (b *batch) add(r *row) (fits bool, err error) {
	body, err := r.body()
	if err != nil {
		return false, err
	}
	n := len(b.rows)
	if n > 0 && (n == mostRows || b.size+body.Length > mostBytes || b.rows[0].key.PartitionKey() != r.key.PartitionKey() || b.rows[n-1].place().compare(r.place()) >= 0) {
		return false, nil
	}
	b.rows, b.bodies, b.size = append(b.rows, r), append(b.bodies, body), b.size+body.Length
	return true, nil
}

// rest returns the batch without some of its rows.
func (b batch) rest(left func(i int) bool) (others batch) {
	for i, r := range b.rows {
		if !left(i) {
			others.rows, others.bodies = append(others.rows, r), append(others.bodies, b.bodies[i])
		}
	}
	return others
}

// noteRecords stores the note of today by which the work of a day finds the commit records of a
// batch, before these. A store that has no notes yet is new, and looks for records without.
// Requests: 1, unless the partition has the note.
func (m *importing) noteRecords(ctx context.Context, b batch) error {
	notes := m.table.Notes
	if notes == nil || m.looks.Load() || !slices.ContainsFunc(b.rows, (*row).isRecord) {
		return nil
	}
	partition := b.rows[0].key.PartitionKey()
	today := commit.IDTime(m.table.Options.Now()) + strings.Repeat("0", commit.RandomLength)
	err := notes.Note(ctx, m.table.Name, partition, today)
	if errors.Is(err, errs.ErrTableNotFound) {
		m.looks.Store(true)
		return nil
	}
	if err != nil {
		return fmt.Errorf("the note of partition %q: %w", partition, err)
	}
	return nil
}

// isRecord reports whether a row is a commit record or an abort record.
func (r *row) isRecord() bool {
	id, is := strings.CutPrefix(r.key.RowKey(), reserved.CommitRecord)
	_, err := commit.TimeOf(id)
	return is && err == nil
}
