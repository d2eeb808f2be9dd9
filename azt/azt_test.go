package azt_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/table"
)

// want runs azt, and fails unless the exit code and the texts are as they should be. Texts with a ! in front must not be there.
func (s *shell) want(code int, args string, texts ...string) (out string) {
	s.t.Helper()
	out, errs, got := s.run(fields(args)...)
	if got != code {
		s.t.Errorf("azt %s: got exit code %d, want %d:\n%s%s", args, got, code, out, errs)
	}
	for _, text := range texts {
		missing, is := strings.CutPrefix(text, "!")
		if strings.Contains(out+errs, missing) == is {
			s.t.Errorf("azt %s: got\n%s%s\nwant a text with %q", args, out, errs, text)
		}
	}
	return out
}

// fields splits a command line at spaces, but not within single quotes.
func fields(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// TestUsage: a wrong command line says what is wrong, and nothing is sent.
func TestUsage(t *testing.T) {
	t.Parallel()
	s := newShell(t, 2)
	s.service.Count() // from now on
	for args, want := range map[string]string{
		"frob": "no command frob", "--json ls": "comes first", "get staff": "PARTITIONKEY", "get staff a b c": "c is one argument too many", "ls --frob": "-frob",
		"query staff": "--scan", "query staff --partition": "-partition", "query st --partition x --prefix y --rows-to z": "--prefix", "export staff backup": "./backup",
		"export staff blob:/x --write": "container", "import ./x other": "--write", "import staff ./x --write": "no table", "copy ./x other --write": "azt import", "import ./x other --mode z --write": "--mode z",
		"poison bury company": "list, replay or drop", "jobs staff stop": "cancel KIND NAME", "cost staff": "--prices", `get staff '"a' b`: "quote", "ls --account X --connection Y": "two accounts",
		"ls --connection AZT_UNSET": "AZT_UNSET is not set", "ls --connection AccountName=x;AccountKey=SECRET": "!SECRET", "query staff --from '' --to ''": "--scan", "query staff --scan --limit -1": "negative", "hot staff --top 0": "at least 1", "verify --write": "--repair",
		"pending staff --write": "--notify", "pending staff --notify company --explain --write": "--explain", "query staff --scan --where 'Age >= 30 and Name = Ann'": "double quotes", "query staff --scan --where 'Age => 30'": "double quotes", "export staff ./x --all": "--entities",
		"cost staff no-table --prices testdata/prices.json": "no-table", "ls --account UPPER": "no name of a storage account", "query no-table --scan": "no-table", "get staff '' ''": "no row \"\" \"\"",
	} {
		code := 2
		if strings.HasPrefix(args, "get staff ''") {
			code = 1
		}
		s.want(code, args, want)
	}
	if n := s.service.Count().Total(); n != 1 {
		t.Errorf("got %d requests, want only that of get", n)
	}
	for _, help := range []string{"", "help", "-h", "--help", "help query", "query -h", "query --help"} {
		s.want(0, help, "usage: azt")
	}
}

// TestReadsOnly: without --write, no command changes anything.
func TestReadsOnly(t *testing.T) {
	t.Parallel()
	s := newShell(t, 4)
	s.trouble()
	state := func() string {
		var b strings.Builder
		for _, name := range s.service.TableNames() {
			fmt.Fprintln(&b, name, s.service.Rows(name))
		}
		for _, name := range s.service.QueueNames() {
			fmt.Fprintln(&b, name, len(s.service.Messages(name)))
		}
		return b.String()
	}
	before, dir := state(), t.TempDir()
	for _, args := range []string{"poison list company", "poison replay company", "poison drop company", "pending staff", "pending staff --notify company", "jobs staff", "jobs staff cancel raise 2027",
		"export staff " + dir + "/x", "export staff blob:backup/x", "import " + dir + "/x other", "copy staff other", "compare staff staffemail", "verify", "verify --repair", "fill", "fill --dry-run", "retire staff name", "sweep",
		"doctor --store company", "ls", "describe", "query staff --scan", "count staff --scan", "hot staff", "get staff Sales empid_000000"} {
		s.want(map[string]int{"compare staff staffemail": 3, "verify": 3, "doctor --store company": 3}[args]|writes(args), args)
		if after := state(); after != before {
			t.Fatalf("azt %s: got the state\n%s\nwant as before\n%s", args, after, before)
		}
	}
}

// writes returns the exit code of a command without --write, 0 if it only reads.
func writes(args string) int {
	for _, w := range []string{"poison replay", "poison drop", "--notify", "jobs staff cancel", "export staff blob:", "import", "copy", "verify --repair", "retire", "sweep"} {
		if strings.Contains(args, w) {
			return 2
		}
	}
	if args == "fill" {
		return 2
	}
	return 0
}

// TestRequests: what each command that reads costs.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := newShell(t, 6)
	for args, want := range map[string]int{
		"ls": 1, "get staff Sales empid_000002": 1, "query staff --partition Sales": 1, "query staff --partition Sales --all": 1, "query staff --partition Sales --where Age>3": 1, "query staff --scan --explain": 0,
		"count staff --partition Sales": 1, "count staff --scan": 1, "hot staff": 1, "hot staff --explain": 0, "describe staff": 1, "describe": 5, "cost staff --prices testdata/prices.json": 1, "pending staff": 1, "pending staff --partition Sales": 1, "jobs staff": 1,
		"compare staff staff": 2, "doctor": 8, "doctor --store company": 10, "copy staff other": 0, "poison list company": 1,
	} {
		s.service.Count() // from now on
		s.want(writes(args), args)
		if got := s.service.Count().Total(); got != want {
			t.Errorf("azt %s: got %d requests, want %d", args, got, want)
		}
	}
}

// TestInterrupted: an interrupt ends a command with its own exit code.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := newShell(t, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs strings.Builder
	if code := s.program.Run(ctx, []string{"count", "staff", "--scan"}, io.Discard, &errs); code != 4 || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("got exit code %d and %q, want 4", code, errs.String())
	}
}

// TestJSON: with --json, each line of an answer is an object, and rows are as the service has them.
func TestJSON(t *testing.T) {
	t.Parallel()
	s := newShell(t, 4)
	s.trouble()
	for _, args := range []string{"ls", "get staff Sales empid_000002", "query staff --scan --all", "query staff --scan --explain", "count staff --scan", "hot staff", "describe", "poison list company", "pending staff", "jobs staff",
		"compare staff staffemail", "verify", "doctor --store company", "export staff " + t.TempDir(), "copy staff other --write", "pending staff --notify company --write", "poison drop company --all --write"} {
		out, _, code := s.run(append(fields(args), "--json", "--quiet")...)
		lines := 0
		for line := range strings.Lines(out) {
			lines++
			var object map[string]any
			if err := json.Unmarshal([]byte(line), &object); err != nil || len(object) == 0 {
				t.Errorf("azt %s: got the line %s, %v; want a JSON object", args, line, err)
			}
		}
		if lines == 0 || code != 0 && code != 3 {
			t.Errorf("azt %s: got %d lines and exit code %d", args, lines, code)
		}
	}
	var got struct {
		What string
		Row  map[string]any
	}
	testkit.NoError(t, json.Unmarshal([]byte(s.want(0, "get staff Sales empid_000002 --json")), &got))
	if got.What != "entity empid" || got.Row["Salary"] != "1152921504606846976" || got.Row["Salary@odata.type"] != "Edm.Int64" {
		t.Errorf("got %+v; want the entity with a whole Int64", got)
	}
}

// TestValues: values of each type are shown whole: numbers to the last digit, times to 100 ns, special numbers by name. Columns are those of all rows.
func TestValues(t *testing.T) {
	t.Parallel()
	s := newShell(t, 0)
	c := s.service.Tables().NewClient("values")
	_, err := c.CreateTable(t.Context(), nil)
	testkit.NoError(t, err)
	for _, body := range []string{
		`{"PartitionKey":"p","RowKey":"","I64@odata.type":"Edm.Int64","I64":"9007199254740993","NaN@odata.type":"Edm.Double","NaN":"NaN","Inf@odata.type":"Edm.Double","Inf":"-Infinity","Whole@odata.type":"Edm.Double","Whole":3.0,"T@odata.type":"Edm.DateTime","T":"2026-01-02T03:04:05.1234567Z"}`,
		`{"PartitionKey":"p","RowKey":"b","Only":"second\u001b[2J\u202e\nline","B@odata.type":"Edm.Binary","B":"AP8=","G@odata.type":"Edm.Guid","G":"00000000-0000-0000-0000-000000000001","No":false,"Text":"007"}`,
	} {
		_, err := c.AddEntity(t.Context(), []byte(body), nil)
		testkit.NoError(t, err)
	}
	s.want(0, "get values p ''", "Int64     9007199254740993", "Double    NaN", "-Infinity", "3.0", "2026-01-02T03:04:05.1234567Z", `RowKey        ""`)
	s.want(0, "get values p b", `second\x1b[2J\u202e\nline`, "0x00ff", "Guid     00000000-0000-0000-0000-000000000001", "Boolean  false", "String   007")
	s.want(0, "query values --partition p", "I64=9007199254740993", "Only=\"second", "2 entities")
	s.want(0, "query values --partition p --where I64=9007199254740993", `""`, "1 entity")
	s.want(0, "query values --partition p --where I64=9007199254740992", "0 entities")
}

// TestWide: a wide entity is shown as one.
func TestWide(t *testing.T) {
	t.Parallel()
	type year struct {
		Station, Year string
		Note          string
		Visits        []int32 `table:"Day,each=365,part=1"`
	}
	s := newShell(t, 0)
	station := keys.Partition(keys.Text(), func(y *year) *string { return &y.Station })
	number := keys.Row(keys.Text().Named("year"), func(y *year) *string { return &y.Year })
	years, err := bare.NewTable(s.acc.Tables(), "years", table.Schema[year]{Partition: station, Row: number}, nil)
	testkit.NoError(t, err)
	testkit.NoError(t, tabledoor.Ensure(t.Context(), years))
	_, err = years.Insert(t.Context(), &year{"Rome", "2026", "wet", make([]int32, 365)})
	testkit.NoError(t, err)
	s.service.Count() // from now on
	s.want(0, "get years Rome year_2026", "Note", "Day364", "entity year")
	s.want(0, "query years --partition Rome", "Note=wet", "Day364=0", "1 entity")
	s.want(0, "query years --partition Rome --all", "part year", "3 rows")
	s.want(0, "query years --partition Rome --select Day364", "Day364=0", "!Day363", "1 entity")
	s.want(0, "query years --partition Rome --where Note=wet", "its parts not read", "1 entity", "!damaged")
	if got := s.service.Count(); got[requests.Query] != 6 || got.Total() != 6 {
		t.Errorf("got requests %v; want 2 queries for get, and 1 for each query", got)
	}
}

// TestKinds: rows of the library are told apart from entities, also a row that a write over several partitions has prepared.
func TestKinds(t *testing.T) {
	t.Parallel()
	s := newShell(t, 3)
	s.want(0, "count staff --scan", "entity empid", "index row name", "commit record pending", "definitions")
	s.want(0, "count staffemail --scan", "index row email", "preparation over")
	s.want(0, "query staff --scan", "3 entities; 3 derived rows left out")
	s.want(0, "query staff --scan --limit 1", "and more; --limit 10")
	s.want(0, "query staff --partition Sales --select Age", "Age=20", "!LastName")
	s.want(0, "query staff --partition Sales --prefix '~i|'", "commit record pending")
	testkit.NoError(t, s.company.Drain(t.Context()))
	s.want(0, "count staff --scan", "commit record done", "!pending")
	s.want(0, "pending staff", "nothing is pending")
	s.want(0, "get staff Sales empid_000000", "name: name_Jones0_empid_000000", "email: email_a0@contoso.com")
	s.want(0, "get staff Sales name_Jones0_empid_000000", "index row name")
	s.want(1, "get staff Sales nothing", "no row Sales nothing")
	s.want(1, "get nothing a b", "no such table", "azt ls")
}
