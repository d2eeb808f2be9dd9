package transfer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// text returns a file with a content.
func text(content string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }
}

// imported imports a source into a new table, and returns its content.
func importedRows(t *testing.T, from transfer.Source) ([]string, error) {
	t.Helper()
	s := storagetest.New(nil)
	to, err := bare.NewTable(s.Tables(), "target", table.Schema[table.Row]{}, nil)
	testkit.NoError(t, err)
	first, err := transfer.Import(t.Context(), from, to, nil)
	if err == nil {
		again, err := transfer.Import(t.Context(), from, to, nil)
		if err != nil || again.Counts["same"] != first.Rows {
			t.Errorf("a second import: got %+v, %v; want all %d rows the same", again, err, first.Rows)
		}
	}
	return contentOf(s, "target"), err
}

// TestCSV: files of Storage Explorer and of spreadsheets.
func TestCSV(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content string
		o       *transfer.CSVOptions
		want    []string
	}{
		"types by header": {"PartitionKey,RowKey,Timestamp,Age,Age@type,Name,Name@type\r\nSales,1,2026-01-02T03:04:05.123Z,30,Edm.Int32,Ann,Edm.String\r\n",
			nil, []string{`"Sales" "1" Age Edm.Int32=30 Name Edm.String=Ann`}},
		"types without Edm, and only in the first line": {"PartitionKey,RowKey,Big,Big@type,At,At@type\np,1,9007199254740993,Int64,2026-01-02T03:04:05.1234567Z,DateTime\np,2,9007199254740995,,,\n",
			nil, []string{`"p" "1" At Edm.DateTime=2026-01-02 03:04:05.1234567 +0000 UTC Big Edm.Int64=9007199254740993`, `"p" "2" Big Edm.Int64=9007199254740995`}},
		"two spaces before @type":     {"PartitionKey,RowKey,V,V  @type\np,1,1,Edm.Int64\n", nil, []string{`"p" "1" V Edm.Int64=1`}},
		"a space before @type":        {"PartitionKey,RowKey,V,V @type\np,1,1,Edm.Int64\n", nil, []string{`"p" "1" V Edm.Int64=1`}},
		"no types: text":              {"PartitionKey,RowKey,Code\np,1,007\n", nil, []string{`"p" "1" Code Edm.String=007`}},
		"types by a schema":           {"PartitionKey;RowKey;N;F\np;1;5;0.5\n", &transfer.CSVOptions{Comma: ';', Types: map[string]string{"N": "Edm.Int64", "F": "Double"}}, []string{`"p" "1" F Edm.Double=0.5 N Edm.Int64=5`}},
		"other names, and left out":   {"dept,id,N,junk\np,1,5,x\n", &transfer.CSVOptions{Columns: map[string]string{"dept": "PartitionKey", "id": "RowKey", "junk": ""}}, []string{`"p" "1" N Edm.String=5`}},
		"nothing, and the empty text": {"PartitionKey,RowKey,A,A@type,B,B@type\np,1,,Edm.String,,\n", nil, []string{`"p" "1" A Edm.String=`}},
		"quotes, lines and a mark":    {"\ufeffPartitionKey,RowKey,A\np,1,\"a \"\"b\"\"\nc\"\n", nil, []string{"\"p\" \"1\" A Edm.String=a \"b\"\nc"}},
		"any order":                   {"PartitionKey,RowKey\nq,2\nq,1\np,1\nq,3\np,0\n", nil, []string{`"p" "0"`, `"p" "1"`, `"q" "1"`, `"q" "2"`, `"q" "3"`}},
		"special numbers":             {"PartitionKey,RowKey,A,A@type\np,1,NaN,Edm.Double\np,2,-Infinity,Edm.Double\np,3,3,Edm.Double\n", nil, []string{`"p" "1" A Edm.Double=NaN`, `"p" "2" A Edm.Double=-Inf`, `"p" "3" A Edm.Double=3`}},
		"no lines":                    {"PartitionKey,RowKey\n", nil, nil},
	} {
		got, err := importedRows(t, transfer.CSV(text(c.content), c.o))
		if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", c.want) {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, c.want)
		}
	}
	for content, want := range map[string]string{
		"": "line 1", "PartitionKey,X\n": "no columns", "PartitionKey,RowKey,A,A\n": "twice", "PartitionKey,RowKey,a b\n": "no name of a property", "PartitionKey,RowKey,\n": "has no name",
		"PartitionKey,RowKey,A\np,1\n": "line 2", "PartitionKey,RowKey,A,A@type\np,1,x,Edm.Int32\n": `line 2, column "A"`, "PartitionKey,RowKey,A,A@type\np,1,x,Edm.Int16\n": "no type",
		"PartitionKey,RowKey,A,A@type\np,1,2147483648,Edm.Int32\n": "no Edm.Int32", "PartitionKey,RowKey,A\np,1,\"x\n": "line 2", "PartitionKey,RowKey\np,\xff\n": "UTF-8", "PartitionKey,RowKey,Timestamp\np,1,today\n": "no time",
		"PartitionKey,RowKey,A\np,1,\"x\"\ry\n": "behind the quote", "PartitionKey,RowKey\np,1,2,3": "more than 2 fields", "PartitionKey,RowKey,A,A@type,A @type\n": "second column of types", strings.Repeat(",", 2000): "more than 1000 fields",
	} {
		_, err := importedRows(t, transfer.CSV(text(content), nil))
		var bad *transfer.FileError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want a FileError that contains %q", content, err, want)
		}
	}
	var ve *table.ValueError
	for _, o := range []*transfer.CSVOptions{{Types: map[string]string{"A": "Int16"}}, {Types: map[string]string{"B": "Edm.Int32"}}, {Columns: map[string]string{"B": "C"}}, {Comma: '"'}, {Comma: '\n'}} {
		if _, err := importedRows(t, transfer.CSV(text("PartitionKey,RowKey,A\n"), o)); !errors.As(err, &ve) {
			t.Errorf("%v: got error %v, want a ValueError", o, err)
		}
	}
	var twice *transfer.FileError
	if _, err := importedRows(t, transfer.CSV(text("PartitionKey,RowKey,A,B\n"), &transfer.CSVOptions{Columns: map[string]string{"A": "X", "B": "X"}})); !errors.As(err, &twice) {
		t.Errorf("two columns of one property: got error %v, want a FileError", err)
	}
	lost := errors.New("connection lost")
	broken := func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader("PartitionKey,RowKey\np,1\n"), iotest.ErrReader(lost))), nil
	}
	for name, source := range map[string]transfer.Source{"CSV": transfer.CSV(broken, nil), "JSON": transfer.JSON(func() (io.ReadCloser, error) { return io.NopCloser(iotest.ErrReader(lost)), nil })} {
		if _, err := importedRows(t, source); !errors.Is(err, lost) {
			t.Errorf("%s that breaks off: got error %v, want %v", name, err, lost)
		}
	}
	if _, err := importedRows(t, transfer.CSV(nil, nil)); !errors.As(err, &ve) {
		t.Errorf("a nil function: got error %v, want a ValueError", err)
	}
}

// TestJSON: lines, lists, and responses of the service.
func TestJSON(t *testing.T) {
	t.Parallel()
	const one, two = `{"PartitionKey":"p","RowKey":"1","Big@odata.type":"Edm.Int64","Big":"9007199254740993"}`, `{"PartitionKey":"p","RowKey":"2","Timestamp":"2026-01-02T03:04:05Z","A":3,"odata.etag":"W/\"x\""}`
	want := []string{`"p" "1" Big Edm.Int64=9007199254740993`, `"p" "2" A Edm.Int32=3`}
	for name, content := range map[string]string{
		"lines":         one + "\n" + two + "\n",
		"no last break": one + "\n" + two,
		"windows":       "\ufeff" + one + "\r\n\r\n" + two + "\r\n",
		"a marked list": "\ufeff[\n" + one + ",\n" + two + "\n]\n",
		"a list":        "[\n" + one + ",\n" + two + "\n]\n",
		"a response":    `{"odata.metadata":"https://x/$metadata#staff","value":[` + one + "," + two + "]}",
		"two responses": `{"value":[` + one + "]}\n" + `{"value":[` + two + "]}\n",

		"a list on one line":   "[" + one + "," + two + "]",
		"a printed list":       "[\n  " + printed(one) + ",\n  " + printed(two) + "\n]\n",
		"printed rows":         printed(one) + "\n" + printed(two),
		"a printed response":   "{\n  \"value\": [\n" + printed(one) + ",\n" + printed(two) + "\n  ]\n}\n",
		"a row, and then more": one + "\n[" + two + "]\n",
		"az storage entity query": `{
  "items": [
    {"PartitionKey": "p", "RowKey": "1", "Timestamp": "2026-01-02T03:04:05.1234567+00:00", "etag": "W/\"x\"", "Big": {"edm_type": "Edm.Int64", "value": 9007199254740993}},
    {"PartitionKey": "p", "RowKey": "2", "Timestamp": "2026-01-02T03:04:05+00:00", "etag": "W/\"x\"", "A": 3}
  ],
  "nextMarker": {}
}`,
		"an older az": `{"items":[{"PartitionKey":"p","RowKey":"1","Big":{"type":"Edm.Int64","value":9007199254740993}},{"PartitionKey":"p","RowKey":"2","A":3}]}`,
	} {
		got, err := importedRows(t, transfer.JSON(text(content)))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
	for _, content := range []string{"x", one + "\n{", `{"RowKey":"1"}`, `{"PartitionKey":"p","RowKey":"1","A@odata.type":"Edm.Int64","A":"x"}`, `{"value":[{"RowKey":"1"}]}`, `{"value":[` + one + `,{"RowKey":"1"}]}`} {
		_, err := importedRows(t, transfer.JSON(text(content)))
		var bad *transfer.FileError
		if !errors.As(err, &bad) {
			t.Errorf("%s: got error %v, want a FileError", content, err)
		}
	}
}

// printed returns a row as other tools print it, over several lines.
func printed(row string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(row), "", "  "); err != nil {
		panic(err)
	}
	return b.String()
}

// TestJSONErrors: the error of a file says where the row is, and speaks of no response.
func TestJSONErrors(t *testing.T) {
	t.Parallel()
	const good = `{"PartitionKey":"p","RowKey":"1"}`
	for content, want := range map[string]string{
		good + "\n" + `{"PartitionKey":"p"}`:                "line 2, byte 1,",
		good + "\n\n  " + `{"PartitionKey":"p"}` + "\n":     "line 3, byte 3,",
		"[" + good + "," + `{"PartitionKey":"p"}]`:          "line 1, byte 36,",
		"[\n" + good + ",\n" + `{"PartitionKey":"p"}` + "]": "line 3, byte 1,",
		"[\n" + good + ",\n" + `{"PartitionKey":x}` + "]":   "line 3, byte 1,",
		`{"value":[` + good + ",\n  17]}":                   "line 2, byte 3,",
		"[\n" + good + ",\n  {\"PartitionKey\":":            "line 3, byte 3,",
		"PartitionKey,RowKey\n":                             "line 1, byte 1,",
		good + "\n17\n":                                     "line 2, byte",
		`{"items":[{"PartitionKey":"p","RowKey":"1","A":{"edm_type":"Edm.Strange","value":1}}]}`: "line 1, byte 11,",
	} {
		_, err := importedRows(t, transfer.JSON(text(content)))
		var bad *transfer.FileError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "response") {
			t.Errorf("%s: got error %v; want a *FileError with %q, and no response", content, err, want)
		}
	}
}

// TestFilesRoundTrip: values of each type are the same after they were in a file, with the columns of all rows.
func TestFilesRoundTrip(t *testing.T) {
	t.Parallel()
	s := filled(t, "source", append(unusualRows(), jsonRow("text", "lines", `"A":"a\r\nb\rc\nd","B":" a "`))...)
	from := tableOf(t, s, "source")
	for name, c := range map[string]struct {
		write func(context.Context, io.Writer, transfer.Source, *transfer.FileOptions) (int, error)
		read  func(func() (io.ReadCloser, error)) transfer.Source
	}{
		"CSV":  {transfer.WriteCSV, func(open func() (io.ReadCloser, error)) transfer.Source { return transfer.CSV(open, nil) }},
		"JSON": {transfer.WriteJSON, transfer.JSON},
	} {
		for _, all := range []bool{false, true} {
			var b bytes.Buffer
			n, err := c.write(t.Context(), &b, transfer.Of(from), &transfer.FileOptions{All: all})
			testkit.NoError(t, err)
			for d, err := range transfer.Compare(t.Context(), transfer.Of(from), c.read(text(b.String())), &transfer.CompareOptions{EntitiesOnly: !all}) {
				t.Errorf("%s, all %v: got %+v, %v; want no difference", name, all, d, err)
			}
			changed := s.Rows("source")[0].Timestamp.UTC().Format("2006-01-02T15:04:05.")
			if n == 0 || !strings.Contains(b.String(), changed) || strings.Contains(b.String(), "0001-01-01") {
				t.Errorf("%s: got\n%.2000s\nwant rows with the times of their last changes, such as %s", name, b.String(), changed)
			}
		}
		if _, err := c.write(t.Context(), nil, transfer.Of(from), nil); !errors.As(err, new(*table.ValueError)) {
			t.Errorf("%s to nil: got error %v, want a ValueError", name, err)
		}
		if _, err := c.write(t.Context(), io.Discard, nil, nil); !errors.As(err, new(*table.ValueError)) {
			t.Errorf("%s of nil: got error %v, want a ValueError", name, err)
		}
		full := errors.New("no space left on device")
		if _, err := c.write(t.Context(), writerFunc(func([]byte) (int, error) { return 0, full }), transfer.Of(from), nil); !errors.Is(err, full) {
			t.Errorf("%s to a full disk: got error %v, want %v", name, err, full)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestExportEntities: an export of entities alone leaves out derived rows, definitions and rows of the library, also when it goes on behind one of these.
func TestExportEntities(t *testing.T) {
	t.Parallel()
	var rows []string
	want := 0
	for p := range 3 {
		for i := range 900 {
			rows = append(rows, jsonRow(fmt.Sprint("p", p), fmt.Sprintf("a%04d", i), `"N":1`))
			want++
		}
		for i := range 1300 { // a page without an entity
			rows = append(rows, jsonRow(fmt.Sprint("p", p), fmt.Sprintf("b%04d", i), fmt.Sprintf(`"_sys":"a%04d","N":1`, i)))
		}
		rows = append(rows, jsonRow(fmt.Sprint("p", p), "~i|01J9ZZZZZZ0123456789ABCDEG", `"_v":1,"State":"done"`))
	}
	s := filled(t, "source", rows...)
	at := transfer.Folder(t.TempDir())
	report, err := transfer.Export(t.Context(), tableOf(t, s, "source"), at, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 3}, Entities: true, ChunkBytes: 1})
	testkit.NoError(t, err)
	if report.Rows != want || report.Counts["~i"]+report.Counts["~c"] > 0 {
		t.Errorf("got %+v; want %d rows, and none of the library", report, want)
	}
	for d, err := range transfer.Compare(t.Context(), transfer.Exported(at), transfer.Of(tableOf(t, s, "source")), &transfer.CompareOptions{EntitiesOnly: true}) {
		t.Fatalf("got %+v, %v; want no difference", d, err)
	}
	var bad *transfer.FileError
	if _, err := transfer.Export(t.Context(), tableOf(t, s, "source"), at, nil); !errors.As(err, &bad) {
		t.Errorf("export of all rows to the same place: got error %v, want a FileError", err)
	}
}

// TestClosedRange: the range of all keys of a layout contains its last one.
func TestClosedRange(t *testing.T) {
	t.Parallel()
	s := filled(t, "source", jsonRow("000000", "1", ""), jsonRow("500000", "1", ""), jsonRow("999999", "1", ""), jsonRow("x", "1", ""))
	numbers := keys.Partition(keys.Digits[int](6), func(n *struct{ N int }) *int { return &n.N })
	at := transfer.Folder(t.TempDir())
	report, err := transfer.Export(t.Context(), tableOf(t, s, "source"), at, &transfer.ExportOptions{Pass: table.Pass{Partitions: numbers.All()}})
	testkit.NoError(t, err)
	testkit.Expect(t, "rows", report.Rows, 3)
}

// TestThrough: with one range at a time, the report says which partitions are finished, also inside the range.
func TestThrough(t *testing.T) {
	t.Parallel()
	s := filled(t, "source", manyRows(10, 400)...)
	var through []string
	_, err := transfer.Export(t.Context(), tableOf(t, s, "source"), transfer.Folder(t.TempDir()), &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1, Progress: func(r table.Progress) {
		through = append(through, r.Through.PartitionKey())
	}}, ChunkBytes: 1})
	testkit.NoError(t, err)
	testkit.Expect(t, "finished partitions", fmt.Sprint(through), "[p0001 p0001 p0004 p0004 p0007 p0007 p0009]")

	_, err = transfer.Export(t.Context(), tableOf(t, s, "source"), &transfer.Memory{}, &transfer.ExportOptions{Pass: table.Pass{Progress: func(r table.Progress) {
		if r.Through != (keys.Key{}) {
			t.Errorf("several readers: got %v; want none", r.Through)
		}
	}}, ChunkBytes: 1})
	testkit.NoError(t, err)

	// Chunks that are a part of a partition: the one before is finished, and none if there is none.
	s = filled(t, "large", append(manyRows(1, 1000), manyRows(2, 2500)[2500:]...)...)
	var set []string
	_, err = transfer.Export(t.Context(), tableOf(t, s, "large"), transfer.Folder(t.TempDir()), &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1, Progress: func(r table.Progress) {
		text := "none"
		if r.Through != (keys.Key{}) {
			text = r.Through.PartitionKey()
		}
		set = append(set, text)
	}}, ChunkBytes: 1})
	testkit.NoError(t, err)
	testkit.Expect(t, "finished large partitions", fmt.Sprint(set), "[none p0000 p0000 p0000 p0001]")
}

// TestExportPart: machines share an export, a part each.
func TestExportPart(t *testing.T) {
	t.Parallel()
	s := filled(t, "source", manyRows(6, 500)...)
	from, at := tableOf(t, s, "source"), transfer.Folder(t.TempDir())
	for _, part := range []keys.PartitionRange{keys.RawPartitions("p0002", "p0004"), keys.RawPartitions("", "p0002")} {
		report, err := transfer.Export(t.Context(), from, at, &transfer.ExportOptions{Pass: table.Pass{Concurrency: 1}, Part: part})
		testkit.NoError(t, err)
		if report.Changed != 1000 || report.Through.PartitionKey() != map[string]string{"": "p0001", "p0002": "p0003"}[func() string { from, _, _ := part.Bounds(); return from }()] {
			t.Errorf("part %v: got %+v, want its 1000 rows", part, report)
		}
	}
	if _, err := importedRows(t, transfer.Exported(at)); !errors.Is(err, table.ErrIncomplete) {
		t.Errorf("import of two parts: got error %v, want ErrIncomplete", err)
	}
	report, err := transfer.Export(t.Context(), from, at, nil)
	testkit.NoError(t, err)
	if report.Changed != 1000 || report.Rows != 3000 {
		t.Errorf("the rest: got %+v, want 1000 of 3000 rows", report)
	}
	to := storagetest.New(nil)
	for _, source := range []transfer.Source{transfer.Exported(at), transfer.Of(from)} {
		for _, part := range []keys.PartitionRange{keys.RawPartitions("p0002", "p0004"), keys.RawPartitions("p0004", ""), keys.RawPartitions("", "p0002")} {
			imported, err := transfer.Import(t.Context(), source, tableOf(t, to, "target"), &transfer.ImportOptions{Pass: table.Pass{Partitions: part}})
			testkit.NoError(t, err)
			if imported.Rows != 1000 {
				t.Errorf("import of %v: got %+v, want 1000 rows", part, imported)
			}
		}
	}
	expectSame(t, s, "source", to, "target")
}
