// Package index keeps rows that follow from entities: secondary indexes, lists, details of one
// entity in another, and summaries ('Azure Table storage table design guide': secondary indexes,
// index entities, denormalization). They are in the partition of their entities and change in the
// same transaction, unless a definition is for all partitions ([NewGlobal], [NewUnique]).
//
// An index stores more rows for each entity, under other keys. A definition looks entities up:
//
//	var byEmail = index.New("email", keys.Fold(keys.Text()), func(e *Employee) (string, bool) {
//		return e.Email, e.Email != "" // without an address, not in the index
//	}, &index.Options{Unique: true}) // in each department
//
//	staff := aztablekit.Table(company, "staff", dept, empid, byEmail, byLastName)
//
//	e, err := byEmail.Get(ctx, staff, dept.Of("Sales"), "JonesJ@contoso.com") // 1 request
//
// All writes of the table update the rows. Employee 223 is stored twice, under empid_000223 and
// under email_jonesj@contoso.com. Lists show her once.
//
// # Definitions
//
//   - [Index]: a row for each entity and value. A full copy by default, from which 1 request reads
//     the entity; a copy of some fields; or a pointer. Unique or not, of several values
//     ([NewMulti]) or several fields ([keys.Row2]).
//   - [Global]: an index over all partitions: pointers, or copies a moment later. By order, ranges
//     and prefixes: [Global.In].
//   - [Unique]: a value that one entity of the whole table has, at every instant.
//   - [Lists]: one row for all entities with a value.
//   - [Details]: fields of one entity in another, such as the manager's in the department.
//   - [Summary]: counts, sums, least and greatest values of a group.
//
// # Guarantees
//
// At every instant, the stored index has every match, and a stored summary is exact: derived rows
// are written in the transaction of their entity, and pointers elsewhere before it. Copies elsewhere
// follow. A unique value has one owner.
//
// # Not guaranteed
//
// A query of several requests, or by pointers, may miss an entity that just got the value.
//
// A program without this library leaves index rows as they are; package verify repairs them. From
// Store.Fill on, writes of a program that lacks the definition fail with table.ErrNotDeclared.
// docs/indexes.md describes rows of other programs, and how to change an index.
//
// # Costs
//
// A write of a loaded entity is 1 request, with up to 97 derived rows; by key, it reads the row
// first. Lists, summaries and details are shared by several entities: a write that changes one
// reads it first, 1 request more, and is replanned after a conflict. A look-up in a full copy is 1
// request, by a pointer 2. A list is 1 request for each 1,000 rows; by pointers, 1 more for each
// entity, 10 at a time. A partition takes about 2,000 rows a second, index rows included.
package index
