// Package keys builds and parses PartitionKeys and RowKeys.
//
// Table storage sorts entities by PartitionKey and, within a partition, by RowKey. Both are
// strings. A layout makes such strings from values: it pads numbers so that they sort (000123),
// separates the components of a compound key, inverts times so that the newest entity comes first,
// and reads keys back.
//
//	dept   := keys.Partition(keys.Text(), func(e *Employee) *string { return &e.Department })        // Sales
//	empid  := keys.Row(keys.Digits[int](6).Named("empid"), func(e *Employee) *int { return &e.ID })  // empid_000223
//	review := keys.Row2(keys.Digits[int](6), keys.Digits[int](4), func(r *Review) (*int, *int) { return &r.Employee, &r.Year })
//
//	keys.At(dept.Of("Sales"), empid.Of(223))   // the key of an employee
//	empid.Between(200, 299)                    // a range of RowKeys
//	review.Of(123, 2012)                       // 000123_2012
//	review.Under(123).All()                    // all reviews of employee 123, and of no other
//	review.Under(123).Between(2010, 2012)
//	review.Between(100, 199)                   // the reviews of many employees
//
// A PartitionKey and a RowKey are two types: where one is wanted, the other does not compile. A key
// that is bound to fields of an entity is stored once: a write makes the key of the fields, and a
// read sets the fields from the key. [OnePartition] and [OneRow] are constant, [RawPartitionOf] and
// [RawRowOf] take the keys of existing tables, and [PartitionFunc] and [RowFunc] compute a key that
// is not decoded. A [Component] alone, or several for the fields of a struct ([Row2]), is the
// layout of an index; see docs/keys.md.
//
// # Guarantees of every layout
//
//   - Different values have different keys, and Decode returns the values they were made of. Decode
//     accepts only keys that a value has, so rows of other layouts are recognised.
//   - The separator "_" does not occur inside an encoded component, so components cannot run into
//     each other.
//   - The range under given components contains exactly the keys that begin with the given
//     components.
//   - Keys sort as their values do, component by component. [Text], [Enum] and components that wrap
//     them are exceptions; their comments say how they sort.
//   - Keys are ASCII, without the characters that the service refuses and without ' and %, which
//     break URLs. They never begin with "~", which is reserved for the library's own rows.
//
// [Fold] and [Spread] lose information by design. Use them for look-ups, and for keys that are
// computed ([RowFunc]).
//
// # Errors
//
// [RowOf.Of] and its siblings return a key that contains its error, so that calls nest:
//
//	staff.Get(ctx, keys.At(dept.Of("Sales"), empid.Of(223)))
//
// The method that uses the key returns the error, a [*KeyError], before any request. A mistake in a
// layout itself, such as a width of zero, is returned in the same way. This package never panics
// and does no I/O, and its values are safe for concurrent use.
//
// Sources: 'Understanding the Table service data model' (keys), 'Azure Table storage table design
// guide' (padding, compound keys, log tail).
package keys
