package table

import (
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// MarshalJSON writes the row as the service takes it, with its keys and with all properties, those of the library included, so that
// nothing of it or of its types is lost: for whoever keeps rows elsewhere. ETag and Timestamp are left out. Errors: *LimitError,
// *ValueError for what no row can hold.
func (r Row) MarshalJSON() ([]byte, error) {
	w := edm.NewWriter(nil, r.Key.PartitionKey(), r.Key.RowKey())
	r.write(w)
	b, err := w.Finish()
	return b, public(err)
}

// UnmarshalJSON reads what MarshalJSON has written. Errors: *DecodeError.
func (r *Row) UnmarshalJSON(b []byte) error {
	in := edm.NewReader(b)
	e, err := in.One()
	if err != nil {
		return public(err)
	}
	columns, err := in.Columns()
	if err != nil {
		return public(err)
	}
	*r = Row{Key: keys.Stored(e.PartitionKey, e.RowKey), columns: columns}
	return nil
}
