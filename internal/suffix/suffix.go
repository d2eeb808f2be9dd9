// Package suffix names the layout that package keys makes for package index. Its type parameters stand for types of package keys,
// which imports this package.
package suffix

// Layout is a layout of keys that consist of a value and another key, which belongs to the entity with the value: the rows of
// entities with equal values are neighbours. E is keys.Enc and R is keys.Range.
type Layout[K, E, R any] interface {
	// Of returns the key of the value k with the given suffix. The method that uses the key returns its error (*keys.KeyError).
	Of(k K, suffix E) E

	// Maker returns a Maker of the keys.
	Maker() Maker[K, E]

	// Decode returns the value and the suffix of a key. A key that Of does not make is a *keys.KeyError.
	Decode(s string) (k K, suffix string, err error)

	// All returns the range of all keys of the layout, and Prefix that of the keys with the value k.
	All() R
	Prefix(k K) R

	// Between returns the range of the keys with values from lo to hi, both included; AtLeast and AtMost have one bound. They
	// compare values as keys.Compound.Between does. A part that does not sort by its values before another part is a
	// *keys.KeyError: use keys.Ordered in place of keys.Text.
	Between(lo, hi K) R
	AtLeast(lo K) R
	AtMost(hi K) R

	// Starting returns the range of the keys whose value begins with k; see keys.Layout1.Starting.
	Starting(k K) R
}

// Maker makes the keys of a Layout, one after another. Keys that were returned do not change. A Maker is for one goroutine.
type Maker[K, E any] interface {
	// Of is Layout.Of, and Is reports whether s is the key that Of returns.
	Of(k K, suffix E) E
	Is(s string, k K, suffix E) bool
}
