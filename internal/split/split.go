package split

import (
	"context"
	"math/big"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/keys"
)

// Span is a part of a table: partitions, or rows of one partition. A key belongs to it if From ≤
// key, and key < To or To is "". Partitions may have a head besides, which is the rest of a
// partition before From.
type Span struct {
	Within   *string // the partition of the rows; nil for partitions
	From, To string
	Head     *string // the partition of the head
	HeadFrom string  // the first RowKey of the head
}

// Behind is the first key that sorts behind another one: no key of the service has a character
// below a space.
func Behind(key string) string { return key + " " }

// mostProbes is how many requests a search for the middle of a span takes. All but the first one
// find that nothing is behind a key, and halve the span: the end of a table is not known at the
// beginning.
const mostProbes = 64

// Halves returns the two halves of a span, or the span alone, perhaps with a closer end; whole says
// that it cannot be divided. first returns the first key of a span that a row has, and whether
// there is one.
func Halves(ctx context.Context, s Span, first func(context.Context, Span) (string, bool, error)) (all []Span, whole bool, err error) {
	for n := range mostProbes {
		m, is := Middle(s.From, s.To)
		if !is {
			return []Span{s}, true, nil
		}
		upper := s
		upper.From = m
		k, found, err := first(ctx, upper)
		if err != nil {
			return nil, false, err
		}
		if found {
			upper.From, s.To, upper.Head, upper.HeadFrom = k, k, nil, ""
			return []Span{s, upper}, false, nil
		}
		s.To = m
		if n > 0 {
			continue
		}
		if _, found, err = first(ctx, Span{Within: s.Within, From: Behind(s.From), To: m}); err != nil || !found {
			return []Span{s}, !found, err
		}
	}
	return []Span{s}, false, nil
}

// An alphabet is the characters that are expected at a place of a key, in their order; "" means all
// of Unicode.
type alphabet string

// alphabets are from small to large.
var alphabets = [...]alphabet{"0123456789", "0123456789abcdef", "0123456789ABCDEF", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	"0123456789abcdefghijklmnopqrstuvwxyz", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", printable}

const printable alphabet = " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}"

// alphabetOf returns the smallest alphabet with these characters.
func alphabetOf(chars []rune) alphabet {
	for _, a := range alphabets {
		if !slices.ContainsFunc(chars, func(c rune) bool { return !strings.ContainsRune(string(a), c) }) {
			return a
		}
	}
	return ""
}

func (a alphabet) size() int64 {
	if a == "" {
		return utf16Units
	}
	return int64(len(a))
}

// utf16Units is how many characters of the service's order there are, from the space.
const utf16Units = 1<<16 - ' '

// rank returns the place of a character, or where it would be.
func (a alphabet) rank(c rune) int64 {
	if a == "" {
		return int64(utf16.AppendRune(nil, max(c, ' '))[0]) - ' '
	}
	n := int64(0)
	for _, other := range a {
		if other < c {
			n++
		}
	}
	return n
}

// char returns the character of a place.
func (a alphabet) char(rank int64) string {
	if a != "" {
		return string(a[rank])
	}
	switch c := rune(rank) + ' '; {
	case utf16.IsSurrogate(c):
		return string(rune(0x10000))
	case '~' <= c && c < 0xa0: // reserved, or a control character
		return "}"
	default:
		return string(c)
	}
}

// places is how many characters behind the common beginning of two keys are looked at.
const places = 8

// numbers returns two keys as numbers from 0 up, with the alphabets of their characters behind their common beginning. to may be "", the end.
func numbers(from, to string) (prefix string, lo, hi *big.Int, of []alphabet) {
	a, b := []rune(from), []rune(to)
	n := 0
	for to != "" && n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	prefix = string(a[:n])
	a, b = a[n:], b[n:]
	lo, hi = new(big.Int), new(big.Int)
	last := alphabet("")
	for i := range places {
		var known []rune
		for _, of := range [][]rune{a, b} {
			if i < len(of) {
				known = append(known, of[i])
			}
		}
		if len(known) > 0 || i == 0 {
			last = alphabetOf(known)
		}
		if i == 0 && to == "" && last != "" {
			last = printable // the end has no characters that one could go by
		}
		of = append(of, last)
		base := big.NewInt(last.size())
		for n, of := range map[*big.Int][]rune{lo: a, hi: b} {
			n.Mul(n, base)
			if i < len(of) {
				n.Add(n, big.NewInt(last.rank(of[i])))
			}
		}
	}
	if to == "" {
		hi.SetInt64(1)
		for _, a := range of {
			hi.Mul(hi, big.NewInt(a.size()))
		}
	}
	return prefix, lo, hi, of
}

// Middle returns a key in the middle between two, as short as it may be, if there is one. to may be "", the end.
func Middle(from, to string) (string, bool) {
	prefix, lo, hi, of := numbers(from, to)
	if hi.Cmp(lo) <= 0 {
		return "", false
	}
	n := new(big.Int).Add(lo, hi)
	n.Rsh(n, 1)
	chars := make([]string, len(of))
	for i := len(of) - 1; i >= 0; i-- {
		place := new(big.Int)
		n.QuoRem(n, big.NewInt(of[i].size()), place)
		chars[i] = of[i].char(place.Int64())
	}
	for i := range chars {
		m := prefix + strings.Join(chars[:i+1], "")
		if keys.Compare(from, m) < 0 && (to == "" || keys.Compare(m, to) < 0) && keys.RawRows(m, "").Err() == nil {
			return m, true
		}
	}
	return "", false
}

// Share returns which part of the keys between from and to lies before at, from 0 to 1.
func Share(from, at, to string) float64 {
	if to != "" && keys.Compare(at, to) >= 0 {
		return 1
	}
	prefix, lo, hi, of := numbers(from, to)
	if hi.Cmp(lo) <= 0 || !strings.HasPrefix(at, prefix) {
		return 0
	}
	n := new(big.Int)
	chars := []rune(at[len(prefix):])
	for i, a := range of {
		n.Mul(n, big.NewInt(a.size()))
		if i < len(chars) {
			n.Add(n, big.NewInt(a.rank(chars[i])))
		}
	}
	part, _ := new(big.Rat).SetFrac(n.Sub(n, lo), hi.Sub(hi, lo)).Float64()
	return min(max(part, 0), 1)
}
