// Package materialized keeps materialized views: tables of entities that are derived from the
// entities of another table. A view is a read model: it has the keys and the properties that its
// readers need, in other partitions, another table or another account, and follows the writes
// eventually.
//
// A view is a pure function of one entity. It has a table, which is declared, too:
//
//	type Member struct { // an entity of the table directory, all in one partition
//		ID         int
//		Department string
//	}
//
//	members := materialized.New("members", directory, func(e *Employee, k keys.Key) (Member, bool) {
//		return Member{e.ID, e.Department}, true
//	})
//
//	staff := aztablekit.Table(company, "staff", dept, empid, members)
//
// # Counts and sums
//
// The table of a view may have maintainers of its own. A summary of package index over the view
// counts the entities of all partitions of the original table, for example the employees of each
// department of the whole company. The derived entity and the summary change in one transaction, so
// that repeated and late messages count nothing twice.
//
// # Guarantees
//
// After each committed write, the derived entity becomes what the entity's latest content says,
// even if writers and workers crash, and messages and requests are late or repeated. Summaries and
// indexes of a view are consistent with the view at every instant.
//
// # Not guaranteed
//
// A reader of a view may see the entity as it was a moment ago. Only the view should write its
// table: [verify.Repair] finds and repairs other changes.
//
// # Costs
//
// A write that changes a view takes 2 requests more, for its notification; a write that changes
// none takes no more. For each write, a worker takes 5 requests, and 2 for each derived entity.
// Each derived entity has a small row beside it, under ~v| and its RowKey.
//
// # Changed functions
//
// If a release changes what derive returns, entities follow with their next write, and
// [verify.Repair] follows for all. If the derived entities get other keys, workers of each release
// leave the effects of the other release to its workers, for
// eventual.WorkerOptions.UnknownKindTimeout. For longer roll-outs, give the view another name and
// table. docs/views.md describes the protocol and all changes.
package materialized
