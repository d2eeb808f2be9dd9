package largeentity

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// Store stores the large values of the entities of one table in a container. It is safe for concurrent use.
type Store struct {
	client client
	opt    Options
	table  string
}

// NewStore returns the store of a table, by its name. The names of the blobs begin with the name of the table, so that several
// tables can share a container; two tables of the same name, in different accounts, cannot. NewStore sends nothing. Errors:
// *table.ValueError and *table.LimitError for options and names that are invalid.
func NewStore(c *container.Client, tableName string, o *Options) (*Store, error) {
	fail := func(err error) (*Store, error) { return nil, fmt.Errorf("largeentity: NewStore: %w", err) }
	if err := cmp.Or(engine.CheckClient("container", "container", c, c == nil), engine.CheckTableName(tableName)); err != nil {
		return fail(table.ErrorOf(err))
	}
	if o == nil {
		o = &Options{}
	}
	opt, common, err := o.withDefaults()
	if err != nil {
		return fail(err)
	}
	s := &Store{client{c, common}, opt, strings.ToLower(tableName)}
	if _, err := opt.newName(s.table, ""); err != nil {
		return fail(err)
	}
	return s, nil
}

// Ensure creates the container unless it exists. 1 request; idempotent.
func (s *Store) Ensure(ctx context.Context) error {
	err := s.client.repeat(ctx, func(ctx context.Context) (bool, error) {
		var call wire.Call
		_, err := s.client.container.Create(s.client.write(ctx, &call), nil)
		if err = call.Check(err); bloberror.HasCode(err, bloberror.ContainerAlreadyExists) {
			return false, nil
		}
		return mayRepeat(&call, err), failed(&call, err)
	})
	if err != nil {
		return fmt.Errorf("largeentity: Ensure: %w", err)
	}
	return nil
}
