package azt_test

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/blobs"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/storagetest"
)

// TestPoison: messages that workers have made poison are listed, replayed and dropped.
func TestPoison(t *testing.T) {
	t.Parallel()
	s := newShell(t, 0)
	for i := range 3 {
		_, err := s.company.staff.Insert(t.Context(), &employee{Department: "Sales", ID: i, FirstName: "Bad"})
		testkit.NoError(t, err)
	}
	testkit.Failed(t, s.company.Drain(t.Context()))
	list := s.want(0, "poison list company", "3 messages in company-poison", "payroll", "handler", "Sales")
	writes := regexp.MustCompile(`\b[0-9A-Z]{26}\b`).FindAllString(list, -1)
	if len(writes) != 3 {
		t.Fatalf("list: got\n%s\nwant three operation IDs", list)
	}
	s.want(0, "poison list company "+writes[2], "1 message in company-poison", "!"+writes[0])
	s.want(2, "poison drop company --write", "--all")
	s.want(0, "poison drop company --write 01K00000000000000000000000", "0 messages dropped", "no message is of the write")
	s.want(0, "poison drop company --write "+writes[0], "1 message dropped", "azt pending TABLE --notify company")
	s.want(0, "poison replay company --write "+writes[1], "1 message replayed")
	s.want(0, "poison replay company --write", "1 message replayed")
	s.want(0, "poison drop company --all --write", "0 messages dropped")
	if n := len(s.service.Messages("company-writes")); n != 2 {
		t.Errorf("got %d notifications, want the 2 that were replayed", n)
	}
	s.want(0, "pending staff", "waits 20", "!effects are due")
	s.want(0, "pending staff --notify company --write", "0 notifications")
	s.want(0, "pending staff --notify company --grace -1s --write", "3 notifications")
	s.want(1, "poison list nothing", "queue")
}

// TestForged: what is stored cannot control the terminal, or imitate a line of the answer.
func TestForged(t *testing.T) {
	t.Parallel()
	s := newShell(t, 2)
	const bad, op = `\u001b]0;owned\u0007\u001b[2J\u009b2J\u202e\r\n0 messages in company-poison\u2028`, `01K00000000000000000000000`
	double := strings.ReplaceAll(bad, `\`, `\\`)
	for _, text := range []string{
		"\x1b[2J\u009b2J", `{"v":1,"table":"` + bad + `","partition":"p","op":"` + op + `"}`, `{"v":1,"table":"staff","partition":"p\u202e","op":"` + op + `"}`, `{"v":1,"table":"staff","partition":"p","op":"` + bad + `"}`,
		`{"v":1,"class":"` + bad + `","kind":"` + bad + `","attempts":-1,"time":"0001-01-01T00:00:00Z","message":"` + bad + `"}`,
		`{"v":1,"class":"c","message":"{\"v\":1,\"table\":\"` + double + `\",\"partition\":\"` + double + `\",\"op\":\"` + double + `\"}"}`,
	} {
		_, err := s.acc.Queues().NewQueueClient("company-poison").EnqueueMessage(t.Context(), text, nil)
		testkit.NoError(t, err)
	}
	for _, row := range []string{
		`{"PartitionKey":"p\u202e\u2028","RowKey":"r\u200b","T":"` + bad + `","_type":"` + bad + `","_sys":"` + bad + `","_parts":"` + bad + `","_op":"` + bad + `"}`,
		`{"PartitionKey":"p","RowKey":"~i|` + op + `","State":"` + bad + `","Effects":"` + bad + `"}`,
		`{"PartitionKey":"p","RowKey":"a","State":"pending","_tx":"` + bad + `","_ix":"` + bad + `"}`,
		`{"PartitionKey":"p","RowKey":"~i|` + op + `\u202e","State":"pending"}`,
	} {
		_, err := s.service.Tables().NewClient("staffjobs").AddEntity(t.Context(), []byte(row), nil)
		testkit.NoError(t, err)
	}
	for _, args := range []string{"poison list company", "poison list company --json", "query staffjobs --scan", "query staffjobs --scan --all", "query staffjobs --scan --all --width 60", "count staffjobs --scan", "hot staffjobs", "pending staffjobs",
		`get staffjobs '"p\u202e\u2028"' '"r\u200b"'`, "get staffjobs p a", "jobs staff", "compare staff staffjobs", "compare staff staffjobs --json", "describe staffjobs", `get '"\u001b[2J"' a b`, `ls '"\u001b[2J"'`, `"frob\u001b[2J`} {
		out, errs, _ := s.run(fields(args)...)
		if i := strings.IndexFunc(out+errs, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }); i >= 0 {
			t.Errorf("azt %s: got the character %q, want it quoted:\n%s%s", args, (out + errs)[i:i+3], out, errs)
		}
		if strings.Contains(out, "\n0 messages") {
			t.Errorf("azt %s: got a forged line:\n%s", args, out)
		}
	}
}

// TestPending: workers are notified of what is due, after their queue was lost.
func TestPending(t *testing.T) {
	t.Parallel()
	s := newShell(t, 4)
	_, err := s.acc.Queues().NewQueueClient("company-writes").ClearMessages(t.Context(), nil)
	testkit.NoError(t, err)
	s.want(0, "pending staff --partition Sales", "payroll", "2 lines")
	s.want(0, "pending staff --notify company --write", "0 notifications") // the writes are younger than 10 minutes
	s.want(0, "pending staff --notify company --grace -1s --write", "4 notifications sent to company-writes")
	testkit.NoError(t, s.company.Drain(t.Context()))
	s.want(0, "pending staff", "nothing is pending")
}

// TestJobs: the jobs of a table, without their declaration.
func TestJobs(t *testing.T) {
	t.Parallel()
	s := newShell(t, 4)
	s.want(0, "jobs staff", "no jobs")
	testkit.NoError(t, s.company.raise.Start(t.Context(), s.company.staff, "2026", 3, nil))
	testkit.NoError(t, s.company.raise.Start(t.Context(), s.company.staff, "2027", 3, nil))
	s.want(0, "jobs staff", "2026", "2027", "running")
	s.want(0, "jobs staff cancel raise 2027 --write", "raise  2027  canceled")
	s.want(1, "jobs staff cancel raise 2028 --write", "no such row")
	testkit.NoError(t, s.company.Drain(t.Context()))
	s.want(0, "jobs staff", "finished", "canceled", "!running")
	for got, err := range jobs.List(t.Context(), s.company, "staff") {
		testkit.NoError(t, err)
		want, err := s.company.raise.Status(t.Context(), s.company.staff, got.Name)
		testkit.NoError(t, err)
		if got.Kind != "raise" || got.State != want.State || got.Rows != want.Rows || got.Ranges != want.Ranges || got.Part != want.Part {
			t.Errorf("List: got %+v, want that of Status, %+v", got, want)
		}
	}
	s.want(0, "jobs staffemail", "no jobs")
}

// TestDefinitions: an azt of a program verifies, fills and retires its definitions.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	const lease = 100 * time.Millisecond
	s := newShellOf(t, 6, lease)
	testkit.NoError(t, s.company.Drain(t.Context()))
	s.want(0, "verify", "sound")
	_, err := s.service.Tables().NewClient("staff").DeleteEntity(t.Context(), "Sales", "name_Jones2_empid_000002", nil)
	testkit.NoError(t, err)
	s.want(3, "verify", "missing", "name_Jones2_empid_000002", "not sound")
	s.want(2, "verify --repair", "add --write")
	s.want(0, "verify --repair --write", "all faults are repaired")
	s.want(0, "verify", "sound", "!missing")

	before := s.program.Open
	s.program.Open = func(acc *account.Account) *aztablekit.Store { return openWith(acc, lease, true).Store }
	testkit.NoError(t, s.program.Open(s.acc).Ensure(t.Context()))
	s.want(0, "describe staff", "unfilled", "age")
	s.want(3, "fill --dry-run", "missing")
	s.want(2, "fill", "--dry-run")
	s.want(0, "fill --write", "sound")
	s.want(0, "describe staff", "!unfilled")
	s.want(0, "count staff --scan", "index row age")
	s.want(0, "retire staff age --write", "out of use")
	s.want(0, "count staff --scan", "!index row age")
	s.want(1, "retire staff nothing --write", "nothing")
	s.program.Open = before
	s.want(0, "sweep --write", "the work of a day is done")
	s.program.Open = nil
	for _, args := range []string{"verify", "fill", "retire staff age", "sweep"} {
		s.want(2, args, "azt.Main(&azt.Program{Open:", "a command of your own azt")
	}
}

// TestTransfers: rows go to a folder, a container and another account, and come back.
func TestTransfers(t *testing.T) {
	s := newShell(t, 50)
	testkit.NoError(t, s.company.Drain(t.Context()))
	dir := t.TempDir() + "/staff"
	s.want(0, "export staff "+dir, "staff")
	s.want(0, "compare staff "+dir, "no differences")
	_, err := s.acc.Blobs().NewContainerClient("backup").Create(t.Context(), nil)
	testkit.NoError(t, err)
	s.want(0, "export staff blob:backup/2026 --write", "backup/2026")
	s.want(0, "compare "+dir+" blob:backup/2026", "no differences")
	s.want(0, "export staff blob:backup/{date}/staff --write", "backup/20", "!{date}")
	s.want(1, "export staff blob:nothing/2026 --write", "no such container")
	s.want(1, "import "+dir+"/nothing restored --write", "manifest")

	for _, form := range []string{"csv", "json", "ndjson"} {
		file := t.TempDir() + "/staff." + form
		s.want(0, "export staff "+file, "50")
		s.want(0, "compare staff "+file+" --entities", "no differences")
		s.want(0, "import "+file+" of"+form+" --write", "50")
		s.want(1, "export staff "+file, "exists")
		s.want(2, "export staff "+file+" --partition Sales", "whole table")
	}
	file := t.TempDir() + "/all.csv"
	s.want(0, "export staff "+file+" --all", "all.csv")
	s.want(0, "compare staff "+file, "no differences")
	s.want(0, "export staff "+dir+"-entities --entities", "50")
	s.want(0, "compare staff "+dir+"-entities --entities", "no differences")

	other := storagetest.New(nil)
	cs, err := other.Listen()
	testkit.NoError(t, err)
	defer other.Close()
	t.Setenv("AZT_OTHER", cs)
	s.want(0, "copy staff staff --to-connection AZT_OTHER --write")
	s.want(0, "compare staff staff --to-connection AZT_OTHER", "no differences")
	if got, want := len(other.Rows("staff")), len(s.service.Rows("staff")); got != want {
		t.Errorf("copy: got %d rows in the other account, want %d", got, want)
	}
	_, err = other.Tables().NewClient("staff").DeleteEntity(t.Context(), "Sales", "empid_000002", nil)
	testkit.NoError(t, err)
	s.want(3, "compare staff staff --to-connection AZT_OTHER", "only in the first", "empid_000002", "1 difference")
	s.want(3, "compare staff staff --to-connection AZT_OTHER --entities", "1 difference")
	s.want(3, "import "+dir+" staff --to-connection AZT_OTHER --write", "azt verify --repair --write")
	s.want(0, "compare staff staff --to-connection AZT_OTHER", "no differences")

	third, err := account.FromTransport(other, nil)
	testkit.NoError(t, err)
	later := aztablekit.Open(third, "later", nil)
	aztablekit.Table(later, "later", dept, empid, index.New("age", keys.Digits[int32](3), func(e *employee) (int32, bool) { return e.Age, true }, nil))
	testkit.NoError(t, later.Ensure(t.Context()))
	s.want(1, "import "+dir+" later --to-connection AZT_OTHER --write", "other definitions", "azt describe")
	s.want(0, "import "+dir+" later --to-connection AZT_OTHER --other-definitions --write --mode replace")
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", cs)
	s.program.Account = nil
	s.want(0, "ls", "staff", "!staffemail")
	s.want(0, "count staff --scan --connection AZT_OTHER", "entity empid")
}

// TestBlobs: the blobs of large values go along with an export, an import and a copy, and those that are lost are told.
func TestBlobs(t *testing.T) {
	s := newShell(t, 0)
	ctx := t.Context()
	names := []string{blobs.Join("files", "a/b", "01KAJ5ZVW0ABCDEFGHJKMNPQRS"), blobs.Join("files", "a/b", "01KAJ5ZVW0ABCDEFGHJKMNPQRT")}
	other := storagetest.New(nil)
	for _, acc := range []*storagetest.Service{s.service, other} {
		_, err := acc.Blobs().NewContainerClient("files").Create(ctx, nil)
		testkit.NoError(t, err)
		_, err = acc.Tables().CreateTable(ctx, "files", nil)
		testkit.NoError(t, err)
	}
	for i, name := range names {
		_, err := s.service.Blobs().NewContainerClient("files").NewBlockBlobClient(name).Upload(ctx, streaming.NopCloser(strings.NewReader("content")), nil)
		testkit.NoError(t, err)
		row := fmt.Sprintf(`{"PartitionKey":"files","RowKey":"%d","TextBlob":%q,"TextSize":"7","TextSize@odata.type":"Edm.Int64","TextSHA256":"%x","TextType":"text/plain"}`, i, name, sha256.Sum256([]byte("content")))
		_, err = s.service.Tables().NewClient("files").AddEntity(ctx, []byte(row), nil)
		testkit.NoError(t, err)
	}
	dir := t.TempDir()
	s.want(0, "export files "+dir+" --blobs files", "blobs: 2 copied, 0 were there, 0 lost")
	s.want(0, "export files "+dir+" --blobs files", "blobs: 0 copied, 2 were there, 0 lost")
	s.want(2, "export files "+dir+".csv --blobs files", "whole table")
	s.want(2, "import "+dir+".csv files --blobs files --write", "has no blobs")
	s.want(1, "export files "+dir+"-again --blobs nothing-there", "no such container")
	cs, err := other.Listen()
	testkit.NoError(t, err)
	defer other.Close()
	t.Setenv("AZT_OTHER", cs)
	s.want(0, "import "+dir+" files --to-connection AZT_OTHER --write --blobs files", "blobs: 2 copied")
	s.want(0, "copy files files --to-connection AZT_OTHER --write --blobs files", "blobs: 0 copied, 2 were there")
	_, err = s.service.Blobs().NewContainerClient("files").NewBlobClient(names[0]).Delete(ctx, nil)
	testkit.NoError(t, err)
	s.want(3, "export files "+dir+"-later --blobs files", "blobs: 1 copied, 0 were there, 1 lost", "lost: the blob of files 0")
}

// TestDoctor: what is missing or refused is said with what to do.
func TestDoctor(t *testing.T) {
	s := newShell(t, 2)
	s.want(0, "doctor --store company --table staff", "agree with the service", "2 messages")
	s.want(3, "doctor --store nothing", "its queues when it starts")
	s.want(3, "doctor --table nothing", "when it starts")
	two := storagetest.New(&storagetest.Options{GeoRedundant: true})
	cs, err := two.Listen()
	testkit.NoError(t, err)
	defer two.Close()
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", cs)
	s.program.Account = nil
	s.want(0, "doctor", "read the second location", "live")
}

// TestCost: rows and bytes by a price list.
func TestCost(t *testing.T) {
	t.Parallel()
	s := newShell(t, 6)
	s.want(0, "cost staff --prices testdata/prices.json", "< 0.01", "EUR")
	s.want(1, "cost staff --prices testdata/nothing.json", "no such file")
	s.want(1, "cost staff --prices azt.go", "no price list")
}
