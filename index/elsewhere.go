package index

import (
	"strings"

	"github.com/aztablekit/aztablekit/keys"
)

// Elsewhere says where the rows of an [Index] or [Lists] are, if they are not in their entities' own partitions ('Azure Table storage
// table design guide': inter-partition secondary index pattern). It is for look-ups over all partitions, and for volume beyond one.
//
//	byEmail := index.New("email", keys.Tuple1(keys.Fold(keys.Text())), email, &index.Options[Employee]{Elsewhere: &index.Elsewhere[Employee]{}})
//
//	staff, err := maintain.WithOutbox(plain, outbox)
//	staff, err = index.Attach(staff, byEmail)
//	err = index.Ensure(ctx, staff) // creates the table staffemail
//
//	w, err := eventual.NewWorker(queue, poison, []eventual.Handler{index.Handler(staff)}, nil)
//
//	e, err := byEmail.Get(ctx, staff, keys.Enc{}, "JonesJ@contoso.com") // 1 request, whatever the department
//
// # Guarantees
//
// The rows of unique values ([Options].Unique) change together with their entities; see [Global]. All other rows follow eventually: a
// worker executes each committed change at least once, and whatever crashes, is lost, repeated or late, the rows are in the end as the
// entity is. A look-up by a copy may find the entity as it was, or find it under its
// old value; with Options.ReadEntities or Options.Pointer, a look-up reads the entity itself and leaves out entities that do not have
// the value (a verified read). It may still miss an entity that got its value a moment ago. With Inline, a write returns when the rows
// are right.
//
// A row that an entity does not have any more becomes a tombstone, which look-ups leave out. The worker's clean-up
// (eventual.WorkerOptions.CleanUp) deletes it a day later. Tombstones without a clean-up stay until verify.Run with Repair.
//
// # Requests
//
// A write that changes no row elsewhere takes no more requests than before. A full copy changes with every write of its entity; a
// projected copy, a pointer and a list only if the value or a copied field changes. A write that changes rows takes 2 more, for its
// notification. The worker takes 5, and 2 for each row: a value that changes has two.
type Elsewhere[T any] struct {
	// Table is the name of the table of the rows. Several definitions of one table of entities may share it, but not those of two
	// tables: the rows do not tell which table their entities are in. It may also be the entities' own; [table.Table.Partitions] then
	// lists the partitions of the rows, too.
	// Defaults to a table of its own: the name of the entities' table, followed by the name of the definition.
	Table string

	// Partition returns the partition of the rows of an entity, and must be pure. Defaults to a partition for each value, which is
	// without limit for many values, and has no order between them: look-ups then take a value and no partition.
	Partition func(*T) keys.Enc

	// Inline lets the writer change the rows itself, after the commit and before the write returns. If that fails, a worker does it.
	// It takes 2 requests for each row, and 3 more. It must not be set for unique values, which change with their entity.
	Inline bool
}

// copy returns a copy of the options, nil for nil.
func (e *Elsewhere[T]) copy() *Elsewhere[T] {
	if e == nil {
		return nil
	}
	c := *e
	return &c
}

// memberSeparator stands between the two keys of an entity. It is escaped in the first.
const memberSeparator = ":"

var (
	escapeMember   = strings.NewReplacer(";", ";0", memberSeparator, ";1")
	unescapeMember = strings.NewReplacer(";0", ";", ";1", memberSeparator)
)

// memberText returns the keys of an entity as one text, which can be a part of a key.
func memberText(entity keys.Key) string {
	return escapeMember.Replace(entity.PartitionKey()) + memberSeparator + entity.RowKey()
}

// keyOfMember returns the key in a text of memberText. The key of any other text has an error, or belongs to no entity.
func keyOfMember(text string) keys.Key {
	partition, row, _ := strings.Cut(text, memberSeparator)
	return keys.Stored(unescapeMember.Replace(partition), row)
}
