package table

import (
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
)

// MarshalJSON writes the row as the service takes it, with its keys and all properties, those of the library included, so that no
// value or type is lost, for destinations that store rows elsewhere. ETag and Timestamp are left out. Errors: *LimitError,
// *ValueError for a value that no row can have; ErrUnknownParts for the head of an entity that was read without its parts.
func (r Row) MarshalJSON() ([]byte, error) {
	w := edm.NewWriter(r.Key.PartitionKey(), r.Key.RowKey(), len(r.columns))
	r.write(w, reserved.Parts)
	body, err := w.Finish()
	if err != nil {
		return nil, public(err)
	}
	switch places := placesOf(r.columns); {
	case places != "":
		return body.Append(nil, edm.Column{Name: reserved.Parts, Value: edm.Value{Kind: edm.String, S: places}}.Ending()), nil
	case engine.Find(r.columns, reserved.Parts).Kind != edm.Absent:
		return nil, ErrUnknownParts // the row is the head alone
	}
	return body.Append(nil, nil), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. Errors: *DecodeError.
func (r *Row) UnmarshalJSON(b []byte) error {
	in := edm.NewReader(b)
	e, err := in.One()
	if err != nil {
		return ofJSON(err)
	}
	columns, err := in.Columns()
	if err != nil {
		return ofJSON(err)
	}
	if err := place(columns, engine.Find(columns, reserved.Parts).S); err != nil {
		return public(err)
	}
	columns = engine.Without(columns, reserved.Parts)
	*r = Row{Key: keys.Stored(e.PartitionKey, e.RowKey), columns: columns}
	return nil
}

// ofJSON returns the error of a text that is no response.
func ofJSON(err error) error {
	if de, is := err.(*edm.DecodeError); is && de.Field == "" {
		return &DecodeError{Field: "the JSON", Reason: de.Reason, Err: de.Err}
	}
	return public(err)
}

// placesOf returns which columns are in which parts, as in "1 Day000 Day001,2 Day200", "" if all are in the head.
func placesOf(columns []edm.Column) string {
	parts := make([]string, edm.MaxPart+1)
	for _, c := range columns {
		if c.Part > 0 {
			parts[c.Part] += " " + c.Name
		}
	}
	var places []string
	for number, names := range parts {
		if names != "" {
			places = append(places, strconv.Itoa(number)+names)
		}
	}
	return strings.Join(places, ",")
}

// place gives columns their parts.
func place(columns []edm.Column, places string) error {
	if places == "" {
		return nil
	}
	parts := map[string]uint8{}
	for part := range strings.SplitSeq(places, ",") {
		words := strings.Split(part, " ")
		number, err := strconv.Atoi(words[0])
		if err != nil || number < 1 || number > edm.MaxPart {
			return &DecodeError{Field: reserved.Parts, Reason: "does not say which columns are in which parts"}
		}
		for _, name := range words[1:] {
			parts[name] = uint8(number)
		}
	}
	for i := range columns {
		columns[i].Part = parts[columns[i].Name]
	}
	return nil
}
