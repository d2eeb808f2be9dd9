package index_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

// gadget is an entity with fields of several forms.
type gadget struct {
	Dept  string
	ID    int
	Seq   int32
	Name  string
	Large int64
	Float float64
	Time  time.Time
	Bytes []byte
	Marks []string `table:",each=3"`
	Long  string   `table:",chunks=2"`
	Size  dimensions
	Other map[string]any `table:",extra"`
}

// dimensions is a composite field.
type dimensions struct{ Width, Height int32 }

func (*dimensions) PropertySuffixes() []string { return []string{"Width", "Height"} }

func (d *dimensions) PropertyValues() ([]any, error) { return []any{d.Width, d.Height}, nil }

func (d *dimensions) SetPropertyValues(all []any) error {
	w, is := all[0].(int32)
	h, _ := all[1].(int32)
	if d.Width, d.Height = w, h; !is {
		return errors.New("the width is no Int32")
	}
	return nil
}

// narrow is a gadget without most of its fields, and without a layout of its partitions.
type narrow struct {
	Dept string
	ID   int
	Name string
}

// copyPage is a service whose table has these rows, as JSON, and whose lists are the copies among them.
type copyPage struct {
	copies []string
	wrote  string // the last body
}

const copyEntity = `"PartitionKey":"S","RowKey":"w_%06[1]d","Seq":%[1]d,"odata.etag":"W/\"datetime'2020-01-01T00%%3A00%%3A00Z'\"","Timestamp":"2020-01-01T00:00:00Z","_op@odata.type":"Edm.Guid","_op":"01a21fb2-e2b7-6cf1-2d8a-b460496592b5","Name":"jones","Large@odata.type":"Edm.Int64","Large":"7","Float":1.5,"Time@odata.type":"Edm.DateTime","Time":"2021-02-03T04:05:06.7Z","Bytes@odata.type":"Edm.Binary","Bytes":"YWJj","Marks0":"a","Marks1":"b","Long0":"lo","SizeWidth":3,"SizeHeight":4`

func (s *copyPage) Do(r *http.Request) (*http.Response, error) {
	respond := func(status int, body string) (*http.Response, error) {
		h := http.Header{"Content-Type": {"application/json;odata=minimalmetadata;streaming=true;charset=utf-8"}, "X-Ms-Version": {"2019-02-02"}}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	}
	if r.Method != http.MethodGet {
		b, err := io.ReadAll(r.Body)
		s.wrote = string(b)
		if err != nil {
			return nil, err
		}
		return respond(http.StatusBadRequest, `{"odata.error":{"code":"InvalidInput","message":{"lang":"en-US","value":"x"}}}`)
	}
	if strings.HasSuffix(r.URL.Path, "()") {
		return respond(http.StatusOK, `{"value":[`+strings.Join(s.copies, ",")+`]}`)
	}
	for i, row := range append(s.copies, fmt.Sprintf("{"+copyEntity+"}", 1), fmt.Sprintf("{"+copyEntity+"}", 2), fmt.Sprintf("{"+copyEntity+"}", 3)) {
		var k struct{ RowKey string }
		if err := json.Unmarshal([]byte(row), &k); err != nil && i >= len(s.copies) {
			return nil, err
		}
		if strings.HasSuffix(r.URL.Path, "RowKey='"+k.RowKey+"')") {
			return respond(http.StatusOK, row)
		}
	}
	return respond(http.StatusNotFound, `{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"x"}}}`)
}

// copyWith returns the copy of an entity, with replacements in its JSON in pairs, and with more members.
func copyWith(id int, more string, replace ...string) string {
	text := strings.Replace(fmt.Sprintf(copyEntity, id), fmt.Sprintf(`"RowKey":"w_%06d"`, id), fmt.Sprintf(`"RowKey":"name_jones_w_%06d"`, id), 1)
	text += fmt.Sprintf(`,"_sys":"w_%06d"`, id)
	if more != "" {
		text += "," + more
	}
	return "{" + strings.NewReplacer(replace...).Replace(text) + "}"
}

// copyCases are copies that differ from the entity that they are a copy of. Number 1 is as it should be.
func copyCases(id int) map[string]string {
	many := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`"Many%d":%d`, i, i)
		}
		return strings.Join(all, ",")
	}
	sys := fmt.Sprintf(`"_sys":"w_%06d"`, id)
	return map[string]string{
		"a copy":                        copyWith(id, ""),
		"unknown properties":            copyWith(id, `"New":"x","Number@odata.type":"Edm.Int64","Number":"5","Other@odata.type":"Edm.Binary","Other":"YQ==","At@odata.type":"Edm.DateTime","At":"2020-01-01T00:00:00Z","Bool":true,"Whole":5.0,"Huge":12345678901234567890`),
		"an unknown null":               copyWith(id, `"New":null,"At@odata.type":"Edm.DateTime","At":null`),
		"a field less":                  copyWith(id, "", `"Large@odata.type":"Edm.Int64","Large":"7",`, ""),
		"no value of the index":         copyWith(id, "", `"Name":"jones",`, ""),
		"a null field":                  copyWith(id, "", `"Float":1.5`, `"Float":null`),
		"another type":                  copyWith(id, "", `"Float":1.5`, `"Float":"text"`),
		"a whole float":                 copyWith(id, "", `"Float":1.5`, `"Float":2`),
		"a wrong composite":             copyWith(id, "", `"SizeWidth":3`, `"SizeWidth":"3"`),
		"half a composite":              copyWith(id, "", `,"SizeHeight":4`, ``),
		"a gap in the chunks":           copyWith(id, "", `"Long0"`, `"Long1"`),
		"a second chunk":                copyWith(id, `"Long1":"ng"`),
		"a gap in a list":               copyWith(id, "", `"Marks0":"a",`, ``),
		"an escaped text":               copyWith(id, `"New":"\u00e4\"\n"`, `"Long0":"lo"`, `"Long0":"l\u00f6"`),
		"an escaped owner":              copyWith(id, "", sys, strings.Replace(sys, "w_", `w\u005f`, 1)),
		"a wrong unknown number":        copyWith(id, `"Number@odata.type":"Edm.Int64","Number":"5x"`),
		"a wrong field":                 copyWith(id, "", `"Large":"7"`, `"Large":"7x"`),
		"a wrong escape":                copyWith(id, `"New":"\u12"`),
		"a lone surrogate":              copyWith(id, `"New":"\ud800"`),
		"an unknown type":               copyWith(id, `"New@odata.type":"Edm.New","New":"x"`),
		"an object":                     copyWith(id, `"New":{"a":1}`),
		"a date of 1600":                copyWith(id, `"At@odata.type":"Edm.DateTime","At":"1600-12-31T00:00:00Z"`),
		"a date of 1601":                copyWith(id, `"At@odata.type":"Edm.DateTime","At":"1601-01-01T00:00:00Z"`),
		"a date before 1601 in a zone":  copyWith(id, `"At@odata.type":"Edm.DateTime","At":"1601-01-01T00:00:00+05:00"`),
		"a field of the year 1":         copyWith(id, "", `2021-02-03`, `0001-01-01`),
		"a date that is text":           copyWith(id, `"At@odata.type":"Edm.DateTime","At":"x"`),
		"a date of 9999":                copyWith(id, `"At@odata.type":"Edm.DateTime","At":"9999-12-31T23:59:59.99999999Z"`),
		"parts":                         copyWith(id, `"_parts":"1"`),
		"a null directory of parts":     copyWith(id, `"_parts":null`),
		"an incarnation and state":      copyWith(id, `"_life":"0123456789ABCDEF","_ix@odata.type":"Edm.Binary","_ix":"YQ=="`),
		"a mark":                        copyWith(id, `"_tx":"x"`),
		"another type of entity":        copyWith(id, `"_type":"other"`),
		"the type":                      copyWith(id, `"_type":"gadget","_v":2`),
		"an older version":              copyWith(id, `"_type":"gadget","_v":1`),
		"the first version":             copyWith(id, `"_type":"gadget","_v":0`),
		"a newer version":               copyWith(id, `"_type":"gadget","_v":3`),
		"a version that is text":        copyWith(id, `"_v":"x"`),
		"a projection ID":               copyWith(id, "", sys, sys[:len(sys)-1]+`/P4x1"`),
		"a tombstone":                   copyWith(id, "", sys, sys[:len(sys)-1]+`/~"`),
		"an entity in this partition":   copyWith(id, "", sys, sys[:len(sys)-1]+`//S"`),
		"an entity elsewhere":           copyWith(id, "", sys, sys[:len(sys)-1]+`//T"`),
		"an invalid partition":          copyWith(id, "", sys, sys[:len(sys)-1]+`//T#"`),
		"no owner":                      copyWith(id, "", ","+sys, ""),
		"an owner that is a number":     copyWith(id, "", sys, `"_sys":7`),
		"an owner that is invalid":      copyWith(id, "", sys, `"_sys":"a?b"`),
		"an owner of another layout":    copyWith(id, "", sys, `"_sys":"other_1"`),
		"an owner that is not there":    copyWith(id, "", sys, `"_sys":"w_000999"`),
		"tags":                          copyWith(id, "", sys, `"_sys":"/a/b"`),
		"a shared row":                  copyWith(id, "", sys, `"_sys":"//list:w_"`),
		"no operation ID":               copyWith(id, "", `"_op@odata.type":"Edm.Guid","_op":"01a21fb2-e2b7-6cf1-2d8a-b460496592b5",`, ""),
		"a null operation ID":           copyWith(id, "", `"_op@odata.type":"Edm.Guid","_op":"01a21fb2-e2b7-6cf1-2d8a-b460496592b5"`, `"_op":null`),
		"an operation ID of a number":   copyWith(id, "", `"_op@odata.type":"Edm.Guid","_op":"01a21fb2-e2b7-6cf1-2d8a-b460496592b5"`, `"_op":7`),
		"another value":                 copyWith(id, "", `"Name":"jones"`, `"Name":"smith"`),
		"a value that ends like it":     copyWith(id, "", `"Name":"jones"`, `"Name":"ones"`),
		"a large row":                   copyWith(id, `"New":"`+strings.Repeat("x", 20<<10)+`"`),
		"a text that is too long":       copyWith(id, `"New":"`+strings.Repeat("x", 33<<10)+`"`),
		"many properties":               copyWith(id, many(210)),
		"too many properties":           copyWith(id, many(260)),
		"an annotation that comes late": copyWith(id, `"New":"5","New@odata.type":"Edm.Int64"`),
		"no Timestamp":                  copyWith(id, "", `"Timestamp":"2020-01-01T00:00:00Z",`, ""),
		"no ETag":                       copyWith(id, "", `"odata.etag":"W/\"datetime'2020-01-01T00%3A00%3A00Z'\"",`, ""),
		"another number":                copyWith(id, "", fmt.Sprintf(`"Seq":%d`, id), `"Seq":9`),
		"another key":                   copyWith(id, "", `"RowKey":"name_jones`, `"RowKey":"name_jonas`),
	}
}

// TestCopiesAsRows: a list and a look-up by full copies give the entities and errors that the rows one by one give: for copies of all
// kinds, broken ones included, alone and between others.
func TestCopiesAsRows(t *testing.T) {
	t.Parallel()
	schemas := map[string]table.Schema[gadget]{}
	bindings := table.Schema[gadget]{
		Partition: keys.Partition(dept, func(g *gadget) *string { return &g.Dept }),
		Row:       keys.Row(wid, func(g *gadget) *int { return &g.ID }),
	}
	schemas["without a type"] = bindings
	typed := bindings
	typed.Type, typed.Version = "gadget", 2
	schemas["with a type"] = typed
	typed.Upgrade = map[int]func(*table.Row) error{1: func(r *table.Row) error { return r.Set("Large", int64(8)) }}
	schemas["with an upgrade"] = typed
	oneWay := bindings
	oneWay.Row = keys.RowFunc(wid, func(g *gadget) int { return int(g.Seq) })
	schemas["with a key that is not decoded"] = oneWay
	name := func(g *gadget) (string, bool) { return g.Name, g.Name != "" }
	for what, schema := range testkit.SomeNamed(schemas) {
		testCopies(t, what, schema, table.FieldOf(func(g *gadget) *string { return &g.Name }), name, func(g *gadget) { g.Name = "changed" })
	}
	testCopies(t, "of few fields", table.Schema[narrow]{
		Partition: keys.RawPartitionOf(func(n *narrow) *string { return &n.Dept }),
		Row:       keys.Row(wid, func(n *narrow) *int { return &n.ID }),
	}, table.FieldOf(func(n *narrow) *string { return &n.Name }), func(n *narrow) (string, bool) { return n.Name, n.Name != "" }, func(n *narrow) { n.Name = "changed" })
	testCopies(t, "of rows", table.Schema[table.Row]{Row: keys.RowFunc(wid, func(r *table.Row) int { id, _ := wid.Decode(r.Key.RowKey()); return id })}, table.PropertyOf[string]("Name"),
		func(r *table.Row) (string, bool) { name, _ := r.Get("Name"); s, is := name.(string); return s, is },
		func(r *table.Row) { check(t, r.Set("Name", "changed")) })
}

func testCopies[T any](t *testing.T, what string, schema table.Schema[T], only table.FieldIn[T], name func(*T) (string, bool), change func(*T)) {
	layout := keys.Text()
	full := index.New("name", layout, name, nil)
	multi := index.NewMulti("name", layout, 2, func(v *T) []string { s, _ := name(v); return []string{s, "other"} }, nil)
	some := index.New("name", layout, name, nil).Only(only)
	for of, ix := range map[string]*index.Index[T, string]{"": full, ", of several values": multi, ", of one field": some} {
		cases := testkit.SomeNamed(copyCases(2))
		for i, alone := range slices.Sorted(maps.Keys(cases)) {
			if (i+len(what+of))%testkit.Sample(1) != 0 { // of a sample, each case by some of the indexes
				continue
			}
			text := cases[alone]
			t.Run(what+of+"/"+alone, func(t *testing.T) {
				t.Parallel()
				page := &copyPage{copies: []string{copyWith(1, ""), text, copyWith(3, "")}}
				staff, err := bare.NewTable(serviceOf(t, storagetest.New(nil).ConnectionString(), page), "staff", schema, quick())
				check(t, err)
				staff, err = baretest.Attach(staff, ix)
				check(t, err)
				sameAsRows(t, alone, staff, page, ix, of == ", of one field", name, change)
			})
		}
	}
}

// sameAsRows compares a list by an index with the rows of the page, read one by one.
func sameAsRows[T any](t *testing.T, what string, staff *table.Table[T], page *copyPage, ix *index.Index[T, string], projected bool, name func(*T) (string, bool), change func(*T)) {
	t.Helper()
	ctx, q := context.Background(), table.Query[T]{Partition: sales, Rows: ix.Rows().All()}
	var got, want []string
	skipped := func(list *[]string) func(keys.Key, error) bool {
		return func(k keys.Key, err error) bool {
			*list = append(*list, fmt.Sprint("skipped ", k, " ", err))
			return true
		}
	}
	for _, skip := range []bool{false, true} {
		if q.Skip = nil; skip {
			q.Skip = skipped(&got)
		}
		for e, err := range ix.Query(ctx, staff, q) {
			got = append(got, describe(t, staff, page, e, err, change))
		}
		if skip {
			q.Skip = skipped(&want)
		}
		for row, err := range staff.Rows(ctx, q) {
			if err == nil {
				var e *table.Entity[T]
				if e, err = entityOfRow(ctx, staff, row, projected, name); e == nil && err == nil {
					continue
				} else if err == nil {
					want = append(want, describe(t, staff, page, e, nil, change))
					continue
				}
			}
			want = append(want, describe(t, staff, page, nil, fmt.Errorf("index name: %w", err), change))
			break
		}
	}
	if what == "a copy" && (len(got) != 6 || strings.HasPrefix(strings.Join(got, ""), "error")) {
		t.Errorf("got %q; want 3 entities in each of two lists", got)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// entityOfRow returns the entity that a look-up finds in a row, nil for none.
func entityOfRow[T any](ctx context.Context, staff *table.Table[T], row *table.Row, projected bool, name func(*T) (string, bool)) (*table.Entity[T], error) {
	if owner, is := row.Get("_sys"); is {
		if _, isText := owner.(string); !isText {
			return nil, fmt.Errorf("property _sys is %s in the row %v, not Edm.String: another program has stored it; delete the row, and verify.Repair writes it again", row.Type("_sys"), row.Key)
		}
	}
	k, isCopy := (*stored.Row)(row).Primary()
	if !isCopy || k.Err() != nil || (*stored.Row)(row).ProjectionID() == "~" {
		return nil, nil
	}
	_, full := row.Get("_op")
	var e *table.Entity[T]
	var err error
	var ve *table.VersionError
	var ke *keys.KeyError
	if full && !projected {
		if e, err = staff.Entity(row); errors.As(err, &ke) || errors.Is(err, table.ErrForeignRow) || errors.As(err, &ve) && ve.Got < ve.Want {
			e, err = nil, nil
		}
	}
	if e == nil && err == nil {
		if e, err = staff.Get(ctx, k); errors.As(err, &ke) || errors.Is(err, table.ErrNotFound) || errors.Is(err, table.ErrForeignRow) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	of, in := name(&e.Value)
	if got := "name_" + of + "_" + e.Key.RowKey(); !in || got != row.Key.RowKey() || e.Key.PartitionKey() != row.Key.PartitionKey() {
		return nil, nil
	}
	return e, nil
}

var randomTexts = regexp.MustCompile(`[0-9A-Z]{26}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|Date: .*`)

// describe returns all that a program can learn of an entity, and what it writes when it replaces the entity.
func describe[T any](t *testing.T, staff *table.Table[T], page *copyPage, e *table.Entity[T], err error, change func(*T)) string {
	t.Helper()
	if err != nil {
		return "error " + err.Error()
	}
	row, err := e.Row()
	check(t, err)
	text, err := json.Marshal(row)
	value := fmt.Sprintf("%+v", e.Value)
	if row, is := any(&e.Value).(*table.Row); is {
		text, err := json.Marshal(row)
		value = fmt.Sprintln(row.Key, row.ETag, row.Timestamp, string(text), err)
	}
	first := fmt.Sprintln(e.Key, e.ETag, e.Timestamp, e.Partial(), value, string(text), err)
	change(&e.Value)
	page.wrote = ""
	err = staff.Replace(context.Background(), e)
	return randomTexts.ReplaceAllString(first+fmt.Sprintln("replaced:", err, page.wrote), "…")
}
