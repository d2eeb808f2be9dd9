package largeentity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/table"
)

// store stores the large values of the entities of one table in a container.
type store struct {
	client   client
	opt      Options
	table    string
	archives []archive // of Options.Archived
}

// newStore returns the store of a table. The names of the blobs begin with the name of the table,
// so that several tables can share a container. Errors: *table.ValueError and *table.LimitError for
// options and names that are invalid.
func newStore(c *container.Client, tableName string, o Options) (*store, error) {
	if err := edm.CheckTableName(tableName); err != nil {
		return nil, err
	}
	opt, common, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &store{client: client{c, common}, opt: opt, table: strings.ToLower(tableName)}
	if _, err := s.newName(""); err != nil {
		return nil, err
	}
	return s, nil
}

// Ensure creates the container unless it exists.
func (s *store) Ensure(ctx context.Context) error {
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

// Options are the options of [In]. The zero value of each field is its default.
type Options struct {
	// Common bounds the requests for blobs: WriteTimeout bounds the upload of one block with all
	// its attempts (by default 5 min), Retry.AttemptTimeout one attempt (1 min), and ReadTimeout
	// the wait for a response or for more of a body. Logger receives a line for each blob that a
	// writer could not delete, at Warn. OmitOperationID and Tracing have no effect.
	table.Common

	// InlineUpTo is the most bytes of a value that is stored in the entity itself. Upload of such a
	// value sends nothing. Defaults to 32 KiB; at most 64 KiB, the limit of a property. Negative
	// means that each value is uploaded. An entity has at most 1 MiB in all.
	InlineUpTo int

	// Grace is the time after which Sweep deletes a blob that no entity has. For half of it, from
	// the beginning of its upload, a value can be stored. Defaults to 24 h; at least 1 min. All
	// programs of a table must use the same.
	Grace time.Duration

	// BlockSize is the size of the blocks of an upload, and BlocksInFlight is how many of them are
	// sent at the same time. An upload takes memory for BlocksInFlight + 1 blocks, and has at most
	// 50,000. Default to 4 MiB and 2. BlockSize is at most 100 MiB.
	BlockSize      int
	BlocksInFlight int

	// Archived are the names of the movers of package archive to which the table's entities go,
	// definitions of the table, too. A sweep asks them about each blob of a moved entity, and
	// deletes the blob if none of them contains the entity any more. Without them, blobs of moved
	// entities stay.
	Archived []string

	// LeaveToSweep leaves replaced blobs to Sweep, so that a reader of a replaced value can read it
	// to its end. By default, the method that replaces a value deletes the blob, 1 request more,
	// before it returns.
	LeaveToSweep bool
}

const (
	maxInline    = 64 << 10
	maxBlockSize = 100 << 20
	maxBlocks    = 50_000
)

// withDefaults fills the defaults in. Errors: *table.ValueError, *table.LimitError.
func (o Options) withDefaults() (Options, engine.Options, error) {
	o.Retry.AttemptTimeout = cmp.Or(o.Retry.AttemptTimeout, time.Minute)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 5*time.Minute)
	o.Grace = cmp.Or(o.Grace, 24*time.Hour)
	o.InlineUpTo = cmp.Or(o.InlineUpTo, 32<<10)
	o.BlockSize = cmp.Or(o.BlockSize, 4<<20)
	o.BlocksInFlight = cmp.Or(o.BlocksInFlight, 2)
	common := engine.WithDefaults(o.Common)
	var err error
	switch {
	case o.Grace < time.Minute:
		err = &table.ValueError{Field: "Options.Grace", Reason: fmt.Sprintf("is %v; it must be at least 1 min", o.Grace)}
	case o.InlineUpTo > maxInline:
		err = &table.LimitError{Field: "Options.InlineUpTo", Limit: "bytes of a property", Got: o.InlineUpTo, Max: maxInline}
	case o.BlockSize < 0:
		err = &table.ValueError{Field: "Options.BlockSize", Reason: "is negative"}
	case o.BlockSize > maxBlockSize:
		err = &table.LimitError{Field: "Options.BlockSize", Limit: "bytes of a block", Got: o.BlockSize, Max: maxBlockSize}
	case o.BlocksInFlight < 0:
		err = &table.ValueError{Field: "Options.BlocksInFlight", Reason: "is negative"}
	case o.BlocksInFlight > maxBlocks:
		err = &table.LimitError{Field: "Options.BlocksInFlight", Limit: "blocks of a blob", Got: o.BlocksInFlight, Max: maxBlocks}
	}
	return o, common, err
}

var blobType = reflect.TypeFor[Blob]()

// fieldsOf returns the paths of the fields of type Blob.
func fieldsOf(t reflect.Type) (fields [][]int, err error) {
	if t.Kind() != reflect.Struct {
		return nil, &table.TypeError{Type: t, Reason: "is not a struct"}
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("table"), ",")
		switch {
		case tag == "-" || !f.IsExported():
		case f.Type == blobType:
			fields = append(fields, f.Index)
		}
	}
	if len(fields) == 0 {
		return nil, &table.ValueError{Field: "t", Reason: fmt.Sprintf("has entities of type %v, which has no field of type largeentity.Blob", t)}
	}
	return fields, nil
}

var (
	// ErrNoValue: the field has no value.
	ErrNoValue = errors.New("the field has no value")
	// ErrBlobNotFound: the blob does not exist. If the Blob was read a while ago, its entity may
	// have another value by now: read the entity again, as [Values.OpenAt] does.
	ErrBlobNotFound = errors.New("the blob does not exist")
	// ErrForeignBlob: the value belongs to another table or to an entity of another partition.
	// Upload it for this entity.
	ErrForeignBlob = errors.New("the value was uploaded for another table or partition; Values.Copy makes a copy for another partition of its table")
	// ErrUploadAgain: the value cannot be stored any more, because it was stored before and
	// replaced or deleted, because another entity has it, or because it was uploaded too long ago.
	// Upload it again.
	ErrUploadAgain = errors.New("the value cannot be stored any more: upload it again")
)

// condition returns an error that is one of the above, with the reason.
func condition(is error, format string, args ...any) error {
	return errs.With(is, fmt.Errorf(format, args...))
}

// failed returns the error for a request that was refused, or whose outcome does not matter because
// it is repeated or because nothing refers to the blob.
func failed(call *wire.Call, err error) error {
	switch {
	case err == nil:
		return nil
	case blobs.IsGone(err):
		return errs.With(ErrBlobNotFound, blobs.Refusal(call, err, errs.ErrContainerNotFound, "Store.Ensure"))
	}
	return blobs.Refusal(call, err, errs.ErrContainerNotFound, "Store.Ensure")
}
