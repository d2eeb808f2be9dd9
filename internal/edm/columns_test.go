package edm

import "testing"

// TestOverlayTypes: after a merge that changes the type of a property, the row has the property once, with the new type.
func TestOverlayTypes(t *testing.T) {
	t.Parallel()
	values := []string{`"A":5`, `"A":"5"`, `"A@odata.type":"Edm.Int64","A":"5"`, `"A":true`, `"A@odata.type":"Edm.Guid","A":"00000000-0000-0000-0000-000000000005"`}
	for _, old := range values {
		for _, set := range values {
			head := `{"PartitionKey":"p","RowKey":"r",`
			got, err := overlay(head+old+`,"B":1}`, head+set+"}")
			if want := head + `"B":1,` + set + "}"; got != want || err != nil {
				t.Errorf("%s over %s: got %s, %v, want %s", set, old, got, err, want)
			}
		}
	}
}
