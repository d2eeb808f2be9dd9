package engine

// Completion is an effect of a commit record that a write completes in its own transaction.
type Completion struct {
	Record Record
	Effect int
	Valid  bool // the caller gave a record

	Applied func(Record) // is told the record as it is stored then

	done bool
	left []Effect // what the record contains once the write is applied
}
