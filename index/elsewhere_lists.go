package index

import (
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// listForm makes the rows elsewhere of a Lists.
type listForm[T, K any] struct{ *listsMaintainer[T, K] }

func (f listForm[T, K]) contentOf(*maintain.Change[T], []keys.Key) (state []string, same bool, err error) {
	return f.contentState(), true, nil
}

func (f listForm[T, K]) mayBe(_, row keys.Key) bool {
	return !f.ix.hasOwnPartitions() || strings.TrimPrefix(row.RowKey(), f.ix.prefixed("")) == row.PartitionKey()
}

func (f listForm[T, K]) follow(entity, row keys.Key, stored, _ *table.Row, has, repairs bool) (*table.Row, error) {
	if stored != nil && !f.Owns(stored) {
		return nil, derived.ForeignRow(f.ix.name, row)
	}
	all, err := f.members(stored)
	if err != nil && !repairs {
		return nil, repairable(err)
	}
	member := memberText(entity)
	switch i, is := slices.BinarySearchFunc(all, member, keys.Compare); {
	case has && !is:
		if all = slices.Insert(all, i, member); lengthOf(all) > maxListUnits {
			return nil, eventual.Poison(&ListFullError{Definition: f.ix.name, Row: row, Members: len(all)})
		}
	case !has && is:
		all = slices.Delete(all, i, i+1)
	}
	return f.row(row, stored, all)
}

func (f listForm[T, K]) isTombstone(stored *table.Row) bool { return f.Owns(stored) && isEmpty(stored) }

func (f listForm[T, K]) entitiesIn(row *table.Row) (all []keys.Key) {
	members, _ := f.members(row)
	for _, member := range members {
		if k := keyOfMember(member); k.Err() == nil {
			all = append(all, k)
		}
	}
	return all
}

func (f listForm[T, K]) comparable() bool { return false }
