package index

import (
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/index/internal/derived"
	"github.com/aztablekit/aztablekit/keys"
)

// contribution is what one entity adds to its group. The zero value is that of an entity in no group.
type contribution struct {
	group  string   // its RowKey
	values []*int64 // of the measures; nil for a measure that the entity lacks
}

// contributionOf returns what an entity should contribute.
func (s *Summary[T, K]) contributionOf(v *T, k keys.Key) (contribution, error) {
	rows, err := s.ix.rowKeys(v, k)
	if err != nil || len(rows) == 0 {
		return contribution{}, err
	}
	c := contribution{group: rows[0], values: make([]*int64, len(s.measures))}
	for i, m := range s.measures {
		type result struct {
			v  int64
			ok bool
		}
		of := func(v *T) result { n, ok := m.Of(v); return result{n, ok} }
		r, err := callUser(s.ix.name, "measure "+m.Name, of, v)
		if err != nil {
			return c, err
		}
		if again, err := callUser(s.ix.name, "measure "+m.Name, of, v); err != nil || again != r {
			return c, &DefinitionError{Definition: s.ix.name, Field: "measure " + m.Name, Reason: "is not pure: it returned different values for one entity"}
		}
		if r.ok {
			c.values[i] = &r.v
		}
	}
	return c, nil
}

// stateOf returns the maintainer state for a contribution: the RowKey of the group, and each measure with its name.
func (s *Summary[T, K]) stateOf(c contribution) []string {
	if c.group == "" {
		return nil
	}
	texts := []string{c.group}
	for i, m := range s.measures {
		text := "/" + m.Name + "="
		if v := c.values[i]; v != nil {
			text += strconv.FormatInt(*v, 10)
		}
		texts = append(texts, text)
	}
	return texts
}

// contributionIn reads the contribution from maintainer state that stateOf has made, perhaps in an earlier release: measures that
// were added since are nil, and measures that were removed are left out, as they are when a group is counted.
func (s *Summary[T, K]) contributionIn(texts []string) contribution {
	rows, measures := derived.SplitState(texts)
	if len(rows) == 0 {
		return contribution{}
	}
	c := contribution{group: rows[0], values: make([]*int64, len(s.measures))}
	for _, text := range measures {
		name, number, _ := strings.Cut(strings.TrimPrefix(text, "/"), "=")
		v, err := strconv.ParseInt(number, 10, 64)
		for i, m := range s.measures {
			if m.Name == name && err == nil {
				c.values[i] = &v
			}
		}
	}
	return c
}
