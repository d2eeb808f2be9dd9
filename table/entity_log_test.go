package table_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/table"
)

// TestEntityLogs: an entity is printed with its key and value, without internal fields.
func TestEntityLogs(t *testing.T) {
	t.Parallel()
	w := &fakeTransport{}
	staff := newStaff(t, sdkClient(t, w))
	e := readEmployee(t, staff, w)
	const want = "('Sales','empid_000223') {Department:Sales ID:223 Last:Jones Age:44}"
	for _, format := range []string{"%v", "%+v", "%s"} {
		if got := fmt.Sprintf(format, e); got != want {
			t.Errorf("%s: got %s; want %s", format, got, want)
		}
		if got := fmt.Sprintf(format, *e); got != want {
			t.Errorf("%s: got %s; want %s", format, got, want)
		}
	}
	row, err := e.Row()
	noError(t, err)
	if got := fmt.Sprint(row); got != "('Sales','empid_000223') {LastName:Jones Age:44}" {
		t.Errorf("got %q; want %q", got, "('Sales','empid_000223') {LastName:Jones Age:44}")
	}
	var text strings.Builder
	slog.New(slog.NewJSONHandler(&text, nil)).Info("m", "entity", e, "row", row)
	if got := text.String(); !strings.Contains(got, `"entity":{"key":"('Sales','empid_000223')","value":{"Department":"Sales","ID":223,"Last":"Jones","Age":44},"etag":`) ||
		!strings.Contains(got, `"row":{"key":"('Sales','empid_000223')","LastName":"Jones","Age":44}`) {
		t.Errorf("got %q; want `\"entity\":{\"key\":\"('Sales','empid_000223')\",\"value\":{\"Department\":\"Sales\",\"ID\":223,\"Last\":\"Jones\",\"Age\":44},\"etag\":` in got and `\"row\":{\"key\":\"('Sales','empid_000223')\",\"LastName\":\"Jones\",\"Age\":44}` in got", got)
	}
	// A failed call returns no entity.
	text.Reset()
	slog.New(slog.NewJSONHandler(&text, nil)).Info("m", "entity", (*table.Entity[employee])(nil), "row", (*table.Row)(nil))
	if got := text.String(); !strings.Contains(got, `"entity":null,"row":null`) {
		t.Errorf("got %q; want `\"entity\":null,\"row\":null` in got", got)
	}
	b, err := json.Marshal(e)
	if err != nil || !strings.Contains(string(b), `"Key":{"PartitionKey":"Sales","RowKey":"empid_000223"}`) {
		t.Errorf("got %s, %v; want no error and `\"Key\":{\"PartitionKey\":\"Sales\",\"RowKey\":\"empid_000223\"}` in string(b)", b, err)
	}
}
