package conformance_test

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/tools/conformance"
)

// account returns a client of a new account of storagetest, and sets its clock.
func account() (*conformance.Client, func(time.Time), error) {
	var now time.Time
	s := storagetest.New(&storagetest.Options{GeoRedundant: true, Now: func() time.Time { return now }})
	c, err := conformance.NewClient(s.ConnectionString(), s)
	return c, func(at time.Time) { now = at }, err
}

// verdicts are how many exchanges of each module are equal, different with reasons, and not
// offered.
var verdicts = map[string][3]int{
	"aztables@v0.1.0": {120, 15, 0}, "aztables@v0.4.0": {151, 25, 0}, "aztables@v0.6.0": {165, 28, 0}, "aztables@v1.0.1": {189, 14, 0},
	"azblob@v0.3.0": {782, 394, 445}, "azblob@v0.6.1": {865, 426, 666},
}

// TestRecordings: storagetest answers the requests that tests of the official SDK recorded as the live services did, but for the
// differences that the rules name.
func TestRecordings(t *testing.T) {
	if testing.Short() {
		t.Skip("downloads modules")
	}
	t.Parallel()
	for _, m := range slices.Concat(conformance.Modules, conformance.Earlier) {
		name := path.Base(m.Path) + "@" + m.Version
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, all, err := m.Measure(t.Context(), account)
			if err != nil {
				t.Fatal(err)
			}
			counts, reasons := map[conformance.Verdict]int{}, map[string]int{}
			for _, out := range all {
				counts[out.Verdict]++
				for _, reason := range out.Reasons {
					if out.Verdict == conformance.NotOffered {
						reason = "not offered: " + reason
					}
					reasons[reason]++
				}
				if out.Verdict == conformance.Different {
					t.Errorf("%s #%d: %s\ngot\n%s\nwant\n%s", out.Recording, out.Number, out.Miss.Request, out.Miss.Actual, out.Miss.Expected)
				}
			}
			var text strings.Builder
			for _, reason := range slices.Sorted(maps.Keys(reasons)) {
				fmt.Fprintf(&text, "%5d %s\n", reasons[reason], reason)
			}
			got := [3]int{counts[conformance.Same], counts[conformance.Accepted], counts[conformance.NotOffered]}
			if got != verdicts[name] {
				t.Errorf("got %d equal, different with reasons and not offered; want %d", got, verdicts[name])
			}
			t.Logf("%s: %d exchanges: %d equal, %d different with reasons, %d not offered\n%s", name, len(all), got[0], got[1], got[2], text.String())
		})
	}
}

// TestReplay: a response that differs without a reason is reported, and one that depends on what is not offered has its reason.
func TestReplay(t *testing.T) {
	t.Parallel()
	exchange := func(method, path, header, status string) string {
		return `{"RequestUri":"https://recorded.blob.core.windows.net/logs` + path + `","RequestMethod":"` + method + `","RequestHeaders":{"x-ms-version":"2020-10-02"` + header + `},"RequestBody":null,"StatusCode":` + status +
			`,"ResponseHeaders":{"Date":"Thu, 11 Aug 2022 15:07:10 GMT","x-ms-request-id":"00000000-0000-0000-0000-000000000000","x-ms-version":"2020-10-02"` +
			`,"ETag":"\"0x8DA7BAB2A1DB934\"","Last-Modified":"Thu, 11 Aug 2022 15:07:10 GMT"},"ResponseBody":null}`
	}
	const container = "?restype=container"
	for name, c := range map[string]struct {
		exchanges []string
		want      []conformance.Verdict
	}{
		"equal":            {[]string{exchange("PUT", container, "", "201")}, []conformance.Verdict{conformance.Same}},
		"another status":   {[]string{exchange("PUT", container, "", "202")}, []conformance.Verdict{conformance.Different}},
		"an ETag of ours":  {[]string{exchange("PUT", container, "", "201"), exchange("PUT", container+"&comp=metadata", `,"If-Match":"\"0x8DA7BAB2A1DB934\""`, "412")}, []conformance.Verdict{conformance.Same, conformance.Different}},
		"a page blob":      {[]string{exchange("PUT", container, "", "201"), exchange("PUT", "/a", `,"x-ms-blob-type":"PageBlob"`, "201"), exchange("HEAD", "/a", "", "200"), exchange("HEAD", "/b", "", "200")}, []conformance.Verdict{conformance.Same, conformance.NotOffered, conformance.NotOffered, conformance.Different}},
		"a header is lost": {[]string{strings.Replace(exchange("PUT", container, "", "201"), `"ETag"`, `"x-ms-more":"1","ETag"`, 1)}, []conformance.Verdict{conformance.Different}},
		"a version":        {[]string{strings.Replace(exchange("PUT", container, "", "201"), `"ETag"`, `"x-ms-version-id":"1","ETag"`, 1)}, []conformance.Verdict{conformance.Accepted}},
	} {
		folder := fstest.MapFS{"a.json": {Data: []byte(`{"Entries":[` + strings.Join(c.exchanges, ",") + `]}`)}}
		recordings, err := conformance.Modules[1].Read(folder)
		if err != nil || len(recordings) != 1 {
			t.Fatalf("%s: got %v, %v; want a recording", name, recordings, err)
		}
		client, at, err := account()
		if err != nil {
			t.Fatal(err)
		}
		var got []conformance.Verdict
		for _, out := range conformance.Replay(client, "blob", recordings[0], at) {
			got = append(got, out.Verdict)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v; want %v", name, got, c.want)
		}
	}
}
