package conformance_test

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/tools/conformance"
)

// TestStoragetest: storagetest answers each case as the live service did, with both forms of signatures.
func TestStoragetest(t *testing.T) {
	t.Parallel()
	all, err := conformance.Cases()
	if err != nil {
		t.Fatal(err)
	}
	s := storagetest.New(nil)
	for _, scheme := range []string{"SharedKey", "SharedKeyLite"} {
		c, err := conformance.NewClient(s.ConnectionString(), s)
		if err != nil {
			t.Fatal(err)
		}
		c.Connection, c.Scheme = true, scheme
		for _, of := range all {
			t.Run(scheme+"/"+of.Topic+"/"+of.Name, func(t *testing.T) {
				t.Parallel()
				if r := conformance.Run(c, of); !r.Equal() {
					t.Errorf("%s (%s)\n%s\ngot\n%s\nwant\n%s", of.Facts, of.Recorded, r.Miss.Request, r.Miss.Actual, r.Miss.Expected)
				}
			})
		}
	}
}

// altered changes the responses to reads.
type altered struct {
	*storagetest.Service
	change func(*http.Response, string) string // returns the body
}

func (a altered) Do(r *http.Request) (*http.Response, error) {
	resp, err := a.Service.Do(r)
	if err != nil || r.Method != http.MethodGet {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(strings.NewReader(a.change(resp, string(body))))
	return resp, err
}

// created answers 201 to the creation of tables, as some emulators do.
type created struct{ *storagetest.Service }

func (c created) Do(r *http.Request) (*http.Response, error) {
	resp, err := c.Service.Do(r)
	if err == nil && r.URL.Path == "/Tables" && resp.StatusCode == http.StatusNoContent {
		resp.StatusCode = http.StatusCreated
	}
	return resp, err
}

// TestSetUp: another status of success in a set-up is no miss.
func TestSetUp(t *testing.T) {
	t.Parallel()
	all, err := conformance.Cases()
	if err != nil {
		t.Fatal(err)
	}
	c := all[slices.IndexFunc(all, func(c conformance.Case) bool { return c.Name == "all types, as inserted" })]
	s := created{storagetest.New(nil)}
	client, err := conformance.NewClient(s.ConnectionString(), s)
	if err != nil {
		t.Fatal(err)
	}
	if r := conformance.Run(client, c); !r.Equal() {
		t.Errorf("got %+v; want no miss", r.Miss)
	}
}

// TestMisses: a response that differs from the recorded one counts as a miss, in what differs.
func TestMisses(t *testing.T) {
	t.Parallel()
	all, err := conformance.Cases()
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) conformance.Case {
		return all[slices.IndexFunc(all, func(c conformance.Case) bool { return c.Name == name })]
	}
	replace := func(old, by string) func(*http.Response, string) string {
		return func(_ *http.Response, body string) string { return strings.Replace(body, old, by, 1) }
	}
	for name, c := range map[string]struct {
		change                func(*http.Response, string) string
		meaning, header, body bool
		of                    string // the name of the case, "" for that of a read of all types
	}{
		"nothing":     {replace("", ""), true, true, true, ""},
		"a status":    {func(r *http.Response, body string) string { r.StatusCode = 203; return body }, false, true, true, ""},
		"a header":    {func(r *http.Response, body string) string { r.Header.Set("Cache-Control", "none"); return body }, true, false, true, ""},
		"no header":   {func(r *http.Response, body string) string { r.Header.Del("Cache-Control"); return body }, true, false, true, ""},
		"one more":    {func(r *http.Response, body string) string { r.Header.Set("x-ms-more", "1"); return body }, true, false, true, ""},
		"an order":    {replace(`"PartitionKey":"pk","RowKey":"rk"`, `"RowKey":"rk","PartitionKey":"pk"`), true, true, false, ""},
		"a value":     {replace(`"other":20`, `"other":21`), false, true, false, ""},
		"a type":      {replace(`"evenratio":3.0`, `"evenratio":3`), false, true, false, ""},
		"a property":  {replace(`,"other":20`, ``), false, true, false, ""},
		"a metadata":  {replace(`/@Element`, ``), true, true, false, ""},
		"a Timestamp": {replace(`Z","binary@`, `1Z","binary@`), true, true, false, ""},
		"no JSON":     {replace(`{`, ``), false, true, false, ""},
		"no ETag":     {func(r *http.Response, body string) string { r.Header.Del("ETag"); return body }, false, false, true, ""},
		"more JSON":   {func(_ *http.Response, body string) string { return body + "{}" }, false, true, false, ""},
		"a text":      {replace(`>message1<`, `>message2<`), false, true, false, "peeking at a message"},
		"an element":  {replace(`<DequeueCount>0</DequeueCount>`, ``), false, true, false, "peeking at a message"},
		"no token":    {func(r *http.Response, body string) string { r.Header.Del("x-ms-continuation-NextRowKey"); return body }, false, false, true, "the first page of two entities"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := altered{storagetest.New(nil), c.change}
			client, err := conformance.NewClient(s.ConnectionString(), s)
			if err != nil {
				t.Fatal(err)
			}
			r := conformance.Run(client, named(cmp.Or(c.of, "all types, as inserted")))
			if r.Meaning != c.meaning || r.Header != c.header || r.Body != c.body || (r.Miss == nil) != r.Equal() {
				t.Errorf("got meaning %v, header %v, body %v, %+v; want %v, %v, %v", r.Meaning, r.Header, r.Body, r.Miss, c.meaning, c.header, c.body)
			}
		})
	}
}
