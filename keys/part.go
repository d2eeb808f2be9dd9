package keys

// Part encodes one value of a key. The functions of this package make parts, and layouts consist of parts.
type Part[A any] struct {
	name   string
	append func(dst []byte, a A) ([]byte, error) // errors are *KeyError without Part
	plain  func(a A) (s string, ok bool)         // the encoding, if it is the value's own text; may be nil
	parse  func(s string) (A, error)             // s is the encoded part without end; only encodings of append are valid

	// width is the length of the encoding, 0 if it depends on the value. alphabet returns the valid characters at a position, in
	// ascending order. Bounds and Desc use it.
	width    int
	alphabet func(i int) string

	end      string         // the terminator, written only before another part, so that shorter values sort first
	prefixes bool           // the encoding of a prefix of a value is a prefix of the encoding of the value
	desc     bool           // larger values sort first
	inverse  func() Part[A] // for Desc
	lossy    string         // why the value cannot be decoded, "" if it can
	err      error          // of making the part
}

// brokenPart returns a part whose methods fail.
func brokenPart[A any](name, reason string) Part[A] {
	return Part[A]{name: name, err: &KeyError{Part: name, Reason: reason}}
}

// check returns the error of an invalid part. The zero part is invalid, too.
func (p *Part[A]) check() error {
	if p.err == nil && p.append == nil {
		return &KeyError{Reason: "is the zero Part; make it by a function of package keys, such as Digits"}
	}
	return p.err
}

// Desc inverts the order of a part: larger values sort first. The part must have a fixed width, as numbers, times, dates, booleans
// and UUIDs have. Desc(Time()) are the inverted ticks of the design guide's log tail pattern.
func Desc[A any](p Part[A]) Part[A] {
	switch {
	case p.err != nil:
		return p
	case p.inverse != nil:
		return p.inverse()
	case p.width == 0:
		return brokenPart[A]("desc("+p.name+")", "has no fixed width, which Desc requires")
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
	d.name = "desc(" + p.name + ")"
	d.desc = !p.desc
	d.inverse = func() Part[A] { return p }
	d.plain, d.append = nil, func(dst []byte, a A) ([]byte, error) {
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

// Map makes a part for B from a part for A. to and from must be inverse to each other. The part sorts by the result of to.
func Map[A, B any](p Part[A], to func(B) A, from func(A) (B, error)) Part[B] {
	if to == nil || from == nil {
		return brokenPart[B](p.name, "is made by Map with a nil function")
	}
	m := Part[B]{
		name: p.name, width: p.width, alphabet: p.alphabet, end: p.end, desc: p.desc, lossy: p.lossy, err: p.check(),
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
		m.inverse = func() Part[B] { return Map(p.inverse(), to, from) }
	}
	return m
}

// low returns the first encoding of a part of fixed width, and high the last.
func (p Part[A]) low() string  { return p.extreme(func(abc string) byte { return abc[0] }) }
func (p Part[A]) high() string { return p.extreme(func(abc string) byte { return abc[len(abc)-1] }) }

func (p Part[A]) extreme(pick func(string) byte) string {
	b := make([]byte, p.width)
	for i := range b {
		b[i] = pick(p.alphabet(i))
	}
	return string(b)
}

func sameAlphabet(abc string) func(int) string { return func(int) string { return abc } }

func (p Part[A]) withName(name string) Part[A] { p.name = name; return p }
