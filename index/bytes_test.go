package index_test

import (
	"context"
	"testing"
	"unicode/utf16"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

type town struct {
	Country    string
	ID         int
	Name       string
	State      string
	Population int64
	Lat, Lon   float64
}

// TestRowBytes: a row of 188 bytes of its own, with two indexes, a list and a summary, takes 300 bytes. Before operation IDs were
// GUIDs and maintainer state was packed, it took 387.
func TestRowBytes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	cityName := func(c *town) (string, bool) { return c.Name, true }
	state := func(c *town) (string, bool) { return c.State, true }
	people := func(c *town) (int64, bool) { return c.Population, true }
	s := storagetest.New(nil)
	base := openAs(t, s.ConnectionString(), s, table.Schema[town]{
		Partition: keys.Partition(keys.Text(), func(c *town) *string { return &c.Country }),
		Row:       keys.Row(keys.Digits[int](9).Named("city"), func(c *town) *int { return &c.ID }),
	})
	check(t, tabledoor.Ensure(ctx, base))
	cities, err := baretest.Attach(base,
		index.New("cityname", keys.Fold(keys.Text()), cityName, nil),
		index.New("citypopulation", keys.Digits[int64](10), people, nil),
		index.NewLists("statecities", keys.Text(), state, nil),
		index.NewSummary("statepeople", keys.Text(), state, nil, index.Measure[town]{Name: "Population", Of: people}))
	check(t, err)
	_, err = cities.Insert(ctx, &town{"US", 5128581, "New York City", "NY", 8804190, 40.71427, -74.00597})
	check(t, err)
	var own, now, before int
	for _, row := range s.Rows("staff") {
		if row.RowKey != "city_005128581" {
			continue
		}
		own = 4 + 2*len(row.PartitionKey+row.RowKey)
		for _, p := range row.Properties {
			size := bytesOf(p)
			switch state, is := p.Value.([]byte); {
			case is:
				text, _ := stored.StateText(state)
				t.Logf("%s: %q", p.Name, text)
				now += size
				before += size - len(state) + 4 + len(text)
			case p.Name == "_op":
				now += size
				before += 8 + 2*len("_op") + 4 + 2*26 // as text
			default:
				own += size
			}
		}
	}
	t.Logf("%d bytes of its own, %d with properties of the library; %d before", own, own+now, own+before)
	if own != 188 || own+before != 387 || own+now > 300 {
		t.Errorf("got %d bytes of its own, %d before, %d now; want 188, 387, and at most 300", own, own+before, own+now)
	}
}

// bytesOf returns what the service charges for a property: 8 bytes, 2 for each UTF-16 unit of its name, and its value.
func bytesOf(p storagetest.Property) int {
	n := 8 + 2*len(p.Name)
	switch v := p.Value.(type) {
	case []byte:
		return n + 4 + len(v)
	case string:
		if p.Type == "Edm.Guid" {
			return n + 16
		}
		return n + 4 + 2*len(utf16.Encode([]rune(v)))
	}
	return n + 8
}
