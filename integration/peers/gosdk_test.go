package peers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aztablekit/aztablekit/internal/azurite"
	"github.com/aztablekit/aztablekit/storagetest"
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
	features = `CPK|Copy|FromU|Snapshot|Tag|Tier|Batch|Seal|Rehydrate|PermanentDelete|FilterBlobs|IncludeMultiple|UploadDownload(Stream)?$|UploadStreamToBlobProperties`
	memory   = `LargeBlock`
	transfer = `UploadFromReader$|UploadStreamDownloadBuffer$|UploadDownloadFile$|UploadDownloadBlockBlob$` // hundreds of megabytes

	needs  = `Example|/(` + users + `|` + accounts + `|` + features + `|` + memory + `)`
	cosmos = `Example|Cosmos|/_(cosmos|storage_tc|cosmos_tc)$`
)

var suites = []suite{
	{"azqueue", sdk + "storage/azqueue/v2", ".", needs, 70, 0},
	{"aztables", sdk + "data/aztables", ".", cosmos, 69, 0},
	{"service", sdk + "storage/azblob", "service", needs, 25, 0},
	{"container", sdk + "storage/azblob", "container", needs, 57, 0},
	{"blob", sdk + "storage/azblob", "blob", needs, 68, 1},
	{"blockblob", sdk + "storage/azblob", "blockblob", needs, 55, 3},
	{"appendblob", sdk + "storage/azblob", "appendblob", needs, 57, 0},
	{"lease", sdk + "storage/azblob", "lease", needs, 10, 0},
}

// TestGoSDK: the tests of the official Go SDK pass on storagetest. If AZTABLEKIT_PEERS is "azurite", the test also says how many pass
// on the emulator, for comparison, and the tests of large transfers run, too. The emulator does not see there that requests use HTTPS.
func TestGoSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: compiles the tests of other modules")
	}
	t.Parallel()
	var settings map[string]string
	compared := os.Getenv("AZTABLEKIT_PEERS") == "azurite"
	if compared {
		emulator, err := azurite.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(emulator.Stop)
		settings = settingsOf(emulator.ConnectionString)
	}
	var all sync.WaitGroup // most of their time the suites wait
	defer all.Wait()
	for _, u := range suites {
		if !compared && u.large > 0 {
			u.skip, u.tests = u.skip+"|/("+transfer+")", u.tests-u.large
		}
		compiled := u.compile(t)
		all.Go(func() { t.Run(u.name, func(t *testing.T) { u.test(t, compiled, settings) }) })
	}
}

// test runs the tests of the suite, also on the emulator if it has settings.
func (u *suite) test(t *testing.T, compiled program, settings map[string]string) {
	t.Logf("running the tests of %s on storagetest", u.name)
	s := storagetest.New(&storagetest.Options{Account: "peers", GeoRedundant: true})
	passed, failed, output := compiled.run(t, u.skip, live(t, inMemory(s)), s.Account(), s.Key())
	if len(passed) != u.tests || len(failed) > 0 {
		t.Errorf("storagetest: got %d tests that passed and %q that failed; want %d and none\n%s", len(passed), failed, u.tests, output)
	}
	if settings == nil {
		return
	}
	passed, failed, _ = compiled.run(t, u.skip, live(t, emulated(t, settings)), settings["AccountName"], settings["AccountKey"])
	t.Logf("Azurite: %d of %d pass; failed %q", len(passed), u.tests, failed)
}

// program is a compiled test program. It runs in a folder of the package's files.
type program struct{ name, folder string }

// compile compiles the tests of a package in a copy of its module, unless an earlier run has done so: the name of the copy's folder has
// the versions of the module and of Go. Only the rename completes the program.
func (u *suite) compile(t *testing.T) program {
	t.Helper()
	dir := u.copyModule(t)
	p := program{filepath.Join(dir, u.folder, "suite.test"), filepath.Join(dir, u.folder)}
	if _, err := os.Stat(p.name); err == nil {
		return p
	}
	t.Logf("compiling the tests of %s, once for each version; this takes a minute", u.name)
	tmp := p.name + "-" + strconv.Itoa(os.Getpid())
	defer os.Remove(tmp)
	compile := exec.Command("go", "test", "-c", "-vet=off", "-o", tmp)
	compile.Dir, compile.Env = p.folder, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", u.module, err, out)
	}
	if err := os.Rename(tmp, p.name); err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs the tests with an account. It returns the tests without subtests that passed and that failed, and what they print.
func (p program) run(t *testing.T, skip string, environment []string, account, key string) (passed, failed []string, output string) {
	t.Helper()
	tests := exec.Command(p.name, "-test.v", "-test.timeout=5m", "-test.skip="+skip)
	tests.Dir, tests.Env = p.folder, slices.Concat(os.Environ(), environment, []string{
		"AZURE_RECORD_MODE=live", "PROXY_MANUAL_START=true", "GITHUB_ACTIONS=", "TF_BUILD=", "TABLES_COSMOS_ACCOUNT_NAME=none",
		"TABLES_STORAGE_ACCOUNT_NAME=" + account, "TABLES_PRIMARY_STORAGE_ACCOUNT_KEY=" + key,
		"AZURE_STORAGE_ACCOUNT_NAME=" + account, "AZURE_STORAGE_ACCOUNT_KEY=" + key,
	})
	out, err := tests.CombinedOutput()
	if passed, failed = results(string(out)); len(passed) == 0 {
		t.Errorf("got no test that passed: %v\n%s", err, out)
	}
	return passed, failed, string(out)
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
	cache = filepath.Join(cache, "aztablekit", "peers")
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

// withoutSleep removes the sleeps of the tests in a folder, in which the live service takes new settings up.
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
		text = bytes.ReplaceAll(text, []byte("recording.Sleep("), []byte("recording.Sleep(0 * "))
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

var result = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL): (\S+)`)

// results returns the tests without subtests that passed and that failed.
func results(output string) (passed, failed []string) {
	all := result.FindAllStringSubmatch(output, -1)
	for _, r := range all {
		if slices.ContainsFunc(all, func(other []string) bool { return strings.HasPrefix(other[2], r[2]+"/") }) {
			continue
		}
		if r[1] == "PASS" {
			passed = append(passed, r[2])
		} else {
			failed = append(failed, r[2])
		}
	}
	return passed, failed
}
