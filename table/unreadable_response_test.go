package table_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// TestUnreadableResponses: a response of status 200 that is not the requested entity or a page is a *DecodeError of every
// method that reads. It is never taken for a missing row.
func TestUnreadableResponses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := &fakeTransport{}
	staff := newStaff(t, sdkClient(t, w))
	names, err := table.ViewOf[struct {
		Last string `table:"LastName"`
	}](staff)
	noError(t, err)
	types, err := table.NewMixed(staff)
	noError(t, err)
	k := employeeKey("Sales", 223)
	one := table.Query[employee]{Partition: dept.PartitionKey("Sales"), Rows: empid.RowKey(223).Point()}
	readers := map[string]func() error{
		"Get":         func() error { _, err := staff.Get(ctx, k); return err },
		"GetRow":      func() error { _, err := tabledoor.GetRow(ctx, staff, k); return err },
		"Update":      func() error { _, err := staff.Update(ctx, k, func(*employee) error { return nil }); return err },
		"Exists":      func() error { _, err := baretest.Exists(ctx, staff, k); return err },
		"Count":       func() error { _, err := staff.Count(ctx, one); return err },
		"Page":        func() error { _, err := staff.Page(ctx, one, ""); return err },
		"View.Get":    func() error { _, err := names.Get(ctx, k); return err },
		"Types.Get":   func() error { _, err := types.Get(ctx, k); return err },
		"DeleteQuery": func() error { _, err := table.BulkDelete(ctx, staff, one, nil); return err },
		"GetMany": func() (err error) {
			for _, err = range staff.GetMany(ctx, k) {
			}
			return err
		},
		"List": func() (err error) {
			for _, err = range staff.List(ctx, one) {
			}
			return err
		},
		"Rows": func() (err error) {
			for _, err = range staff.Rows(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
			}
			return err
		},
		"Partitions": func() (err error) {
			for _, err = range staff.Partitions(ctx, keys.PartitionRange{}) {
			}
			return err
		},
		"CommitRecords": func() error { _, err := baretest.SweepRecords(ctx, staff, dept.PartitionKey("Sales")); return err },
	}
	pages := "Exists Count Page View.Get DeleteQuery List Rows Partitions CommitRecords"
	for what, body := range map[string]string{
		"nothing":           ``,
		"an empty object":   `{}`,
		"an error":          `{"odata.error":{"code":"ResourceNotFound","message":{"lang":"en-US","value":"x"}}}`,
		"a proxy's object":  `{"message":"ok"}`,
		"a list":            `[]`,
		"null":              `null`,
		"no PartitionKey":   strings.Replace(employeeJSON, `"PartitionKey"`, `"X"`, 1),
		"no RowKey":         strings.Replace(employeeJSON, `"RowKey"`, `"X"`, 1),
		"null PartitionKey": strings.Replace(employeeJSON, `"PartitionKey":"Sales"`, `"PartitionKey":null`, 1),
		"null RowKey":       strings.Replace(employeeJSON, `"RowKey":"empid_000223"`, `"RowKey":null`, 1),
		"another row":       strings.Replace(employeeJSON, "000223", "000224", 1),
		"another partition": strings.Replace(employeeJSON, "Sales", "Law", 1),
	} {
		for name, read := range readers {
			bodies := []string{body}
			if strings.Contains(pages, name) {
				bodies = append(bodies, `{"value":[`+body+`]}`, `{"value":`+body+`}`)
				if strings.Contains("Count Page List Rows", name) { // these read several rows
					bodies = append(bodies, `{"value":[`+employeeJSON+","+body+`]}`)
				}
			} else {
				bodies = append(bodies, `{"value":[]}`, `{"value":[`+employeeJSON+`]}`)
			}
			for _, body := range bodies {
				if body == `{"value":[]}` && strings.Contains(pages, name) || strings.Contains(what, "another") && (name == "Rows" && what == "another row" || strings.Contains("Partitions CommitRecords", name)) && strings.HasPrefix(body, `{"value":[`) {
					continue // a valid response for these
				}
				w.respond = func(*http.Request, string) (*http.Response, error) { return jsonResponse(200, body, "ETag", etag), nil }
				var de *table.DecodeError
				if err := read(); !errors.As(err, &de) || errors.Is(err, table.ErrNotFound) {
					t.Errorf("%s of %s, %s: got %v; want a *DecodeError", name, what, body, err)
				}
			}
		}
	}
}

// TestTruncatedResponses: a truncated or invalid response is an error, never a partial result or a panic.
func TestTruncatedResponses(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	page := `{"odata.metadata":"x","value":[` + employeeJSON + `,` + strings.Replace(employeeJSON, "000223", "000224", 1) + `]}`
	w := &fakeTransport{}
	staff := newStaff(t, sdkClient(t, w))
	for cut := range len(employeeJSON) {
		w.respond = func(*http.Request, string) (*http.Response, error) { return jsonResponse(200, employeeJSON[:cut]), nil }
		if e, err := staff.Get(ctx, employeeKey("Sales", 223)); err == nil {
			t.Fatalf("Get, cut at %d: got %+v; want an error", cut, e)
		}
	}
	for cut := range len(page) {
		w.respond = func(*http.Request, string) (*http.Response, error) { return jsonResponse(200, page[:cut]), nil }
		var last error
		for _, last = range staff.List(ctx, table.Query[employee]{Partition: dept.PartitionKey("Sales")}) {
		}
		if last == nil {
			t.Fatalf("List, cut at %d: got no error; want one", cut)
		}
	}
	for _, bad := range []string{strings.Replace(employeeJSON, "44", `"old"`, 1), strings.Replace(employeeJSON, "44", "2147483648", 1), strings.Replace(employeeJSON, `"empid_000223"`, "5", 1)} {
		w.respond = func(*http.Request, string) (*http.Response, error) { return jsonResponse(200, bad, "ETag", etag), nil }
		var de *table.DecodeError
		if _, err := staff.Get(ctx, employeeKey("Sales", 223)); !errors.As(err, &de) || de.Field == "" {
			t.Errorf(`%s: got %v; want a *DecodeError and de.Field != ""`, bad, err)
		}
	}
}
