package table_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/records"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
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

// secretive is an entity type that says itself how it is printed and logged.
type secretive struct {
	ID    int
	Token string
}

func (s *secretive) String() string       { return fmt.Sprintf("token of %d bytes", len(s.Token)) }
func (s *secretive) LogValue() slog.Value { return slog.StringValue(s.String()) }

// TestOwnTextOfEntities: an entity is printed and logged with the methods of its type, which can leave out secrets.
func TestOwnTextOfEntities(t *testing.T) {
	t.Parallel()
	e := &table.Entity[secretive]{Value: secretive{1, "secret"}, Key: employeeKey("Sales", 1)}
	var text strings.Builder
	slog.New(slog.NewJSONHandler(&text, nil)).Info("m", "entity", e)
	for _, got := range []string{fmt.Sprint(e), fmt.Sprintf("%+v", *e), text.String()} {
		if strings.Contains(got, "secret") || !strings.Contains(got, "token of 6 bytes") {
			t.Errorf("got %s; want the text of the type, without the secret", got)
		}
	}
}

// TestWhatIsLogged: what methods return is printed, logged and encoded in a readable form, without responses of the service,
// payloads or internal fields; also if it is nil.
func TestWhatIsLogged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	people, _ := townWithEffects(t, &memoryOutbox{})
	jones := &resident{"S", 1, "Jones", "a"}
	receipt, err := table.Transact(ctx, people.InsertOp(jones))
	noError(t, err)
	records := records.Of(people)
	var record *commit.Record
	for id, err := range records.Pending(ctx, keys.RawPartition("S"), "", time.Now().Add(time.Hour)) {
		noError(t, err)
		record, err = records.Get(ctx, keys.RawPartition("S"), id)
		noError(t, err)
	}
	row, err := table.Stored[resident](receipt, 0).Row()
	noError(t, err)
	noError(t, row.Set("Bytes", []byte{1, 255}))
	noError(t, row.Set("GUID", [16]byte{0x12, 0x34, 15: 0xff}))
	_, exists := people.Insert(ctx, jones)
	_, refused := table.Transact(ctx, people.InsertOp(jones))
	_, bulk := table.Bulk(ctx, func(yield func(table.Op, error) bool) { yield(people.InsertOp(jones), nil) }, nil)
	_, taken := people.Insert(ctx, &resident{"S", 2, "Cao", "a"})
	var derived *table.DerivedError
	if !errors.As(taken, &derived) {
		t.Fatalf("got %v; want a *DerivedError", taken)
	}
	for _, c := range []struct {
		what any
		want string // in the text, the log and the JSON, unless the next two say otherwise
		log  string
		json string
	}{
		{what: row, want: "Bytes:0x01ff GUID:12340000-0000-0000-0000-0000000000ff", log: `"Bytes":"0x01ff","GUID":"12340000-0000-0000-0000-0000000000ff"`, json: `"Bytes":"Af8="`},
		{what: *receipt, want: "datetime'"}, {what: receipt, want: "datetime'"},
		{what: record, want: "pending [letter version 1 of p_000001, ", log: `"state":"pending","effects":["letter version 1 of p_000001, `, json: `"State":1`},
		{what: *record, want: "pending [letter version 1 of p_000001, ", log: `"State":1`},
		{what: record.Effects[0], want: "letter version 1 of p_000001", log: `"kind":"letter"`, json: `"Kind":"letter"`},
		{what: requests.Counts{requests.Get: 2}, want: "2 get", log: `"get":2`},
		{what: exists, want: "exists already"}, {what: refused, want: "exists already"}, {what: bulk, want: "exists already"}, {what: derived, want: "maintainer email"},
		{what: struct{ Err error }{exists}, want: "exists already"},
		{what: door.Table(people).Mode.Schema.Rows(), want: "[p_, p`)"}, {what: keys.At(keys.RawPartition(""), keys.RawRow("/")), want: "key is empty; keys: RowKey", json: "-"},
		{what: (*table.Receipt)(nil), want: "<nil>", log: "null"}, {what: (*commit.Record)(nil), want: "<nil>", log: "null"},
	} {
		for _, format := range []string{"%v", "%+v", "%s"} {
			if got := fmt.Sprintf(format, c.what); !strings.Contains(got, c.want) || hasInternals(got) {
				t.Errorf("%s of %T: got %s; want %s in it, and no internal fields", format, c.what, got, c.want)
			}
		}
		var text strings.Builder
		slog.New(slog.NewJSONHandler(&text, nil)).Info("m", "x", c.what)
		if got := text.String(); !strings.Contains(got, cmp.Or(c.log, c.want)) || hasInternals(got) {
			t.Errorf("log of %T: got %s; want %s in it, and no internal fields", c.what, got, cmp.Or(c.log, c.want))
		}
		b, err := json.Marshal(c.what)
		if c.json == "-" {
			if err == nil {
				t.Errorf("JSON of %T: got %s; want an error", c.what, b)
			}
		} else if err != nil || !strings.Contains(string(b), cmp.Or(c.json, c.log, c.want)) || hasInternals(string(b)) {
			t.Errorf("JSON of %T: got %s, %v; want %s in it, and no internal fields", c.what, b, err, cmp.Or(c.json, c.log, c.want))
		}
	}
}

// hasInternals reports whether a text contains an address, bytes as numbers, or a response of the service.
func hasInternals(s string) bool {
	return regexp.MustCompile(`0xc0|\[\d+ \d+ \d+|RESPONSE|errorMessage|%!`).MatchString(s)
}
