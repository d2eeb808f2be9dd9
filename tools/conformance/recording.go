package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Module is a version of a Go module that contains recordings of its tests with a live service.
type Module struct {
	Path, Version string
	Service       string // "table" or "blob"
	Host          string // the end of the recorded host names
}

// Modules are the modules whose recordings contain complete requests.
var Modules = []Module{
	{"github.com/Azure/azure-sdk-for-go/sdk/data/aztables", "v1.0.1", "table", ".table.core.windows.net"},
	{"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob", "v0.6.1", "blob", ".blob.core.windows.net"},
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

// Download returns the recordings of the module. The go command downloads the module into the module cache.
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
	return m.Read(os.DirFS(filepath.Join(downloaded.Dir, "testdata", "recordings")))
}

// Read returns the recordings in a folder in the order of their names, without the exchanges with other services.
func (m Module) Read(folder fs.FS) (all []Recording, err error) {
	err = fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".json") {
			return err
		}
		b, err := fs.ReadFile(folder, path)
		if err != nil {
			return err
		}
		r := Recording{Name: strings.TrimSuffix(d.Name(), ".json")}
		var file struct{ Entries []entry }
		if err := json.Unmarshal(bytes.TrimPrefix(b, []byte("\ufeff")), &file); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		for i, e := range file.Entries {
			u, err := url.Parse(e.RequestURI)
			if err != nil {
				return fmt.Errorf("%s: exchange %d: %w", path, i, err)
			}
			if !strings.HasSuffix(u.Host, m.Host) {
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

// entry is an exchange as the recorder wrote it: bodies as JSON values, texts as lists of lines, other bodies in base64.
type entry struct {
	RequestURI      string `json:"RequestUri"`
	RequestMethod   string
	RequestHeaders  map[string]lines
	RequestBody     json.RawMessage
	StatusCode      int
	ResponseHeaders map[string]lines
	ResponseBody    json.RawMessage
}

// lines are a string, or a list of strings.
type lines []string

func (l *lines) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*l = lines{s}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(l))
}

// exchange returns the exchange without what the recorder added and without the recorded access data.
func (e entry) exchange(u *url.URL) (x Exchange, err error) {
	x.method, x.status = e.RequestMethod, e.StatusCode
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
	for name, values := range e.RequestHeaders {
		switch strings.ToLower(name) {
		case ":method", "accept-encoding", "authorization", "content-length", "user-agent", "x-ms-date":
			continue
		}
		x.header = append(x.header, line{name, strings.Join(values, ", ")})
	}
	for name, values := range e.ResponseHeaders {
		separator := ", "
		if name == "Server" {
			separator = " "
		}
		x.response = append(x.response, line{name, strings.Join(values, separator)})
	}
	slices.SortFunc(x.header, func(a, b line) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(x.response, func(a, b line) int { return strings.Compare(a.name, b.name) })
	if x.Time, err = http.ParseTime(x.recorded("Date")); err != nil {
		return x, err
	}
	if x.body, err = bodyText(e.RequestBody, x.requested("Content-Type")); err != nil {
		return x, err
	}
	x.want, err = bodyText(e.ResponseBody, x.recorded("Content-Type"))
	return x, err
}

// requested and recorded return a header of the request, and of the response.
func (x *Exchange) requested(name string) string { return value(x.header, name) }
func (x *Exchange) recorded(name string) string  { return value(x.response, name) }

func value(header []line, name string) string {
	for _, l := range header {
		if strings.EqualFold(l.name, name) {
			return l.value
		}
	}
	return ""
}

var isText = regexp.MustCompile(`^(application/(json|xml)|text/)`)

// bodyText returns a recorded body.
func bodyText(raw json.RawMessage, contentType string) (string, error) {
	var l lines
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if json.Unmarshal(raw, &l) != nil {
		var b bytes.Buffer
		err := json.Compact(&b, raw)
		return b.String(), err
	}
	joined := strings.Join(l, "")
	if isText.MatchString(contentType) || raw[0] == '[' {
		return joined, nil
	}
	b, err := base64.StdEncoding.DecodeString(joined)
	return string(b), err
}
