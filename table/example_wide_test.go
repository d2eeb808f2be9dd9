package table_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// visited is a page of a site with its visits by the day, which are more than a row has properties, and its text.
type visited struct {
	Site    string
	Path    string
	Title   string
	Visits  []int32 `table:"Day,each=365,part=1"`
	Article string  `table:",chunks,part=3"`
}

var (
	visitedSchema = table.Schema[visited]{
		Partition: keys.Partition(keys.Text(), func(v *visited) *string { return &v.Site }),
		Row:       keys.Row(keys.Text(), func(v *visited) *string { return &v.Path }),
	}
	visitedArticle = table.FieldOf(func(v *visited) *string { return &v.Article })
	visitedDays    = table.FieldOf(func(v *visited) *[]int32 { return &v.Visits })
)

func openVisited(ctx context.Context) (*table.Table[visited], *table.Entity[visited], error) {
	web := aztablekit.Open(storagetest.New(nil), "web", nil)
	pages := aztablekit.Table(web, "pages", visitedSchema.Partition, visitedSchema.Row)
	if err := web.Ensure(ctx); err != nil {
		return nil, nil, err
	}
	e, err := pages.Insert(ctx, &visited{Site: "blog", Path: "home", Title: "Home", Visits: make([]int32, 365), Article: strings.Repeat("long ", 100_000)})
	return pages, e, err
}

// ElementOf names one element of a list, so that a merge writes one property.
func ExampleElementOf() {
	ctx := context.Background()
	pages, e, err := openVisited(ctx)
	if err != nil {
		log.Fatal(err)
	}
	day300 := table.ElementOf(func(v *visited) *[]int32 { return &v.Visits }, 300)
	if err := pages.Merge(ctx, e, day300.Set(17)); err != nil {
		log.Fatal(err)
	}
	e, err = pages.Get(ctx, e.Key)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(e.Value.Visits), e.Value.Visits[300])
	// Output: 365 17
}

// GetFields reads the parts of some fields, and the entity knows which fields it has.
func ExampleTable_GetFields() {
	ctx := context.Background()
	pages, e, err := openVisited(ctx)
	if err != nil {
		log.Fatal(err)
	}
	e, err = pages.GetFields(ctx, e.Key, visitedDays)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Value.Title, len(e.Value.Visits))
	fmt.Println("visits:", e.Has(visitedDays))
	fmt.Println("article:", e.Has(visitedArticle))
	// Output:
	// Home 365
	// visits: true
	// article: false
}
