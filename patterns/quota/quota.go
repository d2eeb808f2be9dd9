// Package quota stores the files of customers, of whom each may have a number of files and of bytes.
package quota

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// File is stored by customer.
type File struct {
	Customer string
	Name     string
	Bytes    int64
}

// What a customer may have.
const (
	MostFiles = 3
	MostBytes = 10 << 20
)

var (
	customer = keys.Partition(keys.Text(), func(f *File) *string { return &f.Customer })
	name     = keys.Row(keys.Text().Named("file"), func(f *File) *string { return &f.Name })

	used = index.NewSummary("used", keys.Text(), func(*File) (string, bool) { return "all", true }, &index.SummaryOptions{Most: MostFiles},
		index.Measure[File]{Name: "Size", Of: func(f *File) (int64, bool) { return f.Bytes, true }, Most: MostBytes})
)

// Files are the files of all customers.
type Files struct {
	*aztablekit.Store
	Table *table.Table[File]
}

// Open declares the table of the files. Call Ensure of the result when the program starts.
func Open(acc aztablekit.Account, o *aztablekit.Options) *Files {
	s := aztablekit.Open(acc, "files", o)
	return &Files{s, aztablekit.Table(s, "files", customer, name, used)}
}

// Save stores a new file. It fails with an *index.FullError if the customer would have more than is allowed, also if several programs save at
// the same time, and with table.ErrExists if the file exists. 2 requests; 1 for a refusal of the quota.
func (f *Files) Save(ctx context.Context, file File) error {
	_, err := f.Table.Insert(ctx, &file)
	return err
}

// Delete deletes a file. 3 requests.
func (f *Files) Delete(ctx context.Context, of, file string) error {
	return f.Table.DeleteAny(ctx, keys.At(customer.Of(of), name.Of(file)))
}

// Used returns how many files a customer has, and how many bytes. 1 request.
func (f *Files) Used(ctx context.Context, of string) (files, bytes int64, err error) {
	g, err := used.Get(ctx, f.Table, customer.Of(of), "all")
	if err != nil {
		return 0, 0, err
	}
	return g.Count, g.Measures["Size"].Sum, nil
}

// IsFull reports whether Save has refused a file because of the quota.
func IsFull(err error) bool { return errors.As(err, new(*index.FullError)) }
