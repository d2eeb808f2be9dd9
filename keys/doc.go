// Package keys builds and parses PartitionKeys and RowKeys.
//
// Table storage sorts entities by PartitionKey and, within a partition, by RowKey. Both are strings. A layout makes such strings
// from values: it pads numbers so that they sort (000123), separates the components of a compound key, inverts times so that the
// newest entity comes first, and reads keys back.
//
//	empid   := keys.Tuple1(keys.Digits[int](6)).Named("empid")             // empid_000223
//	reviews := keys.Tuple2(keys.Digits[int](6), keys.Digits[int](4))       // 000123_2012
//	log     := keys.Tuple1(keys.Desc(keys.Time()))                         // 2521008407000000000
//
//	reviews.Of(123, 2012)           // the key of one review
//	reviews.Prefix(123)             // the range of all reviews of employee 123, and of no other
//	reviews.Between(123, 2010, 2012)
//	reviews.Decode("000123_2012")   // 123, 2012, nil
//
// # Guarantees of every layout
//
//   - Different values have different keys, and Decode returns the values that Of encoded. Decode accepts only keys that Of makes,
//     so rows of other layouts are recognised.
//   - The separator "_" does not occur inside an encoded component, so components cannot run into each other.
//   - A prefix range contains exactly the keys that begin with the given components.
//   - Keys sort as their values do, component by component. [Text], [Enum] and components that wrap them are exceptions; their
//     comments say how they sort.
//   - Keys are ASCII, without the characters that the service refuses and without ' and %, which break URLs. They never
//     begin with "~", which is reserved for the library's own rows.
//
// [Fold] and [Spread] lose information by design. Use them for look-ups and one-way bindings.
//
// # Errors
//
// [Layout1.Of] and its siblings return an [Enc], which is a key or an error, so that calls nest:
//
//	staff.Get(ctx, keys.At(dept.Of("Sales"), empid.Of(223)))
//
// The method that uses the key returns the error, a [*KeyError], before any request. A mistake in a layout itself, such as a width
// of zero, is returned in the same way. This package never panics and does no I/O, and its values are safe for concurrent use.
//
// Sources: 'Understanding the Table service data model' (keys), 'Azure Table storage table design guide' (padding,
// compound keys, log tail).
package keys
