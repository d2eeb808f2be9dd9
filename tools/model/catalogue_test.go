package model

import "testing"

func catInserts(role catRole, slot, value uint8) catProgram {
	return catProgram{role, catInsert, slot, value}
}
func catUpdates(role catRole, slot, value uint8) catProgram {
	return catProgram{role, catUpdate, slot, value}
}
func catDeletes(role catRole, slot uint8) catProgram { return catProgram{role, catDelete, slot, 0} }
func runs(role catRole) catProgram                   { return catProgram{role: role} }

// The entities of the workloads.
var (
	plainEntity   = [catSlots]catEntity{{value: 1}}         // without a row
	keylessEntity = [catSlots]catEntity{{value: 3}}         // that is not in the index
	indexedEntity = [catSlots]catEntity{{value: 1, row: 1}} // with its row
)

// TestCatalogue explores releases, fills and retirements of a definition, beside writers of two releases.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	unfilled := func(entities [catSlots]catEntity, programs ...catProgram) catalogueProtocol {
		return catalogueProtocol{programs: programs, start: catUnfilled, entities: entities}
	}
	readable := func(programs ...catProgram) catalogueProtocol {
		return catalogueProtocol{programs: programs, start: catReadable, entities: indexedEntity, rows: 1, clean: true}
	}
	for _, w := range []struct {
		name  string
		c     catalogueProtocol
		extra func(*catalogueProtocol)
		size  int
	}{
		{"a release, and its fill", catalogueProtocol{programs: []catProgram{catUpdates(writerWithout, 0, 2), catUpdates(writerWith, 0, 3), runs(ensurer), runs(fills), runs(lookUp)}, start: catAbsent, entities: plainEntity}, nil, 1},
		{"a fill beside writers", unfilled(plainEntity, catUpdates(writerWithout, 0, 2), catInserts(writerWithout, 1, 1), catDeletes(writerWith, 0), runs(fills)), lateAndCrash, 1},
		{"two fills", unfilled(plainEntity, catUpdates(writerWithout, 0, 2), catUpdates(writerWith, 0, 3), runs(fills), runs(fills)), late, 1},
		{"two fills, one of which crashes", unfilled(plainEntity, catInserts(writerWithout, 1, 1), catInserts(writerWith, 1, 2), runs(fills), runs(fills)), crash, 1},
		{"an entity that comes into the index", unfilled(keylessEntity, catUpdates(writerWithout, 0, 1), catInserts(writerWith, 1, 2), runs(fills)), lateAndCrash, 1},
		{"a fill beside four writers", unfilled(plainEntity, catUpdates(writerWithout, 0, 2), catInserts(writerWithout, 1, 1), catUpdates(writerWith, 0, 2), catDeletes(writerWith, 0), runs(fills)), nil, 2},
		{"a new table, two releases", catalogueProtocol{programs: []catProgram{catInserts(writerWithout, 0, 1), catInserts(writerWith, 1, 1), runs(ensurer), runs(ensurerWithout), runs(fills), runs(lookUp)}}, nil, 1},
		{"a new table, twice the same release", catalogueProtocol{programs: []catProgram{catInserts(writerWith, 0, 1), catInserts(writerWithout, 1, 1), runs(ensurer), runs(ensurer), runs(lookUp)}, late: true}, nil, 1},
		{"a table from before the catalogue", catalogueProtocol{programs: []catProgram{catUpdates(writerWith, 0, 2), catUpdates(writerWithout, 0, 3), runs(ensurer), runs(fills), runs(lookUp)}, entities: indexedEntity, rows: 1, late: true}, nil, 1},
		{"a table from before the catalogue, retired", catalogueProtocol{programs: []catProgram{catUpdates(writerWith, 0, 2), catUpdates(writerWithout, 0, 3), runs(ensurer), runs(retires), runs(lookUp)}, entities: indexedEntity, rows: 1, clean: true, late: true}, nil, 1},
		{"a roll-back before the fill", catalogueProtocol{programs: []catProgram{catUpdates(writerWith, 0, 2), catInserts(writerWithout, 1, 1), runs(ensurer), runs(fills), runs(retires)}, start: catAbsent, entities: plainEntity, clean: true}, nil, 1},
		{"a retirement", readable(catUpdates(writerWith, 0, 2), catInserts(writerWithout, 1, 1), runs(retires), runs(lookUp)), late, 1},
		{"a retirement, two look-ups", readable(catInserts(writerWith, 1, 1), catDeletes(writerWith, 0), runs(retires), runs(lookUp), runs(lookUp)), nil, 1},
		{"a retirement that crashes", readable(catInserts(writerWith, 1, 1), catUpdates(writerWithout, 0, 2), runs(retires), runs(lookUp)), lateAndCrash, 1},
		{"two retirements", readable(catInserts(writerWith, 1, 1), runs(retires), runs(retires), runs(lookUp)), crash, 1},
		{"a retirement while it is filled", unfilled(plainEntity, catUpdates(writerWith, 0, 2), catInserts(writerWithout, 1, 1), runs(fills), runs(retires), runs(lookUp)), cleanAndCrash, 1},
		{"a retirement while it is filled, and a late request", unfilled(plainEntity, catInserts(writerWith, 1, 1), catUpdates(writerWithout, 0, 2), runs(fills), runs(retires)), late, 1},
		{"a retirement, and the same definition again", readable(catInserts(writerWith, 1, 1), runs(retires), runs(ensurer), runs(fills), runs(lookUp)), nil, 1},
		{"two retirements, and a fill", readable(runs(retires), runs(retires), runs(fills), runs(lookUp)), nil, 1},
		{"two retirements, and a fill, beside a writer", readable(catInserts(writerWith, 1, 1), runs(retires), runs(retires), runs(fills), runs(lookUp)), crash, 2},
		{"releases, fills and retirements", unfilled(plainEntity, catUpdates(writerWithout, 0, 2), catInserts(writerWithout, 1, 1), catUpdates(writerWith, 0, 3), catInserts(writerWith, 1, 2), runs(fills), runs(fills)), lateAndCrash, 3},
	} {
		if w.size > *models {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := w.c
			if w.extra != nil {
				w.extra(&c)
			}
			expectSound(t, explore(c.model()))
		})
	}
}

func late(c *catalogueProtocol)          { c.late = true }
func crash(c *catalogueProtocol)         { c.crashes = 1 }
func lateAndCrash(c *catalogueProtocol)  { c.late, c.crashes = true, 1 }
func cleanAndCrash(c *catalogueProtocol) { c.clean, c.crashes = true, 1 }

// TestCatalogueMutants: each part of the protocol prevents a fault.
func TestCatalogueMutants(t *testing.T) {
	t.Parallel()
	fill := []catProgram{catInserts(writerWithout, 1, 1), runs(fills)}
	twice := append(fill[:2:2], runs(fills))
	retire := []catProgram{catInserts(writerWithout, 1, 1), runs(retires), runs(lookUp)}
	sweep := []catProgram{catInserts(writerWith, 1, 1), runs(retires)}
	building := func(c catalogueProtocol, programs []catProgram) catalogueProtocol {
		c.programs, c.start, c.entities = programs, catUnfilled, plainEntity
		return c
	}
	readable := func(c catalogueProtocol, programs []catProgram) catalogueProtocol {
		c.programs, c.start, c.entities, c.rows, c.clean = programs, catReadable, indexedEntity, 1, true
		return c
	}
	unnamed := []catProgram{catInserts(writerWith, 1, 1), catUpdates(writerWithout, 1, 2), runs(ensurer)}
	fresh := []catProgram{catInserts(writerWithout, 0, 1), runs(ensurer), runs(ensurerWithout), runs(lookUp)}
	for name, m := range map[string]struct {
		c     catalogueProtocol
		wrong string
	}{
		"no wait before the fill":                      {building(catalogueProtocol{noWait: true}, fill), readableWrong},
		"a second fill does not wait":                  {building(catalogueProtocol{secondDoesNotWait: true}, twice), readableWrong},
		"a fill that begins again does not wait":       {building(catalogueProtocol{secondDoesNotWait: true, crashes: 1}, fill), readableWrong},
		"the wait counts from before the request":      {building(catalogueProtocol{waitsFromSend: true}, fill), readableWrong},
		"a lease counts from the response":             {building(catalogueProtocol{leasesFromResponse: true}, fill), readableWrong},
		"a writer without it does not look":            {building(catalogueProtocol{ignores: true}, fill), readableWrong},
		"a fill without ETags":                         {building(catalogueProtocol{fillsBlindly: true}, []catProgram{catUpdates(writerWith, 0, 2), runs(fills)}), writeLost},
		"readable without the ETag of the row":         {building(catalogueProtocol{readableBlindly: true}, []catProgram{catInserts(writerWithout, 1, 1), runs(fills), runs(retires)}), readableWrong},
		"a request that arrives after the wait":        {building(catalogueProtocol{unbounded: true}, fill), readableWrong},
		"a fill without a lease":                       {building(catalogueProtocol{noFillLease: true, clean: true}, []catProgram{runs(fills), runs(retires)}), rowsLeft},
		"a sweep without a lease":                      {readable(catalogueProtocol{noSweepLease: true}, []catProgram{runs(retires), runs(retires), runs(fills)}), readableWrong},
		"unfilled is maintained":                       {building(catalogueProtocol{unfilledMaintains: true}, []catProgram{catUpdates(writerWith, 0, 2), catUpdates(writerWithout, 0, 1)}), refusedEarly},
		"retired in one step":                          {readable(catalogueProtocol{oneStep: true}, retire), lookUpWrong},
		"no wait between retiring and retired":         {readable(catalogueProtocol{noFirstWait: true}, retire), lookUpWrong},
		"no wait before the sweep":                     {readable(catalogueProtocol{noSecondWait: true}, sweep), rowsLeft},
		"retired is maintained":                        {readable(catalogueProtocol{retiredMaintains: true}, sweep), rowsLeft},
		"a writer does not mind that it is not named":  {catalogueProtocol{programs: unnamed, start: catAbsent, writesUnnamed: true}, refusedEarly},
		"a look-up checks its lease before only":       {readable(catalogueProtocol{checksBefore: true}, retire), lookUpWrong},
		"writers write to a table without a row":       {catalogueProtocol{programs: fresh, writesWithoutRow: true}, readableWrong},
		"readable at once on any table without a row":  {catalogueProtocol{programs: fresh, entities: plainEntity, readableAtOnce: true}, readableWrong},
		"Ensure overwrites the row of another program": {catalogueProtocol{programs: fresh, overwrites: true}, readableWrong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expectFault(t, m.c.model().Explore(), m.wrong)
		})
	}
}

// TestCatalogueAssumption: what a request costs that arrives later than the wait allows.
func TestCatalogueAssumption(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]struct {
		entities [catSlots]catEntity
		write    catProgram
		wrong    string
	}{
		"a late update of an entity with a row": {plainEntity, catUpdates(writerWithout, 0, 2), ""},
		"a late delete":                         {plainEntity, catDeletes(writerWithout, 0), ""},
		"a late insert":                         {plainEntity, catInserts(writerWithout, 1, 1), readableWrong},
		"a late update of an entity that was not in the index": {keylessEntity, catUpdates(writerWithout, 0, 1), readableWrong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := catalogueProtocol{programs: []catProgram{m.write, runs(fills)}, start: catUnfilled, entities: m.entities, unbounded: true}
			expectFault(t, c.model().Explore(), m.wrong)
		})
	}
}
