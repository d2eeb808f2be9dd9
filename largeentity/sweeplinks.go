package largeentity

import (
	"context"
	"fmt"
	"strings"

	"github.com/aztablekit/aztablekit/internal/pace"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// UnrecordedLinkError: an entity links a blob, and no row of the blob says so. The rows of the table that begin with ~b were deleted, or
// left out when the table was restored or copied. Sweep deletes no blob of the partition then.
type UnrecordedLinkError struct {
	Key  keys.Key // of the entity
	Blob string   // its name
}

func (e *UnrecordedLinkError) Error() string {
	return fmt.Sprintf("entity %v links the blob %s, and no row with ~b says so: set SweepOptions.Relink, which stores such rows again", e.Key, e.Blob)
}

// partitionLinks are the blobs that the entities of a partition link.
type partitionLinks struct {
	partition string
	entities  map[string]keys.Key // by the IDs of the blobs
}

// readLinks reads the links of a partition. 1 request for each 1,000 rows.
func readLinks(ctx context.Context, rows *table.Table[table.Row], partition string, limit *pace.Limit) (*partitionLinks, error) {
	l := &partitionLinks{partition, map[string]keys.Key{}}
	for r, err := range rows.Rows(ctx, table.Query[table.Row]{Partition: keys.Stored(partition, "").Partition()}) {
		if err == nil && rows.Engine().Ranged() {
			err = table.ErrRanged
		}
		if err == nil {
			err = limit.Spend(ctx, 1)
		}
		if err != nil {
			return nil, err
		}
		l.add(r)
	}
	return l, nil
}

// add adds the blobs that a row links, unless it is a copy of an entity. No two blobs have the same ID.
func (l *partitionLinks) add(r *table.Row) {
	if _, isCopy := r.Engine().Primary(); isCopy {
		return
	}
	for property, value := range r.All() {
		text, _ := value.(string) // a link of another type is none that can be read
		if n, is := parseName(text); is && strings.HasSuffix(property, suffixBlob) {
			l.entities[n.id] = r.Engine().Entity()
		}
	}
}
