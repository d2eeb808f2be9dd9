package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestSeries: removes what a data series depends on, piece by piece.
func TestSeries(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./largeentity/series", []mutants.Mutant{
		{Name: "a day ends when the clock is set back over midnight", File: "largeentity/series/series.go",
			Old: "	for !startOf(dayAfter(date), zone).After(t) {\n", New: "	for false {\n", Test: "TestNames|TestEveryTransition"},
		{Name: "a day begins at a midnight that does not exist", File: "largeentity/series/series.go",
			Old: "		if at.Before(from) {\n", New: "		if at.Before(from) && false {\n", Test: "TestNames|TestEveryTransition"},
		{Name: "the last slot of a day reaches into the next day", File: "largeentity/series/slots.go",
			Old: "	if c.To.After(to) {\n", New: "	if c.To.After(to) && false {\n", Test: "TestLocalDays|TestEveryTransition"},
		{Name: "a day that was skipped has a slot", File: "largeentity/series/slots.go",
			Old: "return !c.From.Before(c.To) }", New: "return false }", Test: "TestWrongSlots|TestEveryTransition"},
		{Name: "all slots of a day are in one entity", File: "largeentity/series/slots.go",
			Old: "		s.per = n / entities\n", New: "		s.per = n + entities\n", Test: "TestBetween|TestDelete"},
		{Name: "the 29 February moves the days after it", File: "largeentity/series/slots.go",
			Old: "	if date.Month() >= time.July {\n", New: "	if date.YearDay() > 181 {\n", Test: "TestHalfYears"},
		{Name: "a row of another form is an entity", File: "largeentity/series/slots.go",
			Old: "	return p, entity, is && entity >= 0 && entity < s.maxEntities() && s.rowKey(p, entity) == key\n", New: "	return p, entity, is && entity >= 0 && entity < s.maxEntities()\n", Test: "TestForeignRows"},
		{Name: "a row with a number that no period has is an entity", File: "largeentity/series/slots.go",
			Old: "entity < s.maxEntities() && s", New: "s", Test: "TestDeleteOthers"},
		{Name: "the longest day has the entities of another day", File: "largeentity/series/slots.go",
			Old: "(2*int(day/s.every) + s.per - 1) / s.per\n", New: "(int(day/s.every) + s.per - 1) / s.per\n", Test: "TestLongestDay"},
		{Name: "the day of a far time is looked for", File: "largeentity/series/slots.go",
			Old: "	far := t.Before(earliest) || t.After(latest)\n", New: "	far := t.Before(earliest)\n", Test: "TestFarTimes"},
		{Name: "too many entities are read before they are refused", File: "largeentity/series/write.go",
			Old: "	case n > s.most:\n", New: "	case n > s.most && false:\n", Test: "TestNoWrongRequests"},
		{Name: "a value that no slot can have is found after the first request", File: "largeentity/series/series.go",
			Old: "		if _, err := property(c.Name, v); err != nil {\n", New: "		if _, err := property(c.Name, v); err != nil && false {\n", Test: "TestNoWrongRequests"},
		{Name: "an absent slot is 0", File: "largeentity/series/read.go",
			Old: "		return Value[V]{Slot: c.Slot}, nil\n", New: "		return Value[V]{Slot: c.Slot, Present: true}, nil\n", Test: "TestSet"},
		{Name: "a day without an entity has the values of the day before", File: "largeentity/series/read.go",
			Old: "	if !present || !stored.date.Equal(c.date) {\n", New: "	if !present {\n", Test: "TestBetween"},
		{Name: "a slot is in two adjacent ranges", File: "largeentity/series/read.go",
			Old: "		if c.From.Before(l.from) || ", New: "		if !l.from.Before(c.To) || ", Test: "TestBetween"},
		{Name: "the second entity of a period replaces the first", File: "largeentity/series/read.go",
			Old: "	if !p.date.Equal(date) || p.properties == nil {\n", New: "	if true {\n", Test: "TestBetween"},
		{Name: "a value of another type is 0", File: "largeentity/series/slots.go",
			Old: "	return 0, &table.DecodeError{Field: name, Reason: fmt.Sprintf(\"is a %T", New: "	if true {\n		return 0, nil\n	}\n	return 0, &table.DecodeError{Field: name, Reason: fmt.Sprintf(\"is a %T", Test: "TestForeignRows"},
		{Name: "a row with a negative number is an entity", File: "largeentity/series/slots.go",
			Old: "is && entity >= 0 && entity", New: "is && entity", Test: "TestDeleteForeignRows"},
		{Name: "wrong slots have a slot", File: "largeentity/series/slots.go",
			Old: "	if err := s.check(); err != nil {\n		return date, err\n	}\n", New: "", Test: "TestWrongSlots"},
		{Name: "a sum overflows", File: "largeentity/series/slots.go",
			Old: "	if b > 0 && s < a || b < 0 && s > a {\n", New: "	if false {\n", Test: "TestRange"},
		{Name: "Set deletes the other slots", File: "largeentity/series/write.go",
			Old: "s.rows.Upsert(ctx, row, table.MergeExisting)", New: "s.rows.Upsert(ctx, row, table.ReplaceExisting)", Test: "TestSet"},
		{Name: "Add overwrites a concurrent Add", File: "largeentity/series/write.go",
			Old: "	return rows.MergeOp(stored, changes...), nil\n", New: "	row, err := e.row()\n	return rows.UpsertOp(row, table.MergeExisting), err\n", Test: "TestSchedules|TestAddConflict"},
		{Name: "Add repeats an increment whose outcome is unknown", File: "largeentity/series/write.go",
			Old: "	})\n	return sums, err\n", New: "	})\n	if errors.Is(err, table.ErrUnknownOutcome) {\n		return s.add(ctx, method, values)\n	}\n	return sums, err\n", Test: "TestSchedules"},
		{Name: "two increments of a slot count as one", File: "largeentity/series/series.go",
			Old: "		if before, twice := e.values[c.Name]; twice {\n", New: "		if before, twice := e.values[c.Name]; twice && false {\n", Test: "TestAddAll"},
		{Name: "a period is deleted that ends after the range", File: "largeentity/series/write.go",
			Old: "	return !begins.Before(from) && !ends.After(to)\n", New: "	return !begins.Before(from) && begins.Before(to) && ends.After(begins)\n", Test: "TestDelete"},
	})
}
