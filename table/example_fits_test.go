package table_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Before a load, Fits tells which rows of a data set will not fit: the RowKey of an index row contains the value and the RowKey of the
// entity, so that a long name is too long there first.
func ExampleTable_Fits() {
	type place struct{ Country, Name string }
	world := aztablekit.Open(memory, "world", nil)
	places := aztablekit.Table(world, newName(),
		keys.Partition(keys.Text(), func(p *place) *string { return &p.Country }),
		keys.Row(keys.Text(), func(p *place) *string { return &p.Name }).Named("place"),
		index.New("anycase", keys.Fold(keys.Text()), func(p *place) (string, bool) { return p.Name, true }, nil))
	check(world.Ensure(context.Background()))

	for _, p := range []place{
		{"NZ", "Taumatawhakatangihangakoauauotamateaturipukakapikimaungahoronukupokaiwhenuakitanatahu"},
		{"TH", "กรุงเทพมหานคร"},
		{"TH", strings.Repeat("กรุงเทพ", 11)}, // 77 letters: 231 characters of a key
		{"TH", strings.Repeat("กรุงเทพ", 13)},
		{"TH", strings.Repeat("กรุงเทพ", 25)},
		{"", "Atlantis"},
	} {
		err := places.Fits(&p)
		var derived *table.DerivedError
		var key *keys.KeyError
		switch {
		case err == nil:
			fmt.Println("fits")
		case errors.As(err, &derived) && errors.As(err, &key):
			fmt.Printf("index %s: the key of the row has %d of %d characters\n", derived.Maintainer, key.Length, key.Limit)
		case errors.As(err, &key):
			fmt.Println("its own key", key.Reason)
		}
	}
	// Output:
	// fits
	// fits
	// fits
	// index anycase: the key of the row has 561 of 512 characters
	// its own key makes a key of too many UTF-16 units
	// its own key is empty
}
