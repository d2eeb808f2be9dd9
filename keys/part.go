package keys

// Part encodes one value inside a key. Parts are made by the functions of this package; layouts are made of parts.
type Part[A any] struct {
	name   string
	append func(dst []byte, a A) ([]byte, error) // errors are *KeyError without Part
	parse  func(s string) (A, error)             // s is the encoded part alone; only what append makes is accepted

	// A part of fixed width lists, for each position, the characters that may stand there in ascending order: for bounds
	// and for Desc. width 0 means that the part's length depends on the value.
	width    int
	alphabet func(i int) string

	end      string // written after the part where another follows, so that shorter values sort first
	prefixes bool   // the encoding of a value's beginning is the beginning of the encoding
	desc     bool   // larger values sort first
	inverse  func() Part[A]
	lossy    string // why the value cannot be read back, "" if it can
	err      error
}

// broken is a part that was made wrongly; its error comes with the first use.
func brokenPart[A any](name, reason string) Part[A] {
	return Part[A]{name: name, err: &KeyError{Part: name, Reason: reason}}
}

// fault is the error of a part that was made wrongly, or by nobody.
func (p Part[A]) check() error {
	if p.err == nil && p.append == nil {
		return &KeyError{Reason: "was not made by a function of package keys"}
	}
	return p.err
}

// Desc turns the order of a part around: larger values sort first. The part must have a fixed width, as all numbers,
// times, dates, booleans and UUIDs do. Desc(Time()) is the inverted ticks of the design guide's log tail pattern.
func Desc[A any](p Part[A]) Part[A] {
	switch {
	case p.err != nil:
		return p
	case p.inverse != nil:
		return p.inverse()
	case p.width == 0:
		return brokenPart[A]("desc("+p.name+")", "only a part of fixed width can be inverted")
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
	d.append = func(dst []byte, a A) ([]byte, error) {
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

// Map makes a part for B out of one for A. to and from must be inverse to each other; to decides the order.
func Map[A, B any](p Part[A], to func(B) A, from func(A) (B, error)) Part[B] {
	if to == nil || from == nil {
		return brokenPart[B](p.name, "Map needs both functions")
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

// low and high are the first and the last encoding of a part of fixed width.
func (p Part[A]) low() string  { return p.extreme(func(abc string) byte { return abc[0] }) }
func (p Part[A]) high() string { return p.extreme(func(abc string) byte { return abc[len(abc)-1] }) }

func (p Part[A]) extreme(pick func(string) byte) string {
	b := make([]byte, p.width)
	for i := range b {
		b[i] = pick(p.alphabet(i))
	}
	return string(b)
}
