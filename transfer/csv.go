package transfer

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// CSVOptions are the options of [CSV]. The zero value reads the files that WriteCSV and Storage
// Explorer write.
type CSVOptions struct {
	// Comma is the character between fields. Defaults to a comma.
	Comma rune

	// Types are the types of columns without a column of types, by their names, such as Edm.Int32.
	// A column that has neither is text: a code such as 007 stays one.
	Types map[string]string

	// Columns are the names of the properties, by the names of columns: for columns with other
	// names, and "" for columns to leave out.
	Columns map[string]string
}

// typeSuffix ends the name of a column with the types of another one.
const typeSuffix = "@type"

// CSV returns the rows of a CSV file, whose first line has the names of the columns: PartitionKey,
// RowKey, and the properties. open opens the file, each time that it is read. o may be nil.
//
//	from := transfer.CSV(func() (io.ReadCloser, error) { return os.Open("staff.csv") }, nil)
//	report, err := transfer.ImportEntities(ctx, from, staff, nil)
//
// A column such as Age@type has the types of the column Age, for each line: Edm.Int32, or Int32.
// Where it is empty, the type is that of the line before, or that of CSVOptions.Types. An empty
// field is no property, unless its own type says that it is a text. A column Timestamp is read for
// Mode Newer.
//
// The order of the lines does not matter to an import, which takes the fewest requests if they are
// sorted by PartitionKey and RowKey; of two lines with one key, either is stored. Compare needs the
// order of the keys.
//
// Errors of the functions that read it: those of open and of reading; *FileError; *table.ValueError
// for wrong options.
func CSV(open func() (io.ReadCloser, error), o *CSVOptions) Source {
	if o == nil {
		o = &CSVOptions{}
	}
	return file{open, func(r io.Reader) iter.Seq2[*row, error] { return csvRows(r, *o) }}
}

// file is a source that is read from a file.
type file struct {
	opens func() (io.ReadCloser, error)
	read  func(io.Reader) iter.Seq2[*row, error]
}

func (s file) open(context.Context) (rowSource, error) {
	if s.opens == nil {
		return nil, &table.ValueError{Field: "open", Reason: "is nil; give a function that opens the file"}
	}
	return s, nil
}

func (s file) catalogue(context.Context) (*row, error) { return nil, nil }

func (s file) parts(ctx context.Context, in span) iter.Seq[iter.Seq2[*row, error]] {
	return inParts(s.rows(ctx, in), 10_000)
}

func (s file) rows(ctx context.Context, in span) iter.Seq2[*row, error] {
	return func(yield func(*row, error) bool) {
		r, err := s.opens()
		if err != nil {
			yield(nil, err)
			return
		}
		defer r.Close()
		for row, err := range s.read(bufio.NewReaderSize(r, 64<<10)) {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && !in.contains(row.place()) {
				continue
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// csvColumn is a column of a CSV file.
type csvColumn struct {
	header, name string
	types        int      // the column with its types, -1 for none
	kind         edm.Kind // of the line before
}

// csvTable is the head of a CSV file.
type csvTable struct {
	pk, rk, timestamp int
	properties        []csvColumn
	at                []int // the number in a line of each property
}

func csvRows(r io.Reader, o CSVOptions) iter.Seq2[*row, error] {
	return func(yield func(*row, error) bool) {
		in := &csvReader{in: bufio.NewReader(r), comma: cmp.Or(o.Comma, ',')}
		fail := func(err error) { yield(nil, err) }
		if strings.ContainsRune("\"\r\n\ufffd", in.comma) {
			fail(&table.ValueError{Field: "CSVOptions.Comma", Reason: fmt.Sprintf("is %q, which has another meaning in CSV", in.comma)})
			return
		}
		names, err := in.read()
		if err == io.EOF {
			err = &FileError{Line: 1, Reason: "is missing: it has the names of the columns"}
		}
		if err != nil {
			fail(err)
			return
		}
		head, err := csvHead(slices.Clone(names), o)
		if err != nil {
			fail(err)
			return
		}
		for {
			fields, err := in.read()
			if err == io.EOF {
				return
			}
			if err != nil {
				fail(err)
				return
			}
			one, err := head.row(fields, in.line)
			if err != nil {
				fail(err)
				return
			}
			if !yield(one, nil) {
				return
			}
		}
	}
}

// csvHead reads the first line.
func csvHead(names []string, o CSVOptions) (*csvTable, error) {
	h := &csvHeader{names: names, options: o, seen: map[string]int{}, types: map[string]int{}, used: map[string]bool{}}
	h.table = &csvTable{pk: -1, rk: -1, timestamp: -1}
	if err := h.index(); err != nil {
		return nil, err
	}
	for i, header := range names {
		if h.isOfTypes(header) {
			continue
		}
		if err := h.add(i, header); err != nil {
			return nil, err
		}
	}
	if err := h.checkOptions(); err != nil {
		return nil, err
	}
	if h.table.pk < 0 || h.table.rk < 0 {
		return nil, &FileError{Line: 1, Reason: "has no columns PartitionKey and RowKey; see CSVOptions.Columns for other names"}
	}
	return h.table, nil
}

// csvHeader is a first line that is read.
type csvHeader struct {
	names   []string
	options CSVOptions
	table   *csvTable
	seen    map[string]int  // the columns by their headers
	types   map[string]int  // the columns of types, by the headers of the columns that they are of
	used    map[string]bool // the names of properties
}

// index finds the columns, and which of them have the types of others.
func (h *csvHeader) index() error {
	for i, name := range h.names {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")) // of spreadsheets
		h.names[i] = name
		if has(h.seen, name) {
			return &FileError{Line: 1, Column: name, Reason: "is there twice"}
		}
		h.seen[name] = i
	}
	for i, header := range h.names {
		if !h.isOfTypes(header) {
			continue
		}
		of := ofTypes(header)
		if has(h.types, of) {
			return &FileError{Line: 1, Column: header, Reason: "is a second column of types of " + of}
		}
		h.types[of] = i
	}
	return nil
}

// ofTypes returns the header of the column of which a column may have the types.
func ofTypes(header string) string { return strings.TrimSpace(strings.TrimSuffix(header, typeSuffix)) }

// isOfTypes reports whether a column has the types of another one.
func (h *csvHeader) isOfTypes(header string) bool {
	return strings.HasSuffix(header, typeSuffix) && has(h.seen, ofTypes(header))
}

// add adds a column of values.
func (h *csvHeader) add(i int, header string) error {
	name, mapped := h.options.Columns[header]
	switch {
	case !mapped && header == "":
		return &FileError{Line: 1, Column: header, Reason: "has no name; leave it out by CSVOptions.Columns"}
	case !mapped:
		name = header
	case name == "": // it is left out
		return nil
	}
	if h.used[name] {
		return &FileError{Line: 1, Column: header, Reason: "is a second column of " + name}
	}
	h.used[name] = true
	switch name {
	case edm.PartitionKey:
		h.table.pk = i
	case edm.RowKey:
		h.table.rk = i
	case edm.Timestamp:
		h.table.timestamp = i
	default:
		return h.addProperty(i, header, name)
	}
	return nil
}

// addProperty adds a column of a property.
func (h *csvHeader) addProperty(i int, header, name string) error {
	if err := edm.CheckName(name); err != nil && !edm.IsSystem(name) {
		return &FileError{Line: 1, Column: header, Reason: "is no name of a property: " + err.Error()}
	}
	c := csvColumn{header: header, name: name, types: -1, kind: edm.String}
	if at, is := h.types[header]; is {
		c.types = at
	}
	if typ, is := h.options.Types[header]; is {
		c.kind = edm.KindNamed(typ)
		if c.kind == edm.Absent {
			return &table.ValueError{Field: "CSVOptions.Types", Reason: fmt.Sprintf("has the type %q for column %s; use one such as Edm.Int32", typ, header)}
		}
	}
	h.table.properties, h.table.at = append(h.table.properties, c), append(h.table.at, i)
	return nil
}

// checkOptions returns an error for options that name columns which the file does not have.
func (h *csvHeader) checkOptions() error {
	for _, named := range []struct {
		field   string
		columns map[string]string
	}{{"Types", h.options.Types}, {"Columns", h.options.Columns}} {
		for header := range named.columns {
			if !has(h.seen, header) {
				return &table.ValueError{Field: "CSVOptions." + named.field, Reason: fmt.Sprintf("names the column %q, which the file does not have", header)}
			}
		}
	}
	return nil
}

func has(columns map[string]int, name string) bool {
	_, is := columns[name]
	return is
}

// row reads a line.
func (h *csvTable) row(fields []string, line int) (*row, error) {
	fail := func(column, reason string) (*row, error) {
		return nil, &FileError{Line: line, Column: column, Reason: reason}
	}
	r := &row{key: keys.Raw(fields[h.pk], fields[h.rk])}
	if h.timestamp >= 0 && fields[h.timestamp] != "" {
		t, ok := edm.ParseTime([]byte(fields[h.timestamp]))
		if !ok {
			return fail(edm.Timestamp, "is no time such as 2026-01-02T03:04:05Z")
		}
		r.timestamp = t
	}
	for i := range h.properties {
		c := &h.properties[i]
		text, own := fields[h.at[i]], ""
		if c.types >= 0 {
			own = strings.TrimSpace(fields[c.types])
		}
		if own != "" {
			c.kind = edm.KindNamed(own)
			if c.kind == edm.Absent {
				return fail(c.header+typeSuffix, fmt.Sprintf("has %q, which is no type; use one such as Edm.Int32", own))
			}
		}
		if text == "" && (own == "" || c.kind != edm.String && c.kind != edm.Binary) {
			continue
		}
		v, ok := edm.ParsePlain(c.kind, text)
		if !ok {
			return fail(c.header, fmt.Sprintf("has %.40q, which is no %v", text, c.kind))
		}
		r.columns = append(r.columns, edm.Column{Name: c.name, Value: v})
	}
	return r, nil
}

// FileOptions are the options of [WriteCSV] and [WriteJSON]. The zero value writes the entities.
type FileOptions struct {
	// All writes all rows as they are stored: derived rows, and the rows and properties of the
	// library, too.
	All bool
}

// WriteCSV writes the entities of a source as CSV, with a column for each property that any of them
// has, and a column of types behind it, as Storage Explorer reads it. It returns how many. The
// source is read twice: the first time for the names. A wide entity is one line. o may be nil.
//
// Errors: those of the source, and of w. Requests: those of the source, twice.
func WriteCSV(ctx context.Context, w io.Writer, from Source, o *FileOptions) (n int, err error) {
	if err := checkFile(w, from); err != nil {
		return 0, fmt.Errorf("transfer: WriteCSV: %w", err)
	}
	ctx = engine.Enduring(ctx)
	var names []string
	at := map[string]int{}
	for r, err := range rowsToWrite(ctx, from, o) {
		if err != nil {
			return 0, fmt.Errorf("transfer: WriteCSV: %w", err)
		}
		for _, c := range r.columns {
			if _, is := at[c.Name]; !is {
				at[c.Name] = len(names)
				names = append(names, c.Name)
			}
		}
	}
	out := csv.NewWriter(w)
	fields := []string{edm.PartitionKey, edm.RowKey, edm.Timestamp}
	for _, name := range names {
		fields = append(fields, name, name+typeSuffix)
	}
	if err := out.Write(fields); err != nil {
		return 0, fmt.Errorf("transfer: WriteCSV: %w", err)
	}
	for r, err := range rowsToWrite(ctx, from, o) {
		if err != nil {
			return n, fmt.Errorf("transfer: WriteCSV: %w", err)
		}
		clear(fields)
		fields[0], fields[1] = r.key.PartitionKey(), r.key.RowKey()
		if !r.timestamp.IsZero() { // else it is not known
			fields[2] = r.timestamp.UTC().Format("2006-01-02T15:04:05.9999999Z")
		}
		for _, c := range r.columns {
			i, is := at[c.Name]
			if !is { // the row has changed since the names were read
				return n, fmt.Errorf("transfer: WriteCSV: row %v has got the property %s meanwhile; begin again", r.key, c.Name)
			}
			fields[3+2*i], fields[4+2*i] = edm.Plain(c.Value), c.Value.Kind.String()
		}
		if err := out.Write(fields); err != nil {
			return n, fmt.Errorf("transfer: WriteCSV: %w", err)
		}
		n++
	}
	out.Flush()
	return n, out.Error()
}

// WriteJSON writes the entities of a source as lines of JSON, as the service has them, with the
// types of their properties. It returns how many. A wide entity of more than 1 MiB cannot be
// written; with All, its parts are. o may be nil. Errors: those of the source, and of w. Requests:
// those of the source.
func WriteJSON(ctx context.Context, w io.Writer, from Source, o *FileOptions) (n int, err error) {
	if err := checkFile(w, from); err != nil {
		return 0, fmt.Errorf("transfer: WriteJSON: %w", err)
	}
	ctx = engine.Enduring(ctx)
	out := bufio.NewWriter(w)
	var line []byte
	for r, err := range rowsToWrite(ctx, from, o) {
		if err == nil {
			if line, err = r.line(line[:0]); err != nil {
				err = fmt.Errorf("row %v: %w", r.key, err)
			}
		}
		if err == nil {
			_, err = out.Write(line)
		}
		if err != nil {
			return n, fmt.Errorf("transfer: WriteJSON: %w", err)
		}
		n++
	}
	return n, out.Flush()
}

func checkFile(w io.Writer, from Source) error {
	if w == nil {
		return &table.ValueError{Field: "w", Reason: "is nil; give a file"}
	}
	if from == nil {
		return errNilSource("from")
	}
	return nil
}

// rowsToWrite yields the rows to write: entities with their parts, or all as they are.
func rowsToWrite(ctx context.Context, from Source, o *FileOptions) iter.Seq2[*row, error] {
	if o != nil && o.All {
		return rowsOf(ctx, from)
	}
	return func(yield func(*row, error) bool) {
		for s, err := range joinedEntities(ctx, from, isEntity) {
			if err != nil {
				yield(nil, err)
				return
			}
			columns := slices.DeleteFunc(slices.Clone(s.Columns()), func(c edm.Column) bool { return edm.IsSystem(c.Name) || c.Value.Kind == edm.Absent })
			if !yield(&row{s.Key, s.Timestamp, columns}, nil) {
				return
			}
		}
	}
}
