package verify

import "hash/maphash"

// sieveSize is how many buckets a sieve has. It takes 800 KB.
const sieveSize = 1 << 16

// sieve finds out which entities may have faults without keeping their rows in memory. The entities
// are in buckets, by a hash of their keys. A bucket has the sum of the numbers of the rows that are
// stored, less those of the rows that should be: 0 if these are the same, since a number is made of
// all that is compared. What is in other buckets is read again, and compared row by row.
type sieve struct {
	seed maphash.Seed
	sums []uint64
	rows []uint32 // stored ones
}

// pair is what is compared: that an entity has a row of a definition, with a content.
type pair struct {
	definition  int
	row, entity string
	digest      uint64
}

func newSieve(seed maphash.Seed) *sieve {
	return &sieve{seed: seed, sums: make([]uint64, sieveSize), rows: make([]uint32, sieveSize)}
}

func (s *sieve) addStored(p pair) {
	b := bucketOf(s.seed, p.entity)
	s.sums[b] += s.number(p)
	s.rows[b]++
}

func (s *sieve) addWanted(p pair) {
	s.sums[bucketOf(s.seed, p.entity)] -= s.number(p)
}

// number returns the number of all that is compared.
func (s *sieve) number(p pair) uint64 {
	return maphash.Comparable(s.seed, p)
}

// recheck makes certain that the bucket of an entity is read again.
func (s *sieve) recheck(entity string) {
	s.addStored(pair{definition: -1, entity: entity, digest: uint64(s.rows[bucketOf(s.seed, entity)])})
}

// groups returns the buckets to be read again, as many together as have no more than so many rows,
// one at least.
func (s *sieve) groups(most int) (all []*group) {
	var g *group
	for b, sum := range s.sums {
		if sum == 0 {
			continue
		}
		if g == nil || g.rows+int(s.rows[b]) > most {
			g = &group{sieve: s, from: b}
			all = append(all, g)
		}
		g.to = b
		g.rows += int(s.rows[b])
	}
	return all
}

// group is the unequal buckets among some of a sieve. Nil is all.
type group struct {
	sieve    *sieve
	from, to int // both included
	rows     int
}

func (g *group) contains(entity string) bool {
	if g == nil {
		return true
	}
	b := bucketOf(g.sieve.seed, entity)
	return b >= g.from && b <= g.to && g.sieve.sums[b] != 0
}

func bucketOf(seed maphash.Seed, entity string) int {
	return int(maphash.String(seed, entity) % sieveSize)
}
