package largeentity_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/internal/testkit/valuestest"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

const (
	someID  = "01KAJ5ZVW0ABCDEFGHJKMNPQRS"
	someSum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

// TestProperties: properties that no Blob has are refused, and those of a []byte field are read.
func TestProperties(t *testing.T) {
	t.Parallel()
	link := "staff/Sales/" + someID
	for name, test := range map[string]struct {
		values []any
		ok     bool
	}{
		"link":                    {[]any{[]byte{}, link, int64(5), someSum, "text/plain"}, true},
		"link of another program": {[]any{nil, link, int32(5), someSum, nil}, true},
		"length as a Double":      {[]any{nil, link, 5.0, someSum, nil}, true},
		"fraction as length":      {[]any{nil, link, 5.5, someSum, nil}, false},
		"small":                   {[]any{[]byte("ab"), "", int64(2), "", "text/plain"}, true},
		"[]byte":                  {[]any{[]byte("ab"), nil, nil, nil, nil}, true},
		"empty":                   {[]any{[]byte{}, "", int64(0), "", ""}, true},
		"nothing but a type":      {[]any{nil, nil, nil, nil, "text/plain"}, false},
		"text":                    {[]any{"ab", nil, nil, nil, nil}, false},
		"both":                    {[]any{[]byte("ab"), link, int64(5), someSum, ""}, false},
		"wrong length":            {[]any{[]byte("ab"), "", int64(3), "", ""}, false},
		"hash of a small one":     {[]any{[]byte("ab"), "", int64(2), someSum, ""}, false},
		"number as name":          {[]any{nil, int64(1), int64(5), someSum, ""}, false},
		"no length":               {[]any{nil, link, nil, someSum, ""}, false},
		"negative":                {[]any{nil, link, int64(-1), someSum, ""}, false},
		"text as length":          {[]any{nil, link, "5", someSum, ""}, false},
		"no hash":                 {[]any{nil, link, int64(5), nil, ""}, false},
		"short hash":              {[]any{nil, link, int64(5), someSum[2:], ""}, false},
		"upper case hash":         {[]any{nil, link, int64(5), strings.ToUpper(someSum), ""}, false},
		"hash of letters":         {[]any{nil, link, int64(5), strings.Repeat("x", 64), ""}, false},
		"URL":                     {[]any{nil, "https://evil.example/photos/" + someID, int64(5), someSum, ""}, false},
		"path":                    {[]any{nil, "staff/../" + someID, int64(5), someSum, ""}, false},
		"other form of the path":  {[]any{nil, "staff/~53ales/" + someID, int64(5), someSum, ""}, false},
		"wrong escape":            {[]any{nil, "staff/~5/" + someID, int64(5), someSum, ""}, false},
		"upper case table":        {[]any{nil, "Staff/Sales/" + someID, int64(5), someSum, ""}, false},
		"no ID":                   {[]any{nil, "staff/Sales/x", int64(5), someSum, ""}, false},
		"longer":                  {[]any{nil, link + "/x", int64(5), someSum, ""}, false},
		"too long":                {[]any{nil, "staff/" + strings.Repeat("x", 1000) + "/" + someID, int64(5), someSum, ""}, false},
	} {
		var b largeentity.Blob
		err := b.SetPropertyValues(test.values)
		var value *table.ValueError
		if test.ok != (err == nil) || !test.ok && (!errors.As(err, &value) || !b.IsZero()) {
			t.Errorf("%s: got %v, error %v; want ok %v", name, b, err, test.ok)
		}
		if err != nil {
			continue
		}
		values, err := b.PropertyValues()
		must(t, err)
		var again largeentity.Blob
		must(t, again.SetPropertyValues(values))
		testkit.Expect(t, name, again == b, true)
	}
}

// TestJSON: the JSON of a Blob has its name, its size and its type, for the response of a server, and is
// read by no Blob. That of no value is null.
func TestJSON(t *testing.T) {
	t.Parallel()
	for want, values := range map[string][]any{
		`{"Photo":null}`: nil,
		`{"Photo":{"size":2,"type":"image/png"}}`:                               {[]byte("ab"), "", int64(2), "", "image/png"},
		`{"Photo":{"size":0}}`:                                                  {[]byte{}, "", int64(0), "", ""},
		`{"Photo":{"name":"staff/Sales/` + someID + `","size":8,"type":"a/b"}}`: {nil, "staff/Sales/" + someID, int64(8), someSum, "a/b"},
	} {
		var answer struct{ Photo largeentity.Blob }
		if values != nil {
			must(t, answer.Photo.SetPropertyValues(values))
		}
		got, err := json.Marshal(answer)
		must(t, err)
		testkit.Expect(t, "JSON", string(got), want)
		if err := json.Unmarshal(got, &answer); (err == nil) != (values == nil) {
			t.Errorf("%s: got error %v when it is read; want one: %v", got, err, values != nil)
		}
	}
}

// TestNoJSON: the library stores no Blob as JSON, from which it could not be read again.
func TestNoJSON(t *testing.T) {
	t.Parallel()
	type payload struct {
		All []map[string]*largeentity.Blob
	}
	declare := func(definition func(*aztablekit.Store) aztablekit.Definition[struct{ A int }]) error {
		s := aztablekit.Open(storagetest.New(nil), "company", nil)
		aztablekit.Table(s, "staff", nil, nil, definition(s))
		return s.Err()
	}
	type inJSON struct {
		A payload `table:",json"`
	}
	s := aztablekit.Open(storagetest.New(nil), "company", nil)
	staff := aztablekit.Table[inJSON](s, "staff", nil, nil)
	logs := aztablekit.Open(storagetest.New(nil), "web", nil)
	bloblog.New[payload](logs, "logs", nil)
	for name, err := range map[string]error{
		"field": tabledoor.Ensure(t.Context(), staff),
		"effect": declare(func(*aztablekit.Store) aztablekit.Definition[struct{ A int }] {
			return eventual.On("mail", func(*eventual.Change[struct{ A int }]) (payload, bool) { return payload{}, true }, nil)
		}),
		"job": declare(func(*aztablekit.Store) aztablekit.Definition[struct{ A int }] {
			return jobs.New("fix", func(context.Context, *jobs.Slice[struct{ A int }], payload) error { return nil })
		}),
		"log in blobs": logs.Ensure(t.Context()),
	} {
		var of *table.TypeError
		if !errors.As(err, &of) || !strings.Contains(err.Error(), "contains a largeentity.Blob") {
			t.Errorf("%s: got error %v; want a TypeError that names the Blob", name, err)
		}
	}
}

// TestHostileRow: a row whose link is damaged is an error, and not an entity without a photo.
func TestHostileRow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	fx, _ := newFixture(t, nil)
	e := aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: "Sales", RowKey: at(1).RowKey()}, Properties: map[string]any{"PhotoBlob": "https://evil.example/x", "PhotoSize": aztables.EDMInt64(5)}}
	body, err := e.MarshalJSON()
	must(t, err)
	_, err = fx.account.Tables().NewClient("staff").AddEntity(ctx, body, nil)
	must(t, err)
	var decode *table.DecodeError
	if _, err := fx.staff.Get(ctx, at(1)); !errors.As(err, &decode) || decode.Field != "Photo" {
		t.Errorf("got error %v; want a DecodeError of the field Photo", err)
	}
	// Rows of blobs with other contents are no rows of this library.
	for i, row := range []map[string]any{{"State": "live"}, {"State": int32(1)}, {"State": "later"}, {}} {
		rowKey := "~b|" + someID[:25] + fmt.Sprint(i)
		if i == 0 {
			rowKey = "~b|x"
		}
		body, err := aztables.EDMEntity{Entity: aztables.Entity{PartitionKey: "Sales", RowKey: rowKey}, Properties: row}.MarshalJSON()
		must(t, err)
		_, err = fx.account.Tables().NewClient("staff").AddEntity(ctx, body, nil)
		must(t, err)
	}
	fx.overwrite(t, "staff/Sales/"+someID[:25]+"2", "x")
	r := fx.sweep(t, nil)
	testkit.Expect(t, "report", fmt.Sprintf("%+v", r), fmt.Sprintf("%+v", largeentity.SweepReport{Blobs: 1, Rows: 4, Foreign: 3}))
}

// TestDamagedBlobTexts: the error of an entity whose blob cannot be read says which property is wrong, and how.
func TestDamagedBlobTexts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for column, want := range map[string]string{
		`"PhotoSize":"5"`:   "property Photo cannot be read from its properties: Size is not a whole number; it is not a Blob of this library",
		`"PhotoSize":5.5`:   "property Photo cannot be read from its properties: Size is not a whole number; it is not a Blob of this library",
		`"PhotoSize":-1`:    "property Photo cannot be read from its properties: Size does not fit a blob; it is not a Blob of this library",
		`"PhotoSHA256":"x"`: "property Photo cannot be read from its properties: SHA256 is not a hash; it is not a Blob of this library",
		`"PhotoBlob":7`:     "property Photo cannot be read from its properties: Blob is not Edm.String; it is not a Blob of this library",
		`"Photo":"x"`:       `property Photo cannot be read from its properties: "" is not Edm.Binary; it is not a Blob of this library`,
	} {
		fx, _ := newFixture(t, nil)
		_, err := fx.staff.Insert(ctx, &employee{Department: "Sales", ID: 1, Photo: fx.upload(t, "a value of more than 8 bytes")})
		must(t, err)
		body := fmt.Sprintf(`{"PartitionKey":"Sales","RowKey":%q,%s}`, at(1).RowKey(), column)
		_, err = fx.account.Tables().NewClient("staff").UpsertEntity(ctx, []byte(body), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeMerge})
		must(t, err)
		if _, err := fx.staff.Get(ctx, at(1)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got error %v; want %q at its end", column, err, want)
		}
	}
}

// TestKeys: entities with any keys have blobs, and a sweep finds their rows.
func TestKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := storagetest.New(nil)
	type document struct{ Content largeentity.Blob }
	base, err := bare.NewTable(s.Tables(), "Documents", table.Schema[document]{}, nil)
	must(t, err)
	store, documents, err := valuestest.New(base, s, "documents", small())
	must(t, err)
	must(t, errors.Join(tabledoor.Ensure(ctx, base), store.Ensure(ctx)))
	all := []string{"a", "A", ".", "..", "...", ".a.", "a.b", "a b", "a%2Fb", "a~7Eb", "größe", "日本", "😀", "a'b", "a+b", "a&b=c", "<>", `"`, "a:b", "a|b", "-", "_", "=20", strings.Repeat("x", 512)}
	seen := map[string]bool{}
	for _, pk := range all {
		k := keys.Raw(pk, "r")
		b, err := store.Upload(ctx, k, strings.NewReader(text(20)), "")
		must(t, err)
		if seen[b.Name()] = true; strings.Count(b.Name(), "/") != 2 {
			t.Errorf("partition %q: got name %q", pk, b.Name())
		}
		_, err = documents.InsertAt(ctx, k, &document{b})
		must(t, err)
		r, _, err := store.OpenAt(ctx, k, func(d *document) largeentity.Blob { return d.Content })
		must(t, err)
		must(t, r.Close())
	}
	r, err := largeentity.Sweep(ctx, store, nil)
	must(t, err)
	want := largeentity.SweepReport{Blobs: len(all), Linked: len(all), Rows: len(all)}
	testkit.Expect(t, "report", r, want)
}

// Portrait is embedded in a type of entities.
type Portrait struct{ Photo largeentity.Blob }

// TestTypes: a type in which a Blob would be lost is refused.
func TestTypes(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	type base struct{ Photo largeentity.Blob }
	attachable(t, s, struct{ A, B largeentity.Blob }{}, true)
	attachable(t, s, struct {
		base
		C int
	}{}, true) // the embedded struct is not exported, but its field is
	attachable(t, s, struct{ Portrait }{}, true)
	attachable(t, s, struct {
		A largeentity.Blob `table:"-"`
	}{}, false)
	attachable(t, s, struct{ A int }{}, false)
	attachable(t, s, struct {
		A []largeentity.Blob `table:",json"`
	}{}, false)
	attachable(t, s, struct {
		A map[string]struct{ X *largeentity.Blob } `table:",json"`
		B largeentity.Blob
	}{}, false)
}

func attachable[T any](t *testing.T, s *storagetest.Service, v T, want bool) {
	t.Helper()
	staff, err := bare.NewTable(s.Tables(), "staff", table.Schema[T]{}, nil)
	if err == nil {
		_, _, err = valuestest.New(staff, s, "photos", nil)
	}
	if (err == nil) != want {
		t.Errorf("%T: got error %v; want none: %v", v, err, want)
	}
}

// FuzzProperties: a link of any text is refused, or is read back as it is.
func FuzzProperties(f *testing.F) {
	for _, link := range []string{"staff/Sales/" + someID, "staff/~/" + someID, "staff/~2e/" + someID, "staff/../" + someID, "a/b", "", "staff/ü/" + someID, "staff/\xff/" + someID} {
		f.Add(link, int64(5), someSum)
	}
	f.Fuzz(func(t *testing.T, link string, size int64, sum string) {
		var b largeentity.Blob
		if err := b.SetPropertyValues([]any{[]byte{}, link, size, sum, "x"}); err != nil {
			if !b.IsZero() {
				t.Errorf("link %q: got %v with error %v; want none", link, b, err)
			}
			return
		}
		if b.Name() != link || b.Size() != size || link != "" && (b.SHA256() != sum || strings.Count(link, "/") != 2) {
			t.Errorf("link %q: got %v", link, b)
		}
	})
}
