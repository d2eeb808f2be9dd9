package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// This file measures entities with large values.

// scan is an entity of 15 binary properties of 60 KiB, in one row.
type scan struct {
	Site, Name string
	Images     [][]byte `table:"Image,each=15"`
}

const (
	images    = 15
	imageSize = 60 << 10
)

// film is an entity with parts: 2.6 MB in 40 properties of 64 KiB and less, in several rows.
type film struct {
	Site, Name string
	Reel       []byte `table:",chunks,part=1"`
}

const (
	reelSize  = 2_600_000
	chunkSize = 64 << 10
	perPart   = 15 // chunks of a row
)

func newScan() scan {
	s := scan{Site: "site", Name: "name"}
	for i := range images {
		s.Images = append(s.Images, data(imageSize, i))
	}
	return s
}

// data returns n bytes that do not repeat soon.
func data(n, seed int) []byte {
	b := make([]byte, n)
	x := uint32(seed) + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

func scanSchema() table.Schema[scan] {
	return table.Schema[scan]{
		Partition: keys.Partition(keys.Text(), func(s *scan) *string { return &s.Site }),
		Row:       keys.Row(keys.Text(), func(s *scan) *string { return &s.Name }),
	}
}

func filmSchema() table.Schema[film] {
	return table.Schema[film]{
		Partition: keys.Partition(keys.Text(), func(f *film) *string { return &f.Site }),
		Row:       keys.Row(keys.Text(), func(f *film) *string { return &f.Name }),
	}
}

// largeSides returns the two sides for a table of entities of type T. In the service of each, the
// library has stored v.
func largeSides[T any](schema table.Schema[T], o *table.Options, v T) (*table.Table[T], *aztables.Client, error) {
	ours, theirs := newReplay(), newReplay()
	for _, r := range []*replay{ours, theirs} {
		stored, err := bare.NewTable(r.service.Tables(), tableName, schema, nil)
		if err != nil {
			return nil, nil, err
		}
		if err := fill(stored, []T{v}); err != nil {
			return nil, nil, err
		}
	}
	t, err := tableOf(ours, schema, o)
	if err != nil {
		return nil, nil, err
	}
	c, err := sdkTable(theirs)
	return t, c, err
}

// scanReads measures Get of 15 × 60 KiB.
func scanReads() (pair, error) {
	ctx := context.Background()
	want := newScan()
	t, c, err := largeSides(scanSchema(), nil, want)
	if err != nil {
		return pair{}, err
	}
	check := func(s *scan) error {
		if len(s.Images) != images || !bytes.Equal(s.Images[images-1], want.Images[images-1]) {
			return fmt.Errorf("got %d images, want the %d that are stored", len(s.Images), images)
		}
		return nil
	}
	key := t.Key(want)
	return pair{
		ours: func() error {
			e, err := t.Get(ctx, key)
			if err != nil {
				return err
			}
			return check(&e.Value)
		},
		base: func() error {
			got, err := c.GetEntity(ctx, "site", "name", nil)
			if err != nil {
				return err
			}
			var e aztables.EDMEntity
			if err := json.Unmarshal(got.Value, &e); err != nil {
				return err
			}
			s := scan{Site: e.PartitionKey, Name: e.RowKey}
			for i := range images {
				image, _ := e.Properties[fmt.Sprintf("Image%02d", i)].(aztables.EDMBinary)
				s.Images = append(s.Images, image)
			}
			return check(&s)
		},
		data: images * imageSize,
	}, nil
}

// scanWrites measures a blind Upsert of 15 × 60 KiB. The service returns no body to either side.
func scanWrites() (pair, error) {
	ctx := context.Background()
	v := newScan()
	t, c, err := largeSides(scanSchema(), blind(), v)
	if err != nil {
		return pair{}, err
	}
	return pair{
		ours: func() error { _, err := t.Upsert(ctx, &v, table.ReplaceExisting); return err },
		base: func() error {
			e := aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: v.Site, RowKey: v.Name}, Properties: map[string]any{}}
			for i, image := range v.Images {
				e.Properties[fmt.Sprintf("Image%02d", i)] = aztables.EDMBinary(image)
			}
			b, err := json.Marshal(e)
			if err != nil {
				return err
			}
			_, err = c.UpsertEntity(ctx, b, &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
			return err
		},
		data: images * imageSize,
	}, nil
}

// filmReads measures Get of 2.6 MB in several rows. The baseline lists the rows and joins their
// properties.
func filmReads() (pair, error) {
	ctx := context.Background()
	want := film{"site", "name", data(reelSize, 0)}
	t, c, err := largeSides(filmSchema(), nil, want)
	if err != nil {
		return pair{}, err
	}
	key := t.Key(want)
	check := func(reel []byte) error {
		if !bytes.Equal(reel, want.Reel) {
			return fmt.Errorf("got %d bytes, want the %d that are stored", len(reel), len(want.Reel))
		}
		return nil
	}
	return pair{
		ours: func() error {
			e, err := t.Get(ctx, key)
			if err != nil {
				return err
			}
			return check(e.Value.Reel)
		},
		base: func() error {
			p, err := c.NewListEntitiesPager(&aztables.ListEntitiesOptions{Filter: to.Ptr("PartitionKey eq 'site' and RowKey ge 'name' and RowKey lt 'name\"'")}).NextPage(ctx)
			if err != nil {
				return err
			}
			var reel []byte
			for _, b := range p.Entities {
				var e aztables.EDMEntity
				if err := json.Unmarshal(b, &e); err != nil {
					return err
				}
				for range e.Properties { // at most so many chunks
					chunk, is := e.Properties[fmt.Sprintf("Reel%02d", (len(reel)+chunkSize-1)/chunkSize)].(aztables.EDMBinary)
					if !is {
						break
					}
					reel = append(reel, chunk...)
				}
			}
			return check(reel)
		},
		data: reelSize,
	}, nil
}

// filmWrites measures Insert of 2.6 MB in several rows. The baseline is a transaction of as many
// rows.
func filmWrites() (pair, error) {
	ctx := context.Background()
	t, c, err := largeSides(filmSchema(), nil, film{"site", "other", []byte{1}})
	if err != nil {
		return pair{}, err
	}
	v := film{"site", "name", data(reelSize, 0)}
	const chunks = (reelSize + chunkSize - 1) / chunkSize
	const rows = 1 + (chunks+perPart-1)/perPart
	return pair{
		ours: func() error { _, err := t.Insert(ctx, &v); return err },
		base: func() error {
			actions := make([]aztables.TransactionAction, rows)
			for i := range actions {
				e := aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: v.Site, RowKey: fmt.Sprintf("%s!%02d", v.Name, i)}, Properties: map[string]any{}}
				if i > 0 {
					for n := (i - 1) * perPart; n < min(i*perPart, chunks); n++ {
						e.Properties[fmt.Sprintf("Reel%02d", n)] = aztables.EDMBinary(v.Reel[n*chunkSize : min((n+1)*chunkSize, reelSize)])
					}
				}
				b, err := json.Marshal(e)
				if err != nil {
					return err
				}
				actions[i] = aztables.TransactionAction{ActionType: aztables.TransactionTypeAdd, Entity: b}
			}
			_, err := c.SubmitTransaction(ctx, actions, nil)
			return err
		},
		data: reelSize,
	}, nil
}
