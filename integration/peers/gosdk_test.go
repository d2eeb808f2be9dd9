package peers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
)

// suite is a module of the Go SDK, whose own tests call the live service.
type suite struct {
	module   string
	packages []string
	skip     string   // the tests that need more than a storage account, as a regular expression
	fails    []string // the tests that fail, with what storagetest has not
}

var suites = []suite{
	{module: "github.com/Azure/azure-sdk-for-go/sdk/data/aztables", packages: []string{"."}, skip: `(?i)cosmos|_tc$|TokenCredential|Example`},
	{module: "github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2", packages: []string{"."}, skip: `Example`},
}

// TestGoSDK: the tests of the official Go SDK pass on storagetest.
func TestGoSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the tests of other modules")
	}
	t.Parallel()
	for _, u := range suites {
		t.Run(filepath.Base(strings.TrimSuffix(u.module, "/v2")), func(t *testing.T) {
			t.Parallel()
			s := storagetest.New(&storagetest.Options{Account: "peers", NameReuseDelay: -1})
			passed, failed := u.run(t, live(t, inMemory(s)), s.Account(), s.Key())
			t.Logf("%d passed, %d failed", len(passed), len(failed))
			if len(passed) == 0 {
				t.Error("got no test that passed")
			}
			for _, name := range failed {
				if !slices.Contains(u.fails, name) {
					t.Errorf("%s failed", name)
				}
			}
			for _, name := range u.fails {
				if !slices.Contains(failed, name) {
					t.Errorf("%s passed; want it not among those that fail", name)
				}
			}
		})
	}
}

// run runs the tests of a module in a copy of its folder, behind a proxy. It returns the tests without subtests.
func (u *suite) run(t *testing.T, proxy, account, key string) (passed, failed []string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", u.module).Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(strings.TrimSpace(string(out)))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1", "-timeout=10m", "-vet=off", "-skip=" + u.skip}, u.packages...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "AZURE_RECORD_MODE=live", "HTTPS_PROXY="+proxy, "NO_PROXY=",
		"TABLES_STORAGE_ACCOUNT_NAME="+account, "TABLES_PRIMARY_STORAGE_ACCOUNT_KEY="+key, "TABLES_COSMOS_ACCOUNT_NAME="+account, "TABLES_PRIMARY_COSMOS_ACCOUNT_KEY="+key,
		"AZURE_STORAGE_ACCOUNT_NAME="+account, "AZURE_STORAGE_ACCOUNT_KEY="+key)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	lines, err := cmd.Output()
	parents := map[string]bool{}
	results := map[string]string{}
	output := map[string]string{}
	for scan := bufio.NewScanner(bytes.NewReader(lines)); scan.Scan(); {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal(scan.Bytes(), &event) != nil || event.Test == "" {
			continue
		}
		switch event.Action {
		case "output":
			output[event.Test] += event.Output
		case "pass", "fail":
			results[event.Test] = event.Action
			if i := strings.LastIndex(event.Test, "/"); i > 0 {
				parents[event.Test[:i]] = true
			}
		}
	}
	if len(results) == 0 {
		t.Fatalf("%s: got no results: %v\n%s%s", u.module, err, lines, errs.Bytes())
	}
	for name, result := range results {
		switch {
		case parents[name]:
		case result == "pass":
			passed = append(passed, name)
		default:
			failed = append(failed, name)
			t.Logf("%s\n%s", name, output[name])
		}
	}
	slices.Sort(passed)
	slices.Sort(failed)
	return passed, failed
}
