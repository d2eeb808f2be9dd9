package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aztablekit/aztablekit/tools/suites"
)

// suite is a package of the Go SDK, whose own tests call the live service.
type suite struct {
	name           string
	module, folder string
	skip           string // the tests that need what storagetest has not, as a regular expression
	tests          int    // that remain
	large          int    // of these, tests that transfer hundreds of megabytes
}

const sdk = "github.com/Azure/azure-sdk-for-go/sdk/"

// What the tests need that storagetest has not.
const (
	users    = `Audience|UDS|UserDelegation|DelegationSAS|O[Aa]uth|TokenCredential|IdentitySAS|CopySourceAuth|Test(Append|Block)BlobClient$` // and their tokens
	accounts = `VID$|Version|Expiry|Undelete|Restore|Scope|System$|DirectorySAS|WithHTTP$`                                                   // of other kinds
	features = `CPK|Snapshot|Tag|Tier|Batch|[Ss]eal|Rehydrate|CopySourceFalse|FromURLWith(Headers|Intent)$|PermanentDelete|FilterBlobs|IncludeMultiple|UploadDownload(Stream)?$|UploadStreamToBlobProperties`
	memory   = `LargeBlock`
	transfer = `UploadFromReader$|UploadStreamDownloadBuffer$|UploadDownloadFile$|UploadDownloadBlockBlob$` // hundreds of megabytes

	needs  = `Example|/(` + users + `|` + accounts + `|` + features + `|` + memory + `)`
	cosmos = `Example|Cosmos|/_(cosmos|storage_tc|cosmos_tc)$`
)

var packages = []suite{
	{"azqueue", sdk + "storage/azqueue/v2", ".", needs, 73, 0},
	{"aztables", sdk + "data/aztables", ".", cosmos, 69, 0},
	{"service", sdk + "storage/azblob", "service", needs, 27, 0},
	{"container", sdk + "storage/azblob", "container", needs, 70, 0},
	{"blob", sdk + "storage/azblob", "blob", needs, 112, 1},
	{"blockblob", sdk + "storage/azblob", "blockblob", needs, 89, 3},
	{"appendblob", sdk + "storage/azblob", "appendblob", needs, 65, 0},
	{"lease", sdk + "storage/azblob", "lease", needs, 10, 0},
}

// TestGoSDK: the tests of the official Go SDK pass on storagetest. If AZTABLEKIT_PEERS is "azurite", the test also says how many pass
// on the emulator, for comparison, and the tests of large transfers run, too. The emulator does not see there that requests use HTTPS.
func TestGoSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles the tests of other modules")
	}
	t.Parallel()
	var all sync.WaitGroup // most of their time the suites wait
	defer all.Wait()
	for _, u := range packages {
		if !suites.Compared() && u.large > 0 {
			u.skip, u.tests = u.skip+"|/("+transfer+")", u.tests-u.large
		}
		folder := u.compile(t)
		tests := suites.Suite{File: filepath.Join(folder, compiled), Folder: folder, Flags: []string{"-test.skip=" + u.skip}, Environment: environment, Tests: u.tests}
		all.Go(func() { t.Run(u.name, tests.Run) })
	}
}

// environment names the account to the tests.
var environment = []string{
	"AZURE_RECORD_MODE=live", "PROXY_MANUAL_START=true", "GITHUB_ACTIONS=", "TF_BUILD=", "TABLES_COSMOS_ACCOUNT_NAME=none",
	"TABLES_STORAGE_ACCOUNT_NAME={name}", "TABLES_PRIMARY_STORAGE_ACCOUNT_KEY={key}",
	"AZURE_STORAGE_ACCOUNT_NAME={name}", "AZURE_STORAGE_ACCOUNT_KEY={key}",
}

// compiled is the name of a compiled test program.
const compiled = "suite.test"

// compile compiles the tests of a package in a copy of its module, unless an earlier run has done
// so: the name of the copy's folder has the versions of the module and of Go. Only the rename
// completes the program. compile returns the folder of the package.
func (u *suite) compile(t *testing.T) (folder string) {
	t.Helper()
	folder = filepath.Join(u.copyModule(t), u.folder)
	file := filepath.Join(folder, compiled)
	if _, err := os.Stat(file); err == nil {
		return folder
	}
	t.Logf("compiling the tests of %s, once for each version; this takes a minute", u.name)
	tmp := file + "-" + strconv.Itoa(os.Getpid())
	defer os.Remove(tmp)
	compile := exec.Command("go", "test", "-c", "-vet=off", "-o", tmp)
	compile.Dir, compile.Env = folder, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", u.module, err, out)
	}
	if err := os.Rename(tmp, file); err != nil {
		t.Fatal(err)
	}
	return folder
}

// copyModule copies the module to the user's cache folder, unless the copy is there already, and returns its folder. The tests of the
// package do not sleep there. Each package has its own copy, since packages are tested at the same time. Only the rename completes the
// copy, so that a failed attempt leaves no incomplete folder under this name.
func (u *suite) copyModule(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "aztablekit", "suites")
	from := source(t, u.module)
	dir := filepath.Join(cache, u.name+"-"+filepath.Base(from)+"-"+runtime.Version())
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	tmp, err := os.MkdirTemp(cache, "copying-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	if err := os.CopyFS(tmp, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	withoutSleep(t, filepath.Join(tmp, u.folder))
	if err := os.Rename(tmp, dir); err != nil {
		if _, missing := os.Stat(dir); missing != nil { // else another process was faster
			t.Fatal(err)
		}
	}
	return dir
}

// sleep matches a sleep of a test.
var sleep = regexp.MustCompile(`recording\.Sleep\((?:(\d+) \* time\.Second|time\.Second \* (\d+))\)`)

// withoutSleep removes the sleeps of the tests in a folder in which the live service takes new
// settings up. In shorter sleeps, messages expire.
func withoutSleep(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text = sleep.ReplaceAllFunc(text, func(call []byte) []byte {
			seconds := sleep.FindSubmatch(call)
			if n, _ := strconv.Atoi(string(seconds[1]) + string(seconds[2])); n <= 2 {
				return call
			}
			return []byte("recording.Sleep(0)")
		})
		if err := os.Chmod(file, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// source returns the folder of a module.
func source(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
