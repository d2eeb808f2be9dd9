package table

import (
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/keys"
)

// MarshalJSON writes the row as the service takes it, with its keys and all properties, those of the library included, so that no
// value or type is lost, for destinations that store rows elsewhere. ETag and Timestamp are left out. Errors: *LimitError,
// *ValueError for a value that no row can have.
func (r Row) MarshalJSON() ([]byte, error) {
	w := edm.NewWriter(r.Key.PartitionKey(), r.Key.RowKey(), len(r.columns))
	r.write(w)
	body, err := w.Finish()
	if err != nil {
		return nil, public(err)
	}
	return body.Append(nil), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. Errors: *DecodeError.
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
