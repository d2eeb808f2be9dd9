package storagetest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// operation is an operation of the SDK's generated clients, with the headers and the parameters of
// a query that it can send.
type operation struct {
	name    string // "BlobClient.download"
	headers []string
	params  []string
}

// generated are the folders of the generated clients in the SDK's modules.
var generated = map[string][2]string{
	"table": {"github.com/Azure/azure-sdk-for-go/sdk/data/aztables", "internal"},
	"queue": {"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2", "internal/generated"},
	"blob":  {"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob", "internal/generated"},
}

var (
	createRequest = regexp.MustCompile(`(?s)func \(client \*(\w+)\) (\w+?)(?:CreateRequest|createRequest)\(.*?\n}\n`)
	headerSet     = regexp.MustCompile(`Header(?:\.Set\(|\[)"([^"]+)"|"(x-ms-meta-)"`)
	paramSet      = regexp.MustCompile(`(?:reqQP\.Set\(|unencodedParams = append\([^"\n]*)"([^"=]+)`)
	paramInPath   = regexp.MustCompile(`"\?([^"]*)"`)
)

// operationsOf returns the operations of a service, from the sources of the SDK in the module
// cache.
func operationsOf(t *testing.T, service string) (all []operation) {
	t.Helper()
	module := generated[service]
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module[0]).Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), module[1], "zz_*client.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got sources %v, %v; want those of %s", files, err, module[0])
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range createRequest.FindAllStringSubmatch(string(source), -1) {
			o := operation{name: m[1] + "." + m[2]}
			for _, h := range headerSet.FindAllStringSubmatch(m[0], -1) {
				o.headers = append(o.headers, h[1]+h[2])
			}
			for _, p := range paramSet.FindAllStringSubmatch(m[0], -1) {
				o.params = append(o.params, p[1])
			}
			for _, p := range paramInPath.FindAllStringSubmatch(m[0], -1) {
				for pair := range strings.SplitSeq(p[1], "&") {
					name, _, _ := strings.Cut(pair, "=")
					o.params = append(o.params, name)
				}
			}
			o.headers, o.params = unique(o.headers), unique(o.params)
			all = append(all, o)
		}
	}
	return all
}

// unique returns texts in order, each once.
func unique(all []string) []string {
	slices.Sort(all)
	return slices.Compact(all)
}
