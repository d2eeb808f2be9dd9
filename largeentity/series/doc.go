// Package series stores a number for each hour, day or other slot of time, many slots in one entity
// ('Azure Table storage table design guide': data series pattern).
//
// A day of hourly counts is one entity with 24 properties. One request stores an hour, and one
// request reads the day:
//
//	berlin, err := time.LoadLocation("Europe/Berlin")
//	visits := series.New[int64](company, "visits", series.Every(time.Hour, berlin), nil) // in an aztablekit.Store
//	home := visits.In(page.PartitionKey("home")) // one page, with a partition of its own
//
//	err = home.Set(ctx, at, 17)        // property H07 of row 2014-07-31
//	sum, err := home.Add(ctx, at, 1)   // 18
//	day, err := home.Read(ctx, at)     // 24 values
//	for v, err := range home.Between(ctx, monday, sunday) {
//		fmt.Println(v.From, v.Value, v.Present)
//	}
//
// [Slots] say which slots there are: [Every] (such as an hour, or 5 minutes), [Days] or [Named]
// (slots of a day with names). A period of more than 250 slots has several entities, which are read
// together. [Slots.Named] returns the time of a stored property.
//
// # Values
//
// A slot without a value is absent, which is not zero. Values may come in any order and at any
// time; [Series.Delete] deletes old periods. [Series.Set] overwrites a value, [Series.Add] adds to
// it. Use one of the two for a slot: a Set that is repeated after a lost response may overwrite an
// Add.
//
// # Time zones
//
// Each instant is in exactly one slot. On a day of 23 or 25 hours, Every(time.Hour) has 23 or 25
// slots, counted from the beginning of the day. See [Slots] for changes of the rules of a time
// zone.
//
// # Guarantees
//
//   - Concurrent writers of different slots lose nothing. Of two Sets of one slot, the last one
//     wins.
//   - An increment is applied once or not at all. If a response was lost, Add learns the outcome,
//     or fails with table.ErrUnknownOutcome and does not repeat the increment.
//   - A stored value of another type is an error, and never zero.
//
// # Not guaranteed
//
// docs/writes.md lists the limitations of writes. If the network duplicates the request of an Add
// and a concurrent writer then changes the entity, the increment may be applied twice.
// [Series.Exact] has none of these limitations.
//
// # Costs
//
// Set is 1 request, Add 2, and 3 more after each conflict with a writer of the same entity. For
// many events, count in memory and call [Series.AddAll] now and then, or give each writer a series
// of its own and add them up when reading. A range is 1 request for each 1,000 entities.
package series
