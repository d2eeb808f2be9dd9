// Package keys builds and parses PartitionKeys and RowKeys.
//
// Table storage has one index: entities are sorted by PartitionKey and, within a partition, by RowKey, and both are
// strings. A good key is therefore a small program: it puts numbers into a form that sorts (000123), keeps the parts of
// a compound key apart, turns time around so that the newest entity comes first, and can be read back. A layout is that
// program as a value:
//
//	empid   := keys.Tuple1(keys.Digits[int](6)).Named("empid")             // empid_000223
//	reviews := keys.Tuple2(keys.Digits[int](6), keys.Digits[int](4))       // 000123_2012
//	log     := keys.Tuple1(keys.Desc(keys.Time()))                         // 2521008407000000000
//
//	reviews.Of(123, 2012)           // the key of one review
//	reviews.Prefix(123)             // the range of all reviews of employee 123, and of nobody else
//	reviews.Between(123, 2010, 2012)
//	reviews.Decode("000123_2012")   // 123, 2012, nil
//
// # What every layout promises
//
//   - Different values have different keys, and Decode gives back what Of was given. Decode accepts only what Of makes, so
//     a row of another layout is recognised as one.
//   - A part never leaks into the next: the separator "_" does not occur inside an encoded part.
//   - A prefix range holds exactly the keys that begin with the given parts.
//   - Keys sort as their values do, part by part, for every part but [Text], [Enum] and those that wrap them, whose
//     promise is stated with them.
//   - Keys are ASCII, without the characters that the service refuses and without ' and %, which break URLs. They never
//     begin with "~", which is reserved for rows that the library keeps beside the user's.
//
// [Fold] and [Spread] lose information on purpose. They serve look-ups and one-way bindings.
//
// # Errors
//
// [Layout1.Of] and its siblings return an [Enc], a key or the reason why there is none, so that calls nest:
//
//	staff.Get(ctx, keys.At(dept.Of("Sales"), empid.Of(223)))
//
// The verb that is given the key reports the error, a [*KeyError], before any request is sent. A mistake in a layout
// itself, such as a width of zero, is reported in the same way. Nothing in this package panics or does any I/O, and all
// its values may be used by several goroutines.
//
// Sources: 'Understanding the Table service data model' (keys), 'Azure Table storage table design guide' (padding,
// compound keys, log tail).
package keys
