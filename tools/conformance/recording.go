package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Module is a version of a Go module that contains recordings of its tests with a live service.
type Module struct {
	Path, Version string
	Folder        string // of the recordings
	Service       string // "table" or "blob"

	parse func([]byte) ([]entry, error) // of YAML files; nil if the recordings are JSON files
}

// host returns the end of the recorded host names.
func (m Module) host() string { return "." + m.Service + ".core.windows.net" }

const azure = "github.com/Azure/azure-sdk-for-go/sdk/"

// Modules are the latest versions whose recordings contain complete requests.
var Modules = []Module{
	{azure + "data/aztables", "v1.0.1", "testdata/recordings", "table", nil},
	{azure + "storage/azblob", "v0.6.1", "testdata/recordings", "blob", nil},
}

// Recording is what one test recorded.
type Recording struct {
	Name      string
	Exchanges []Exchange
}

// Exchange is a recorded request, and the response of the live service.
type Exchange struct {
	Time time.Time
	step
	secondary bool
}

// source returns the path of the blob from which the request copies, or "".
func (x *Exchange) source() string {
	for _, l := range x.header {
		if u, err := url.Parse(l.value); err == nil && strings.EqualFold(l.name, "x-ms-copy-source") {
			return u.EscapedPath()
		}
	}
	return ""
}

// Download returns the recordings of the module. The go command downloads the module into the
// module cache.
func (m Module) Download(ctx context.Context) ([]Recording, error) {
	temporary, err := os.MkdirTemp("", "recordings")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temporary)
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", m.Path+"@"+m.Version)
	cmd.Dir = temporary // outside of this module
	out, err := cmd.Output()
	var downloaded struct{ Dir, Error string }
	if errJSON := json.Unmarshal(out, &downloaded); err != nil || errJSON != nil || downloaded.Dir == "" {
		return nil, fmt.Errorf("go mod download %s@%s: %s: %w", m.Path, m.Version, downloaded.Error, err)
	}
	return m.Read(os.DirFS(filepath.Join(downloaded.Dir, filepath.FromSlash(m.Folder))))
}

// Read returns the recordings in a folder in the order of their names, without the exchanges with
// other services.
func (m Module) Read(folder fs.FS) (all []Recording, err error) {
	extension, parse := ".json", parseProxy
	if m.parse != nil {
		extension, parse = ".yaml", m.parse
	}
	err = fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != extension {
			return err
		}
		b, err := fs.ReadFile(folder, path)
		if err != nil {
			return err
		}
		r := Recording{Name: strings.TrimSuffix(d.Name(), extension)}
		entries, err := parse(b)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for i, e := range entries {
			u, err := url.Parse(e.address)
			if err != nil {
				return fmt.Errorf("%s: exchange %d: %w", path, i, err)
			}
			if !strings.HasSuffix(u.Host, m.host()) {
				continue
			}
			x, err := e.exchange(u)
			if err != nil {
				return fmt.Errorf("%s: exchange %d: %w", path, i, err)
			}
			r.Exchanges = append(r.Exchanges, x)
		}
		if len(r.Exchanges) > 0 {
			all = append(all, r)
		}
		return nil
	})
	return all, err
}

// entry is an exchange as a recorder wrote it.
type entry struct {
	method, address  string
	status           int
	request, respond message
}

// message is the header and the body of a recorded request or response.
type message struct {
	header map[string]lines
	body   string
}

// exchange returns the exchange without what the recorder added and without the recorded access
// data.
func (e entry) exchange(u *url.URL) (x Exchange, err error) {
	x.method, x.status, x.body, x.want = e.method, e.status, e.request.body, e.respond.body
	x.secondary = strings.Contains(u.Host, "-secondary.")
	q := u.Query()
	if q.Has("sig") { // removed by the recorder; the request is signed with the account's key instead
		for _, name := range []string{"sv", "ss", "srt", "sr", "sp", "st", "se", "sip", "spr", "sig", "si", "tn"} {
			q.Del(name)
		}
		u.RawQuery = q.Encode()
	}
	x.path = u.EscapedPath()
	if u.RawQuery != "" {
		x.path += "?" + u.RawQuery
	}
	for name, values := range e.request.header {
		switch strings.ToLower(name) {
		case ":method", "accept-encoding", "authorization", "content-length", "user-agent", "x-ms-date":
			continue
		}
		x.header = append(x.header, line{name, strings.Join(values, ", ")})
	}
	for name, values := range e.respond.header {
		separator := ", "
		if name == "Server" {
			separator = " "
		}
		x.response = append(x.response, line{name, strings.Join(values, separator)})
	}
	slices.SortFunc(x.header, func(a, b line) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(x.response, func(a, b line) int { return strings.Compare(a.name, b.name) })
	x.Time, err = http.ParseTime(x.recorded("Date"))
	return x, err
}

// recorded returns a header of the response.
func (x *Exchange) recorded(name string) string {
	for _, l := range x.response {
		if strings.EqualFold(l.name, name) {
			return l.value
		}
	}
	return ""
}
