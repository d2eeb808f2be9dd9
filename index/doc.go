// Package index keeps what is derived from entities in their own partition, in the same transaction: secondary indexes, lists,
// details of one entity in another, and summaries ('Azure Table storage table design guide': intra-partition secondary index,
// index entities, denormalization).
//
// Table storage finds rows by PartitionKey and RowKey and by nothing else. An index is more rows: copies of each entity, or
// pointers to it, under other keys. A definition says under which, and is the handle of the look-ups:
//
//	var byEmail = index.New("email", keys.Tuple1(keys.Fold(keys.Text())), func(e *Employee) (string, bool) {
//		return e.Email, e.Email != "" // who has no address is not in the index
//	}, &index.Options[Employee]{Unique: index.InPartition})
//
//	staff, err := index.Attach(plain, nil, byEmail, byLastName) // plain is a *table.Table[Employee]
//
//	e, err := byEmail.Get(ctx, staff, dept.Of("Sales"), "JonesJ@contoso.com") // 1 request
//
// [Attach] returns a handle of the same table. All its verbs, transactions and bulk work keep the rows of the definitions, and there
// are no other verbs to learn. Employee 223 is then stored as the guide draws it, once under empid_000223 and once under
// email_jonesj@contoso.com; lists of employees see her once.
//
// # What there is
//
//   - [Index]: rows under a value, one for each entity that has it. By default full copies, from which 1 request reads a whole
//     entity; or copies of some fields (Only); or pointers, the guide's index entities as one row for each member. Unique or not,
//     sparse, with several values for an entity ([NewMulti]), over several fields ([keys.Struct2]).
//   - [Lists]: the guide's index entities as it draws them, one row that lists all members of a value.
//   - [Details]: fields of one entity in another, such as the manager's in the department.
//   - [Summary]: counts, sums, least and greatest of a group in one row.
//
// # What is promised
//
// At every instant, for every reader, the rows are what follows from the entities: they are written in one transaction with them, by
// the entity's ETag. A value that is unique has one owner at most. No write is lost or done twice, whoever crashes; see package
// table. All this has been tried with each fault at each request of each verb, and with racing writers in thousands of orders.
//
// What is not: a program that writes entities without this library, or with a handle that lacks a definition, leaves rows as they
// are. A handle that lacks a definition refuses to change an entity that is in its index ([ErrUnknownIndex]), unless it has no definition
// at all and was made with [table.Options].BlindWrites.
//
// A row of another type, definition or program is neither replaced nor deleted, whatever its key: a write that would need its place
// fails with [ErrForeignRow], or with [ErrTaken] for a unique value, and Verify reports the missing row and leaves the other. A read of
// the one list or summary whose key such a row has fails with [ErrForeignRow], too. An index row contains the key of its entity in _sys.
// A list or summary contains the name of its definition and the type there. All other rows are foreign. One exception: an entity
// remembers its index rows, and a write replaces or deletes these without reading them. Another program that deletes an index row and
// puts a row of its own there loses it with the next write of the entity; Verify does not do that.
//
// Rows that were damaged by hand are repaired with the next write of their entity, and by [Verify]. One exception: a list or summary
// whose _sys another program has removed is foreign from then on, so reads of its group and writes that join it fail with ErrForeignRow,
// and Verify reports the row and leaves it. Delete that row and run Verify with Repair, or give the definition another name.
//
// If another program has replaced an entity and so removed its _ix, the next write derives the old rows from the loaded entity, reads
// them, and removes those that belong to the entity. It counts the entity's summaries anew. If that program has changed an indexed
// column, the rows of the former value stay until Verify with Repair runs, and so may a summary's count; see [Summary]. Where a unique
// row was deleted by hand and its value taken by another entity, both have it: the next write of either takes the row, until Verify
// tells of the conflict. A partition takes about 2,000 rows a second, those of indexes included: for more, or to look up across
// partitions, rows must be elsewhere.
//
// # What it costs
//
// A write from a loaded entity is 1 request, with any number of indexes: up to 97 rows for one change of one entity, those that go and
// those that come. Upsert, Merge and Delete by key read the row first. Full copies are written with every write of their entity, others
// only where what they hold has changed. Lists, summaries and details are shared: a write that changes them reads each first, 1 request
// more, and begins again where others were faster, up to Retry.Rounds times ([table.ErrContended]). A look-up in a full copy is 1
// request, by a pointer 2; a list is 1 for each 1,000 rows, and by pointers 1 more for each entity, 10 at a time. A value that is taken
// costs 1 more, to say by whom. The first write of an entity without maintainer state costs 1 request for each index row that the
// stored entity may have and the new one does not need, and for a summary the requests of a recount; see [Summary].
//
// # Writing by what a look-up has found
//
// A full copy gives the entity: its key, its value, and the columns that T does not know. Replace, Merge and Delete then read its
// row, 1 request more, and are refused with table.ErrChanged where it is not as it was copied: then Get it by its key, for where
// another program has changed it, the copy stays as it is until its next write by a handle with the index. What a projected copy
// gives is to be read only; Get the entity to write it.
//
// # Changing an index
//
// To add one to a table that is in use, first look whether it can be: attach it in a program of your own, and run [Verify] without
// Repair, which writes nothing and tells of values that two entities have and of entities that no key can be made of. These could not be
// written any more once the index is released. Then release it with WriteOnly in all writers, run Verify with Repair, and release it
// without. While a release is rolled out, writers of the one before are refused (ErrUnknownIndex) at entities that the new ones have
// written: let them try again later, or stop first. To change what its key function returns, or its layout, do the same under a new
// name, and let the old one go: a key function that returns false, and when no writer has another any more, Verify with Repair, and then
// no definition. Under the same name entities find their old rows when they are written again, and look-ups miss what was not written
// again. A change of the kind of a definition also needs a new name, between [Lists] and [Summary] and from a unique index to either:
// the old rows are foreign to the new definition, so that reads of a value and writes that add an entity to it fail with ErrForeignRow.
// A change of what an [Index] copies needs no new name: look-ups read the entity where its copy is of another kind, until Verify has
// repaired it.
//
// # Rows
//
// Rows are called after the index or its layout: email_ and the value, and where several entities may have it, _ and the entity's RowKey
// behind; of [keys.Ordered] text ends in !, as in last_Jones!_empid_000223. A copy says in the property _sys whose it is, and in short
// which fields it holds; the entity says in _ix which rows it has, in a compact binary form that table/remembered.go describes byte by
// byte: for each definition its name, and of each RowKey what neither the name nor the entity's own RowKey says. A city with three
// indexes and a list takes 119 bytes for it. Lists, summaries and details contain in _sys the name of the definition and the text with
// which the RowKeys of its entities begin, with a ? and the type behind if the schema has one: //team:empid_ in a list, //+ages:empid_
// in a summary, /manager:empid_ in an entity that holds details. Text stands in order only where nothing follows it: for ranges over
// values that are not unique use [keys.Ordered].
package index
