package transfer_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// hookedTable is tableOf with a function before each request.
func hookedTable(t *testing.T, s *storagetest.Service, name string, before func(*http.Request)) *table.Table[table.Row] {
	t.Helper()
	acc, err := account.FromTransport(&testkit.Hooked{Service: s, BeforeRequest: before, Serial: true}, nil)
	testkit.NoError(t, err)
	rows, err := bare.NewTable(acc.Tables(), name, table.Schema[table.Row]{}, nil)
	testkit.NoError(t, err)
	return rows
}

// TestTransactionsFit: no transaction of an import is larger than the service takes, 4 MiB, however
// large the next row is.
func TestTransactionsFit(t *testing.T) {
	t.Parallel()
	row := func(rk string, properties int) string {
		var all []string
		for i := range properties {
			all = append(all, fmt.Sprintf(`"B%d":%q,"B%d@odata.type":"Edm.Binary"`, i, base64.StdEncoding.EncodeToString(make([]byte, 64<<10)), i))
		}
		return jsonRow("p", rk, strings.Join(all, ","))
	}
	file := transfer.JSON(text(strings.Join([]string{row("1", 15), row("2", 15), row("3", 5), row("4", 15), row("5", 15)}, "\n")))
	largest := int64(0)
	s := storagetest.New(nil)
	to := hookedTable(t, s, "target", func(r *http.Request) { largest = max(largest, r.ContentLength) })
	report, err := transfer.Import(t.Context(), file, to, nil)
	testkit.NoError(t, err)
	testkit.Expect(t, "report", report, table.Progress{Rows: 5, Changed: 5})
	if largest > 4<<20 || largest < 2<<20 {
		t.Errorf("got a request of %d bytes; want none of more than 4 MiB, and some of 2", largest)
	}
}

// TestNewerBeside: Import by Newer replaces the row that it has looked at and no later one, and no
// row of the same time.
func TestNewerBeside(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		theirs time.Duration // the time of the row of the file, behind that of the stored row
		beside bool          // a program writes between the look and the replace
		want   table.Progress
		n      int32
	}{
		"a later row":                {time.Minute, false, table.Progress{Rows: 1, Changed: 1}, 2},
		"a row of the same time":     {0, false, table.Progress{Rows: 1, Counts: map[string]int{"kept": 1}}, 1},
		"an earlier row":             {-time.Minute, false, table.Progress{Rows: 1, Counts: map[string]int{"kept": 1}}, 1},
		"a later row, and a program": {time.Minute, true, table.Progress{Rows: 1, Counts: map[string]int{"kept": 1}}, 3},
	} {
		now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
		s := storagetest.New(&storagetest.Options{Now: func() time.Time { return now }})
		fill(t, s, "staff", jsonRow("p", "1", `"N":1`))
		writes := 0
		to := hookedTable(t, s, "staff", func(r *http.Request) {
			if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "$batch") {
				return
			}
			if writes++; writes == 2 && c.beside { // the first one has inserted
				now = now.Add(time.Hour)
				_, err := s.Tables().NewClient("staff").UpsertEntity(t.Context(), []byte(jsonRow("p", "1", `"N":3`)), &aztables.UpsertEntityOptions{UpdateMode: aztables.UpdateModeReplace})
				testkit.NoError(t, err)
			}
		})
		at := now.Add(c.theirs).Format("2006-01-02T15:04:05.0000000Z")
		file := transfer.JSON(text(jsonRow("p", "1", `"N":2,"Timestamp":"`+at+`"`)))
		report, err := transfer.Import(t.Context(), file, to, &transfer.ImportOptions{Mode: transfer.Newer})
		testkit.NoError(t, err)
		testkit.Expect(t, name, report, c.want)
		if n := s.Rows("staff")[0].Get("N"); n != c.n || writes < 1 {
			t.Errorf("%s: got N %v after %d transactions, want %d", name, n, writes, c.n)
		}
	}
}

// TestImportThroughGrant: a client with a signature for a range does not see the definitions of the
// table, so it imports nothing.
func TestImportThroughGrant(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	o := openOffice(s)
	testkit.NoError(t, o.Ensure(t.Context()))
	options := &account.Options{Client: azcore.ClientOptions{Transport: s}}
	acc, err := account.FromConnectionString(s.ConnectionString(), options)
	testkit.NoError(t, err)
	url, err := acc.TableSAS(account.Grant{Table: "staff", Partitions: keys.RawPartitions("a", "c"), Read: true, Add: true, Update: true, Expiry: s.Now().Add(time.Hour), AllowHTTP: true})
	testkit.NoError(t, err)
	granted, err := account.FromSAS(account.Endpoints{Table: url}, options)
	testkit.NoError(t, err)
	to, err := bare.NewTable(granted.Tables(), "staff", table.Schema[table.Row]{}, nil)
	testkit.NoError(t, err)
	before := len(s.Rows("staff"))
	_, err = transfer.Import(t.Context(), transfer.JSON(text(jsonRow("b", "1", `"N":1`))), to, nil)
	if !errors.Is(err, table.ErrRanged) || len(s.Rows("staff")) != before {
		t.Errorf("got error %v and %d rows; want ErrRanged and %d", err, len(s.Rows("staff")), before)
	}
	if report, err := transfer.Export(t.Context(), to, &transfer.Memory{}, nil); !errors.Is(err, table.ErrRanged) {
		t.Errorf("export: got %+v, %v; want ErrRanged", report, err)
	}
	if report, err := transfer.Copy(t.Context(), to, tableOf(t, storagetest.New(nil), "other"), nil); !errors.Is(err, table.ErrRanged) {
		t.Errorf("copy: got %+v, %v; want ErrRanged", report, err)
	}
}
