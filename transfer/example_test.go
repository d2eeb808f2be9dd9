package transfer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// exampleStaff returns a table of some people with an index, in an account of its own.
func exampleStaff() (*storagetest.Service, *table.Table[person]) {
	acc := storagetest.New(nil)
	company := aztablekit.Open(acc, "company", nil)
	byCity := index.New("city", keys.Text(), func(p *person) (string, bool) { return p.City, true }, nil)
	staff := aztablekit.Table(company, "staff", team, personID, byCity)
	check(company.Ensure(context.Background()))
	for i, city := range []string{"Oslo", "Rome", "Oslo"} {
		_, err := staff.Insert(context.Background(), &person{Team: "Sales", ID: i, City: city})
		check(err)
	}
	return acc, staff
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A table is exported, loses a row, and has it again.
func Example() {
	ctx := context.Background()
	_, staff := exampleStaff()
	dir, err := os.MkdirTemp("", "backup")
	check(err)
	defer os.RemoveAll(dir)
	at := transfer.Folder(dir)

	report, err := transfer.Export(ctx, staff, at, nil)
	check(err)
	fmt.Println("exported:", report.Rows, "rows") // 3 entities, 3 rows of the index, and the definitions

	e, err := staff.Get(ctx, keys.At(team.Of("Sales"), personID.Of(1)))
	check(err)
	check(staff.Delete(ctx, e))
	for d, err := range transfer.Compare(ctx, transfer.Exported(at), transfer.Of(staff), nil) {
		check(err)
		fmt.Println(d.Kind, d.Key.RowKey())
	}

	imported, err := transfer.Import(ctx, transfer.Exported(at), staff, nil)
	check(err)
	fmt.Println("stored:", imported.Changed, "the same:", imported.Counts["same"])
	// Output:
	// exported: 7 rows
	// only in the first 000001
	// only in the first city_Rome_000001
	// stored: 2 the same: 5
}

// Copy stores the rows of a table in another account.
func ExampleCopy() {
	ctx := context.Background()
	_, staff := exampleStaff()
	other := aztablekit.Open(storagetest.New(nil), "company", nil)
	copied := aztablekit.Table(other, "staff", team, personID)
	report, err := transfer.Copy(ctx, staff, copied, nil)
	check(err)
	fmt.Println(report.Changed)
	// Output: 7
}

// Export shows how far it is.
func ExampleExport() {
	ctx := context.Background()
	_, staff := exampleStaff()
	dir, err := os.MkdirTemp("", "backup")
	check(err)
	defer os.RemoveAll(dir)
	report, err := transfer.Export(ctx, staff, transfer.Folder(dir), &transfer.ExportOptions{Pass: table.Pass{Partitions: team.Of("Sales").Point(), Progress: func(r table.Progress) { fmt.Println("so far:", r.Counts["chunks"], "chunk,", r.Rows, "rows") }}})
	check(err)
	fmt.Println("effects that are due:", report.Counts["pending"])
	// Output:
	// so far: 1 chunk, 6 rows
	// effects that are due: 0
}

// The blobs of large values go to a folder beside the export. Other tables have none.
func ExampleCopyBlobs() {
	ctx := context.Background()
	acc, staff := exampleStaff()
	dir, err := os.MkdirTemp("", "backup")
	check(err)
	defer os.RemoveAll(dir)
	at := transfer.Folder(dir)
	_, err = transfer.Export(ctx, staff, at, nil)
	check(err)
	photos := transfer.Container(acc.Blobs().NewContainerClient("photos"), "", nil)
	report, err := transfer.CopyBlobs(ctx, transfer.Exported(at), photos, at, nil)
	check(err)
	fmt.Println(report.Changed, "copied,", report.Faults, "lost")
	// Output: 0 copied, 0 lost
}

// An export of a table with snapshots counts the partitions that were written while they were read.
func ExampleSnapshots() {
	ctx := context.Background()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	staff := aztablekit.Table(company, "staff", team, personID, transfer.Snapshots[person]("snapshots"))
	check(company.Ensure(ctx))
	_, err := staff.Insert(ctx, &person{Team: "Sales", ID: 1})
	check(err)
	dir, err := os.MkdirTemp("", "backup")
	check(err)
	defer os.RemoveAll(dir)
	report, err := transfer.Export(ctx, staff, transfer.Folder(dir), nil)
	check(err)
	fmt.Println(report.Counts["snapshots"], report.Counts["torn"])
	// Output: 1 0
}

// Import leaves rows as they are that are stored already, and tells which differ.
func ExampleImport() {
	ctx := context.Background()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	was := aztablekit.Table(company, "staffbefore", team, personID)
	is := aztablekit.Table(company, "staff", team, personID)
	check(company.Ensure(ctx))
	for id, city := range []string{"Oslo", "Rome"} {
		_, err := was.Insert(ctx, &person{Team: "Sales", ID: id, City: city})
		check(err)
	}
	_, err := is.Insert(ctx, &person{Team: "Sales", ID: 0, City: "Bergen"})
	check(err)
	report, err := transfer.Import(ctx, transfer.Of(was), is, &transfer.ImportOptions{Kept: func(k keys.Key) { fmt.Println("kept:", k.RowKey()) }})
	check(err)
	fmt.Println("stored:", report.Changed)
	// Output:
	// kept: 000000
	// stored: 1
}

// Compare finds what a program has changed since an export.
func ExampleCompare() {
	ctx := context.Background()
	_, first := exampleStaff()
	_, second := exampleStaff()
	_, err := second.Insert(ctx, &person{Team: "Sales", ID: 7, City: "Oslo"})
	check(err)
	for d, err := range transfer.Compare(ctx, transfer.Of(first), transfer.Of(second), &transfer.CompareOptions{EntitiesOnly: true}) {
		check(err)
		fmt.Println(d.Kind, d.Key.RowKey())
	}
	// Output: only in the second 000007
}

// ImportEntities stores the entities of a table under a store's definitions, whatever definitions the table had.
func ExampleImportEntities() {
	ctx := context.Background()
	_, staff := exampleStaff()
	company := aztablekit.Open(storagetest.New(nil), "company", nil)
	byTeam := index.NewSummary("teams", keys.Text(), func(p *person) (string, bool) { return p.City, true }, nil)
	people := aztablekit.Table(company, "people", team, personID, byTeam)
	check(company.Ensure(ctx))
	report, err := transfer.ImportEntities(ctx, transfer.Of(staff), people, nil)
	check(err)
	fmt.Println(report.Rows, report.Changed)
	for g, err := range byTeam.All(ctx, people, team.Of("Sales")) {
		check(err)
		fmt.Println(g.Value, g.Count)
	}
	// Output:
	// 3 3
	// Oslo 2
	// Rome 1
}

// A file of Storage Explorer, or of a spreadsheet, becomes entities with all that follows from them.
func ExampleCSV() {
	ctx := context.Background()
	_, staff := exampleStaff()
	file := "PartitionKey,RowKey,City,City@type\nSales,000901,Oslo,Edm.String\n"
	from := transfer.CSV(func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(file)), nil }, nil)
	report, err := transfer.ImportEntities(ctx, from, staff, nil)
	fmt.Println(report.Changed, err)
	// Output: 1 <nil>
}

// A table as a file that spreadsheets read, and as lines of JSON.
func ExampleWriteCSV() {
	ctx := context.Background()
	_, staff := exampleStaff()
	n, err := transfer.WriteCSV(ctx, io.Discard, transfer.Of(staff), nil)
	fmt.Println(n, err)
	var lines bytes.Buffer
	n, err = transfer.WriteJSON(ctx, &lines, transfer.Of(staff), nil)
	fmt.Println(n, err)
	again := transfer.JSON(func() (io.ReadCloser, error) { return io.NopCloser(&lines), nil })
	for d, err := range transfer.Compare(ctx, again, transfer.Of(staff), &transfer.CompareOptions{EntitiesOnly: true}) {
		fmt.Println(d, err) // none
	}
	// Output:
	// 3 <nil>
	// 3 <nil>
}
