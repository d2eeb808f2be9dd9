package index

// Options are the options of [New] and [NewMulti].
type Options struct {
	// Unique makes a value belong to one entity of a partition only. A write that would give it to
	// a second entity fails with table.ErrTaken.
	Unique bool

	// Reserved stores the rows of the index among the library's own, which begin with ~x| and which
	// lists of the partition leave out: for tables whose own RowKeys may be any text.
	Reserved bool
}

// GlobalOptions are the options of [NewGlobal] and [NewGlobalMulti].
type GlobalOptions struct {
	// Table is the name of the table of the rows. Several definitions of one table of entities may
	// share it. It may also be the entities' own; [table.Table.Partitions] then lists the
	// partitions of the rows, too. Defaults to a table of its own: the name of the entities' table,
	// followed by the name of the definition.
	Table string
}

// UniqueOptions are the options of [NewUnique] and [NewUniqueMulti].
type UniqueOptions struct {
	// Table has the same meaning as in [GlobalOptions].
	Table string
}

// ListOptions are the options of [NewLists].
type ListOptions struct {
	// Property is the name of the property that contains the members: their RowKeys, separated by
	// /, which no RowKey contains. If the property is full, the rest is in properties with 2, 3 and
	// so on behind the name. Defaults to Members. If a later release changes the name, entities are
	// listed there once they are written again, or verify.Repair has repaired them.
	Property string

	// Reserved has the same meaning as in [Options].
	Reserved bool
}

// SummaryOptions are the options of [NewSummary].
type SummaryOptions struct {
	// Reserved has the same meaning as in [Options].
	Reserved bool

	// Most is the most entities that a group may have: a quota. A write that would make a group
	// larger fails with a *FullError, in any race of writers, and changes nothing. 0 means no
	// bound. All programs must have the same bound. A refusal takes 1 request more, which looks
	// whether the entity is as it was; in a table with ends (package expire) another one, which
	// looks for entities that are over, and those that delete them. Writes that are not refused
	// take none. Groups that exceed it already, because it was set or lowered later, keep their
	// entities, and take no more. In a transaction, let entities leave before others join.
	Most int64
}

// options are the options of all kinds.
type options struct {
	unique   bool
	reserved bool
	table    string
}
