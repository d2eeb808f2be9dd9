package table_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// sdkTypes is an entity with fields of the SDK's types.
type sdkTypes struct {
	ID     string `table:"-"`
	N      aztables.EDMInt64
	At     aztables.EDMDateTime
	G      aztables.EDMGUID
	B      aztables.EDMBinary
	PN     *aztables.EDMInt64
	PG     *aztables.EDMGUID
	PAt    *aztables.EDMDateTime
	Series []aztables.EDMInt64 `table:",each=3"`
}

// TestSDKTypes: fields of the SDK's types are stored as the types that they stand for, in both directions, and conditions find
// them.
func TestSDKTypes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	service := serviceOf(t, storagetest.New(nil))
	tab, err := bare.NewTable(service, "types", table.Schema[sdkTypes]{Partition: keys.OnePartition[sdkTypes]("p"), Row: keys.RawRowOf(func(v *sdkTypes) *string { return &v.ID })}, nil)
	noError(t, err)
	noError(t, tab.Ensure(ctx))
	raw := service.NewClient("types")
	at := time.Date(2026, 11, 22, 1, 2, 3, 400, time.UTC)
	const guid = "c9da6455-213d-42c9-9a79-3e9149a57833"

	// The library reads an entity that the SDK wrote.
	body, err := json.Marshal(aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: "p", RowKey: "by the SDK"}, Properties: map[string]any{
		"N": aztables.EDMInt64(1<<53 + 1), "At": aztables.EDMDateTime(at), "G": aztables.EDMGUID(guid), "B": aztables.EDMBinary("abc"), "PN": aztables.EDMInt64(7), "Series1": aztables.EDMInt64(2),
	}})
	noError(t, err)
	_, err = raw.AddEntity(ctx, body, nil)
	noError(t, err)
	loaded, err := tab.Get(ctx, keys.Raw("p", "by the SDK"))
	noError(t, err)
	v := loaded.Value
	if v.N != 1<<53+1 || !time.Time(v.At).Equal(at) || v.G != guid || string(v.B) != "abc" || v.PN == nil || *v.PN != 7 || v.PG != nil || v.PAt != nil || fmt.Sprint(v.Series) != "[0 2]" {
		t.Errorf(`got %+v; want v.N == 1<<53+1 and time.Time(v.At).Equal(at) and v.G == guid and string(v.B) == "abc" and v.PN != nil and *v.PN == 7 and v.PG == nil and v.PAt == nil and fmt.Sprint(v.Series) == "[0 2]"`, v)
	}

	// The SDK reads entities that the library wrote.
	noError(t, tab.Replace(ctx, loaded))
	v.ID, v.N, v.G = "by the library", -5, aztables.EDMGUID(strings.ToUpper(guid))
	_, err = tab.Insert(ctx, &v)
	noError(t, err)
	for id, n := range map[string]aztables.EDMInt64{"by the SDK": 1<<53 + 1, "by the library": -5} {
		got, err := raw.GetEntity(ctx, "p", id, nil)
		noError(t, err)
		var e aztables.EDMEntity
		noError(t, json.Unmarshal(got.Value, &e))
		if p := e.Properties; p["N"] != n || !time.Time(p["At"].(aztables.EDMDateTime)).Equal(at) || p["G"] != aztables.EDMGUID(guid) || string(p["B"].(aztables.EDMBinary)) != "abc" || p["PN"] != aztables.EDMInt64(7) || p["PG"] != nil {
			t.Errorf(`%s: got %+v; want p["N"] == %v and time.Time(p["At"].(aztables.EDMDateTime)).Equal(at) and p["G"] == aztables.EDMGUID(guid) and string(p["B"].(aztables.EDMBinary)) == "abc" and p["PN"] == aztables.EDMInt64(7) and p["PG"] == nil`, id, p, n)
		}
	}

	n, g := table.FieldOf(func(v *sdkTypes) *aztables.EDMInt64 { return &v.N }), table.FieldOf(func(v *sdkTypes) *aztables.EDMGUID { return &v.G })
	when, b := table.FieldOf(func(v *sdkTypes) *aztables.EDMDateTime { return &v.At }), table.FieldOf(func(v *sdkTypes) *aztables.EDMBinary { return &v.B })
	pn := table.FieldOf(func(v *sdkTypes) **aztables.EDMInt64 { return &v.PN })
	seven := aztables.EDMInt64(7)
	for what, c := range map[string]struct {
		cond table.Cond[sdkTypes]
		want int
	}{
		"Int64": {n.Lt(0), 1}, "large": {n.Eq(1<<53 + 1), 1}, "Guid": {g.Eq(guid), 2}, "DateTime": {when.Ge(aztables.EDMDateTime(at)), 2}, "Binary": {b.Eq(aztables.EDMBinary("abc")), 2},
		"pointer": {pn.Eq(&seven), 2}, "none": {when.Gt(aztables.EDMDateTime(at)), 0},
	} {
		if got, err := tab.Count(ctx, table.Query[sdkTypes]{Where: c.cond}); got != c.want || err != nil {
			t.Errorf("%s: got %d, %v; want %d", what, got, err, c.want)
		}
	}

	// Empty values are not stored, and an invalid GUID is refused.
	_, err = tab.Insert(ctx, &sdkTypes{ID: "empty"})
	noError(t, err)
	row, err := tab.GetRow(ctx, keys.Raw("p", "empty"))
	noError(t, err)
	if row.Type("N") != "Edm.Int64" || row.Type("At")+row.Type("G")+row.Type("B")+row.Type("PN") != "" {
		t.Errorf(`got %v; want row.Type("N") == "Edm.Int64" and row.Type("At")+row.Type("G")+row.Type("B")+row.Type("PN") == ""`, row)
	}
	var ve *table.ValueError
	if _, err := tab.Insert(ctx, &sdkTypes{ID: "bad", G: "not a guid"}); !errors.As(err, &ve) || ve.Field != "G" {
		t.Errorf(`got %v; want a *ValueError and ve.Field == "G"`, err)
	}
	noError(t, row.Set("X", aztables.EDMInt64(5)))
	if got := row.Type("X"); got != "Edm.Int64" {
		t.Errorf("got %q; want %q", got, "Edm.Int64")
	}
}
