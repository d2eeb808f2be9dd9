package edm

import (
	"fmt"
	"strings"
	"testing"
)

// TestStorable: an entity is stored again as it was read if it is far below the limits of the service, and so is each value. All others
// need a closer look.
func TestStorable(t *testing.T) {
	t.Parallel()
	type row struct {
		Name string
		At   string
	}
	p := newCodec(t, row{})
	properties := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"P%d":%d`, i, i)
		}
		return b.String()
	}
	date := func(text string) string { return `,"At@odata.type":"Edm.DateTime","At":"` + text + `"` }
	keys := `{"PartitionKey":"p","RowKey":"r"`
	text := func(length int) string { // of the whole entity
		return `,"Name":"` + strings.Repeat("x", length-len(keys)-len(`,"Name":""}`)) + `"`
	}
	for what, c := range map[string]struct {
		properties string
		want       bool
	}{
		"no property":               {"", true},
		"many properties":           {properties(fewProperties), true},
		"too many properties":       {properties(fewProperties + 1), false},
		"a long text":               {text(smallJSON), true},
		"too long a text":           {text(smallJSON + 1), false},
		"the first usual year":      {date("1602-01-01T00:00:00Z"), true},
		"the first possible year":   {date("1601-12-31T00:00:00Z"), false},
		"a year before":             {date("1600-12-31T00:00:00Z"), false},
		"the last usual year":       {date("9998-12-31T00:00:00Z"), true},
		"the last possible year":    {date("9999-01-01T00:00:00Z"), false},
		"a date that is cut":        {date("200"), false},
		"no date":                   {`,"At@odata.type":"Edm.DateTime","At":null`, true},
		"another program's date":    {`,"X@odata.type":"Edm.DateTime","X":"1500-01-01T00:00:00Z"`, false},
		"another program's text":    {`,"X":"x"`, true},
		"a number of another type":  {`,"Name":5`, true}, // the codec decodes it, and its error counts
		"no number, of the program": {`,"Name@odata.type":"Edm.Int64","Name":"x"`, true},
		"no number, of another":     {`,"X@odata.type":"Edm.Int64","X":"x"`, false},
	} {
		r := NewReader([]byte(keys + c.properties + "}"))
		if _, err := r.One(); err != nil {
			t.Fatal(err)
		}
		if got := r.Storable(p); got != c.want {
			t.Errorf("%s: got %v; want %v", what, got, c.want)
		}
	}
	r, _, err := Stored{Columns: []Column{{Name: "Name", Value: Value{Kind: String, S: "x"}}}}.Open("p", "r")
	if err != nil {
		t.Fatal(err)
	}
	if r.Storable(p) {
		t.Error("an entity that is known by its columns: got true; want false, since it has no JSON")
	}
}
