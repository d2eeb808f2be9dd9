package keys

import (
	"fmt"
	"hash/fnv"
)

// Component encodes one value of a key. The functions of this package make Components. A Component
// alone is the [Layout] of a key of one value; [Row2] and its siblings join several with _.
type Component[A any] struct {
	spelling string                                // as a program makes it: digits(6)
	append   func(dst []byte, a A) ([]byte, error) // errors are *KeyError without Component
	verbatim func(a A) (s string, ok bool)         // the encoding, if it is the value's own text; may be nil
	parse    func(s string) (A, error)             // s is the encoded component without end; only encodings of append are valid

	// width is the length of the encoding, 0 if it depends on the value. alphabet returns the valid
	// characters at a position, in ascending order. Ranges and Desc use it.
	width    int
	alphabet func(i int) string

	end      string              // the terminator, written only before another component, so that shorter values sort first
	prefixes bool                // the encoding of a prefix of a value is a prefix of the encoding of the value
	desc     bool                // larger values sort first
	inverse  func() Component[A] // for Desc
	lossy    string              // why the value cannot be decoded, "" if it can
	err      error               // of making the component
	name     name                // before the keys that begin with this component
}

// Named returns the component with a name of letters and digits before every key, as in
// empid_000223. Layouts with different names have separate ranges, so that one partition can
// contain rows of several layouts. In a key of several components, the name stands on the first
// one: keys.Row2(keys.Text().Named("review"), keys.Date(), …).
func (p Component[A]) Named(prefix string) Component[A] { p.name = newName(prefix); return p }

// PartitionKey returns the PartitionKey of a value. The method that uses the key returns its error
// (*KeyError).
func (p Component[A]) PartitionKey(a A) PartitionKey { return PartitionKey{p.encode(a)} }

// RowKey returns the RowKey of a value. The method that uses the key returns its error (*KeyError).
func (p Component[A]) RowKey(a A) RowKey { return RowKey{p.encode(a)} }

func (p *Component[A]) encode(a A) encoded {
	if p.verbatim != nil && p.name == (name{}) {
		if s, ok := p.verbatim(a); ok {
			return textKey(s, p.end)
		}
	}
	w := p.name.newWriter(p.width)
	writeComponent(&w, p, a, false)
	return w.key()
}

// Decode returns the value of a key. A key that no value has is a *KeyError.
func (p Component[A]) Decode(key string) (A, error) { return p.decode(key) }

func (p *Component[A]) decode(key string) (a A, err error) {
	r := p.name.newReader(key)
	readComponent(&r, p, &a, false)
	return a, r.err
}

// Rows returns the ranges of the RowKeys.
func (p Component[A]) Rows() *RowRanges[A] { return &RowRanges[A]{p.rows()} }

func (p Component[A]) rows() *ranges[A] { return &ranges[A]{layout: p.layout()} }

func (p Component[A]) open(name string) any { return openNamed[A](p, name) }

// brokenComponent returns a Component whose methods fail.
func brokenComponent[A any](name, reason string) Component[A] {
	return Component[A]{spelling: name, err: &KeyError{Component: name, Reason: reason}}
}

// Desc inverts the order of a component: larger values sort first. The component must have a fixed
// width, as numbers, times, dates, booleans and UUIDs have. Desc(Time()) are the inverted ticks of
// the design guide's log tail pattern.
func Desc[A any](p Component[A]) Component[A] {
	switch {
	case p.err != nil:
		return p
	case p.inverse != nil:
		d := p.inverse()
		d.name = p.name
		return d
	case p.width == 0:
		return brokenComponent[A]("desc("+p.spelling+")", "has no fixed width, which Desc requires")
	}
	mirror := func(s []byte) {
		for i, c := range s {
			abc := p.alphabet(i)
			for j := range len(abc) {
				if abc[j] == c {
					s[i] = abc[len(abc)-1-j]
					break
				}
			}
		}
	}
	d := p
	d.spelling = "desc(" + p.spelling + ")"
	d.desc = !p.desc
	d.inverse = func() Component[A] { return p }
	d.verbatim, d.append = nil, func(dst []byte, a A) ([]byte, error) {
		n := len(dst)
		dst, err := p.append(dst, a)
		if err == nil {
			mirror(dst[n:])
		}
		return dst, err
	}
	d.parse = func(s string) (A, error) {
		b := []byte(s)
		mirror(b)
		return p.parse(string(b))
	}
	return d
}

// Map makes a Component for B from a Component for A. to and from must be inverse to each other.
// The component sorts by the result of to.
func Map[A, B any](p Component[A], to func(B) A, from func(A) (B, error)) Component[B] {
	if to == nil || from == nil {
		return brokenComponent[B](p.spelling, "is made by Map with a nil function")
	}
	m := Component[B]{
		spelling: "map(" + p.spelling + ")", name: p.name, width: p.width, alphabet: p.alphabet,
		end: p.end, desc: p.desc, lossy: p.lossy, err: p.check(),
		append: func(dst []byte, b B) ([]byte, error) { return p.append(dst, to(b)) },
		parse: func(s string) (b B, err error) {
			a, err := p.parse(s)
			if err != nil {
				return b, err
			}
			if b, err = from(a); err != nil {
				return b, &KeyError{Value: s, Reason: err.Error()}
			}
			return b, nil
		},
	}
	if p.inverse != nil {
		m.inverse = func() Component[B] { return Map(p.inverse(), to, from) }
	}
	return m
}

// low returns the first encoding of a component of fixed width, and high the last.
func (p Component[A]) low() string { return p.extreme(func(abc string) byte { return abc[0] }) }
func (p Component[A]) high() string {
	return p.extreme(func(abc string) byte { return abc[len(abc)-1] })
}

func (p Component[A]) extreme(pick func(string) byte) string {
	b := make([]byte, p.width)
	for i := range b {
		b[i] = pick(p.alphabet(i))
	}
	return string(b)
}

func sameAlphabet(abc string) func(int) string { return func(int) string { return abc } }

// Spread encodes a value as the number of a bucket, 0 to n-1, padded to the width of n-1. The
// number is a hash (FNV-1a) of the encoding by p: a value is always in the same bucket, and many
// values spread evenly, so that no partition gets hot. To visit all buckets, build the same keys
// with Digits[int] of that width. n is 2 to 10,000. Changing n moves existing values. A value
// cannot be decoded from its bucket: [Row] and [Partition] refuse it, and [RowFunc] and
// [PartitionFunc] take it.
func Spread[A any](p Component[A], n int) Component[A] {
	name := fmt.Sprintf("spread(%s, %d)", p.spelling, n)
	if p.err = p.check(); p.err != nil {
		return p
	}
	if n < 2 || n > 10_000 {
		return brokenComponent[A](name, "must have 2 to 10,000 buckets")
	}
	width := len(fmt.Sprint(n - 1))
	lossy := "a value cannot be decoded from its bucket"
	return Component[A]{
		spelling: name, name: p.name, width: width, alphabet: sameAlphabet(decimal), lossy: lossy,
		append: func(dst []byte, a A) ([]byte, error) {
			b, err := p.append(nil, a)
			if err != nil {
				return dst, err
			}
			h := fnv.New64a()
			h.Write(b)
			return appendPadded(dst, h.Sum64()%uint64(n), width)
		},
		parse: func(s string) (a A, err error) { return a, &KeyError{Value: s, Reason: lossy} },
	}
}
