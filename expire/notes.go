package expire

import (
	"context"
	"hash/fnv"
	"time"

	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// note says that entities of a partition end in an hour.
type note struct {
	Hour      int
	Spread    int // the notes of an hour are in several partitions
	Partition string
}

const notePartitions = 16

var (
	noteHour      = keys.Partition2(keys.Digits[int](hourDigits), keys.Digits[int](2), func(n *note) (*int, *int) { return &n.Hour, &n.Spread })
	notePartition = keys.Row(keys.Ordered(), func(n *note) *string { return &n.Partition })
)

// notes is a table of notes. Each is stored before the entity that it is for, so that no entity
// with an end is without one.
type notes struct {
	rows *table.Table[note]
}

func newNotes(h *host.Host, of table.Handle, definition string) (*notes, error) {
	name := of.Name()[len(h.Prefix):] + definition
	o := &table.Options{Common: door.Table(of).Options.Common, BlindWrites: true}
	rows, err := host.NewTable(h, name, table.Schema[note]{Partition: noteHour, Row: notePartition}, o)
	return &notes{rows}, err
}

// Note stores the note for an end. What is over already is found in the hour that it is now: the
// sweep may be past its own.
func (n *notes) Note(ctx context.Context, partition string, end time.Time) error {
	if now := n.now(); end.Before(now) {
		end = now
	}
	h := fnv.New32a()
	h.Write([]byte(partition))
	_, err := n.rows.Upsert(ctx, &note{Hour: hourOf(end), Spread: int(h.Sum32() % notePartitions), Partition: partition}, table.ReplaceExisting)
	return err
}

func (n *notes) now() time.Time { return door.Table(n.rows).Options.Now() }
