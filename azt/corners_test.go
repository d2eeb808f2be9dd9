package azt_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/azt"
	"github.com/aztablekit/aztablekit/internal/testkit"
)

// TestCorners: places that look like files, rows of other programs, damaged rows, and limits.
func TestCorners(t *testing.T) {
	t.Parallel()
	ctx, s := t.Context(), newShell(t, 6)
	_, err := s.acc.Blobs().NewContainerClient("backup").Create(ctx, nil)
	testkit.NoError(t, err)
	put := func(name, row string) {
		t.Helper()
		_, err := s.service.Tables().NewClient(name).AddEntity(ctx, []byte(row), nil)
		testkit.NoError(t, err)
	}
	for _, name := range []string{"plain", "broken"} {
		_, err := s.service.Tables().CreateTable(ctx, name, nil)
		testkit.NoError(t, err)
	}

	s.want(0, "export staff blob:backup/all.json --write", "backup/all.json") // a folder, and no file
	s.want(0, "compare staff blob:backup/all.json", "no differences")
	dir := t.TempDir()
	s.want(0, "export staff "+dir+"/a --from N", "!Marketing")
	s.want(0, "import "+dir+"/a sales --write")
	s.want(0, "query sales --scan", "Sales", "!Marketing")
	s.want(0, "export staff "+dir+"/b --to N")
	s.want(0, "import "+dir+"/b marketing --write")
	s.want(0, "query marketing --scan", "Marketing", "!Sales")
	s.want(3, "compare sales marketing --limit 1", "and more; --limit 10")
	s.want(3, "compare sales marketing", "!and more")

	s.want(0, "query staff --partition Sales --where 'Age > 3' --explain", "the condition leaves out")
	s.want(0, "pending staff --explain", "the condition leaves out")
	s.want(0, "query staff --partition Sales --explain", "!the condition leaves out")

	put("broken", `{"PartitionKey":"~c","RowKey":"~c","Definitions":"{"}`)
	s.want(3, "describe broken", "table broken: its definitions", "cannot be read")
	if out := s.want(0, "describe plain --json"); !strings.Contains(out, `"table":"plain"`) {
		t.Errorf("got %s; want a line of the table without definitions", out)
	}
	put("plain", `{"PartitionKey":"p","RowKey":"list","_sys":"//byname:empid_"}`)
	s.want(0, "count plain --scan", "shared row")
	put("plain", `{"PartitionKey":"p","RowKey":"wide","_parts":"x"}`)
	s.want(3, "query plain --scan", "row p wide is damaged")

	_, err = s.acc.Queues().NewQueueClient("company-poison").EnqueueMessage(ctx, "of another program", nil)
	testkit.NoError(t, err)
	s.want(0, "poison list company", "(no message of the library)", "of another program")
	if code := s.program.Run(ctx, []string{"frob"}, nil, nil); code != 2 { // with a note
		t.Errorf("without writers: got exit code %d, want 2", code)
	}
}

// deniedCredential gives no token, for reasons on several lines, as the chain of azidentity does.
type deniedCredential struct{}

func (deniedCredential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, errors.New("no token.\nAttempted credentials:\n\tCLI: run az login\n\tMSI: none")
}

// TestCredentialError: the error of a token credential is on one line, without escapes.
func TestCredentialError(t *testing.T) {
	t.Parallel()
	endpoints := account.Endpoints{Table: "https://acme.table.core.windows.net"}
	acc, err := account.FromCredential(endpoints, deniedCredential{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out, notes bytes.Buffer
	code := (&azt.Program{Account: acc}).Run(t.Context(), []string{"get", "staff", "Sales", "1"}, &out, &notes)
	const want = "no token. Attempted credentials: CLI: run az login MSI: none"
	if text := notes.String(); code != 1 || !strings.Contains(text, want) || strings.Contains(text, `\n`) || strings.Contains(text, `\t`) {
		t.Errorf("got code %d and\n%s\nwant 1 and a text with %q", code, text, want)
	}
}
