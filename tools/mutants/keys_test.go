package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestKeys: a bug in the order or the range of keys is found.
func TestKeys(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./keys", []mutants.Mutant{
		{Name: "a compound of two is inverted if one of its components is", File: "keys/compound.go",
			Old: "		desc:       l.a.desc && l.b.desc,\n", New: "		desc:       l.a.desc || l.b.desc,\n", Test: "TestMixedOrder"},
		{Name: "a compound of three is inverted if one of its components is", File: "keys/compound.go",
			Old: "l.a.desc && l.b.desc && l.c.desc", New: "l.a.desc || l.b.desc || l.c.desc", Test: "TestMixedOrder"},
		{Name: "the smallest number of a width has no key", File: "keys/number.go",
			Old: "abs > nines {", New: "abs >= nines {", Test: "TestSignedExtremes"},
		{Name: "an open range contains the library's rows", File: "keys/range.go",
			Old: "	case r.raw && strings.HasPrefix(s, string(reservedFirst)):\n		return false\n", New: "", Test: "TestRanges"},
		{Name: "what is before an inverted value contains the value", File: "keys/range.go",
			Old: "whole.from = v.to + afterSeparator", New: "whole.from = v.to", Test: "TestLaws"},
		{Name: "what is before the first of two values contains the value", File: "keys/range.go",
			Old: "		whole.to, whole.closed = v.from, false\n", New: "		whole.to, whole.closed = v.to, v.closed\n", Test: "TestLaws"},
		{Name: "what is before an inverted first value contains the value", File: "keys/range.go",
			Old: "	case upward && s == below && r.more:\n		whole.from = v.to\n", New: "	case upward && s == below && r.more:\n		whole.from = v.from\n", Test: "TestLaws"},
		{Name: "the second of three values is the last", File: "keys/compound.go",
			Old: "	r := underOf(&w, &l.b, l.check())\n	r.more = true\n", New: "	r := underOf(&w, &l.b, l.check())\n", Test: "TestRangesProperty"},
		{Name: "a component of several may have a name", File: "keys/layout.go",
			Old: "	if p.name == (name{}) {\n		return nil", New: "	if true || p.name == (name{}) {\n		return nil", Test: "TestErrorsOfLayouts"},
		{Name: "a key is decoded in spite of its mistake", File: "keys/bind.go",
			Old: "		if b.err != nil || b.decode == nil {\n			return b.err", New: "		if b.decode == nil {\n			return b.err", Test: "TestInvalidBindings"},
		{Name: "the order of a text before another component counts as kept", File: "keys/range.go",
			Old: "	if r.more {\n		lost = r.layout.fullOrder", New: "	if false {\n		lost = r.layout.fullOrder", Test: "TestSuffixedText"},
		{Name: "a computed key of two numbers may be any key", File: "keys/compound.go",
			Old: "		components: 2,\n		low:        l.a.low(),\n", New: "		components: 2,\n", Test: "TestComputedKeys"},
		{Name: "an interval may be split", File: "keys/range.go",
			Old: "	case r.SpansReserved():\n		return", New: "	case r.SpansReserved() && false:\n		return", Test: "TestInclusive"},
		{Name: "the last keys below a bound are left out", File: "keys/range.go",
			Old: "	if r.raw {\n		highest = lastUnit\n	}\n", New: "", Test: "TestInclusive"},
		{Name: "a text that ends inside a character begins others", File: "keys/range.go",
			Old: "	case endsInsideCharacter(w.b):\n", New: "	case false && endsInsideCharacter(w.b):\n", Test: "TestStarting"},
		{Name: "the last characters of three digits have four", File: "keys/text.go",
			Old: "	case r < firstOfFour:\n", New: "	case r < firstOfFour-1:\n", Test: "TestOrderOfCharacters"},
		{Name: "a character in single bytes has another key", File: "keys/text.go",
			Old: "	if invalid && string", New: "	if invalid && s == \"\" && string", Test: "TestDecodeRefusesOtherTexts"},
		{Name: "half a surrogate is a character", File: "keys/text.go",
			Old: "!isByte && !utf8.ValidRune(r)", New: "!isByte && r > utf8.MaxRune", Test: "TestDecodeRefusesOtherTexts"},
	})
}

// TestEDM: a bug in what is read and written is found.
func TestEDM(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./internal/edm", []mutants.Mutant{
		{Name: "31 April is read as 1 May", File: "internal/edm/scan.go",
			Old: "return t, day <= 28 || t.Day() == day", New: "return t, true", Test: "TestInvalidDates"},
		{Name: "a merge that changes a property's type keeps the old value too", File: "internal/edm/decode.go",
			Old: "return s.Name == c.Name })", New: "return s.Name == c.Name && s.Value.Kind == c.Value.Kind })", Test: "TestOverlayTypes"},
		{Name: "numbers that do not fit keep their type", File: "internal/edm/value.go",
			Old: "	if k == Int32 && n != int64(int32(n)) {\n", New: "	if k == String {\n", Test: "TestNumbersKeepTheirStoredType"},
		{Name: "the whole doubles of an emulator become Int64", File: "internal/edm/decode.go",
			Old: "(x.Kind != Int64 || m.typ == nil && m.column == nil)", New: "x.Kind != Int64", Test: "TestNumbersKeepTheirStoredType"},
		{Name: "a row without a RowKey is an entity", File: "internal/edm/read.go",
			Old: "	case !r.hasRowKey:\n", New: "	case !r.hasRowKey && false:\n", Test: "TestEntityWithoutKeys"},
		{Name: "an annotation that is not in front of its property is lost", File: "internal/edm/read.go",
			Old: "	for _, n := range r.annotations {\n", New: "	for _, n := range r.annotations[:0] {\n", Test: "TestPageLikeOne"},
		{Name: "a member is taken for one with the same beginning", File: "internal/edm/shape.go",
			Old: "bytes.HasPrefix(b, s.all[i].raw)", New: "bytes.HasPrefix(b, s.all[i].raw[:3])", Test: "TestPageLikeOne"},
		{Name: "a text with escapes is a part of the kept JSON", File: "internal/edm/read.go",
			Old: " || t.escaped {\n", New: " || t.escaped && false {\n", Test: "TestPageLikeOne"},
		{Name: "texts that are kept share a place", File: "internal/edm/scan.go",
			Old: "	from := len(m.bytes)\n", New: "	from := max(len(m.bytes)-1, 0)\n", Test: "TestPageLikeOne"},
		{Name: "a column is sent as the one in front of it", File: "internal/edm/write.go",
			Old: "		from = end\n", New: "		from = int(w.body.keysEnd)\n", Test: "TestColumnsAsEncoded"},
		{Name: "a large value does not count", File: "internal/edm/write.go",
			Old: "			w.length += lengthOf(v)\n", New: "			w.length += lengthOf(v) - len(v.S)\n", Test: "TestColumnsAsEncoded"},
		{Name: "a separator of lines is not escaped", File: "internal/edm/value.go",
			Old: "		if isSeparator(s, i) {\n", New: "		if isSeparator(s, i) && s[i+2] == 0xA8 {\n", Test: "TestSeparators"},
		{Name: "an escaped separator does not count", File: "internal/edm/value.go",
			Old: "		case isSeparator(v.S, i):\n			n += 3\n", New: "		case isSeparator(v.S, i):\n", Test: "TestSeparators"},
		{Name: "what the SDK escapes does not count", File: "internal/edm/value.go",
			Old: "(quote-each)&^quote | ", New: "quote&0 | ", Test: "TestColumnsAsEncoded"},
	})
}

// TestNumbers: a bug in what finds rows is found.
func TestNumbers(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "a condition on an int does not find Int32", File: "internal/edm/filter.go",
			Old: "	case n == int64(int32(n)) && op != \"ne\":\n		c.add(name, op, digits)\n", New: "	case n == int64(int32(n)) && op != \"ne\":\n", Test: "TestWhereFindsWhatIsRead"},
		{Name: "a condition with a number beyond 32 bits does not find Int32", File: "internal/edm/filter.go",
			Old: "	case n > math.MaxInt32 && less: // every Int32 is less\n		c.add(name, \"le\", most32)\n", New: "	case n > math.MaxInt32 && less:\n", Test: "TestWhereFindsWhatIsRead"},
		{Name: "a condition less than a fraction does not find its whole part", File: "internal/edm/filter.go",
			Old: "		if !whole {\n			op = \"le\"\n		}\n", New: "", Test: "TestWhereFindsWhatIsRead"},
		{Name: "lists end below the library's rows", File: "internal/query/query.go",
			Old: "		f.compare(name, \"ge\", edm.Quote(reserved.FirstAbove))\n", New: "		f.compare(name, \"lt\", edm.Quote(reserved.First))\n", Test: "TestKeyOrder"},
		{Name: "a row that was not requested is accepted", File: "internal/engine/read.go",
			Old: "	if in.PartitionKey == k.PartitionKey() && in.RowKey == k.RowKey() {\n", New: "	if in.PartitionKey != \"\" {\n", Test: "TestUnreadableResponses"},
	})
}
