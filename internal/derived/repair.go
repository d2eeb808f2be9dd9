package derived

// RepairMode tells a maintainer that package verify writes an entity to repair derived rows. The zero value is the mode of all
// other writes, in which a maintainer trusts the maintainer state of the entity. There are seven uses:
//
//	                                       Rewrite  ReleaseOnly  CheckUnique  Absent
//	entities get rows they do not record                            (1)
//	confirmed faults of many entities        yes                    (1)
//	confirmed faults of one entity           yes                    yes         yes
//	one entity gives rows up for another               yes          yes
//	a summary miscounts one entity                                  yes
//	the rows elsewhere of an entity        (2)
//
// (1) if the writes also write unique rows of definitions that are not verified, because each row costs a request.
// (2) if a definition's rows are written again; without, the entity only records its rows.
//
// Active is set in all of them.
//
// "Entities get rows they do not record" needs no Rewrite: a maintainer compares the wanted rows with the maintainer state.
type RepairMode struct {
	Active bool

	Rewrite      bool // write the rows again, also if nothing has changed
	ReleaseOnly  bool // delete rows that the entity should not have, and write none that it lacks
	CheckUnique  bool // read a unique row before it is replaced, since another entity may have it by now; Rewrite alone does so, too
	RowsRead     bool // the rows of the definition were read; those of other definitions must be read before they are replaced
	CountsGroups bool // groups are counted again by the repair itself

	Absent  map[string]bool // RowKeys of wanted rows that did not exist when they were read together with the entity
	Foreign map[string]bool // RowKeys of existing rows that the definition does not own
}
