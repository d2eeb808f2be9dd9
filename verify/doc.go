// Package verify compares the rows that packages index and materialized derive from entities with
// the entities, and repairs them (in other databases: index scrubbing).
//
// Derived rows are always right if all writers declare the same definitions with the same key
// functions. [Repair] is for all other cases: it removes the rows of an earlier key function, and
// repairs rows that programs without this library have written or deleted. Writers may continue
// meanwhile. aztablekit.Store.Fill makes a new definition of a table in use readable.
//
//	done, err := verify.Repair(ctx, staff, nil) // staff has definitions
//	if err != nil {
//		return err
//	}
//	if done.Faults > 0 {
//		log.Print(done) // what stays
//	}
//
// [Check] finds out what Repair would do, and writes nothing. Options.Fault receives each [Fault];
// the Progress counts them. An interrupted call goes on behind the finished partitions by the Token
// of its Progress.
//
// # Guarantees
//
// A fault that Check reports existed: Check confirms each fault that the entity alone does not show
// by a consistent read, so that a concurrent write is not taken for a fault. Exception: of Check, a
// DuplicateValue of two missing rows is a prediction of what a repair would find. A repair never
// overwrites a concurrent write, because each repair is a write by ETag. Rows of other types,
// definitions and programs are left as they are. A row that a worker is still to change is no
// fault.
//
// A repair changes derived rows, and in an entity only _ix and _op, which record the derived rows.
// A row of an older version of the schema stays of that version, so that an older program can still
// use it. See [table.Schema] for a way to upgrade rows.
//
// # Not guaranteed
//
// A fault that comes into being while Check is in progress may be missed. A run over a range does
// not find rows elsewhere that no entity of the range records. Repair does not repair a
// [DuplicateValue], two entities with one unique value or one derived entity, because either may be
// right: give one of them another value.
//
// # Costs
//
// A sound partition costs 1 request for each 1,000 derived rows of a definition, and for each 1,000
// entities. See [Check] for faults, lists, details and summaries.
package verify
