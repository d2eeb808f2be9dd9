package storagetest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestPolicyPermissions: a stored access policy with a permission that the service does not have is refused.
func TestPolicyPermissions(t *testing.T) {
	t.Parallel()
	policy := func(permission string) string {
		return "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>" + permission + "</Permission></AccessPolicy></SignedIdentifier></SignedIdentifiers>"
	}
	for service, c := range map[string]struct{ path, valid string }{
		"table": {"/staff?comp=acl", "raud"}, "queue": {"/jobs?comp=acl", "raup"}, "blob": {"/logs?restype=container&comp=acl", "racwdl"},
	} {
		s := storagetest.New(nil)
		_, table := s.Tables().CreateTable(t.Context(), "staff", nil)
		_, queue := s.Queues().NewQueueClient("jobs").Create(t.Context(), nil)
		_, blob := s.Blobs().NewContainerClient("logs").Create(t.Context(), nil)
		if table != nil || queue != nil || blob != nil {
			t.Fatal(table, queue, blob)
		}
		for permission, want := range map[string]int{c.valid: http.StatusOK, "": http.StatusOK, "xyz": 400, "r r": 400} {
			if want == http.StatusOK && service != "blob" {
				want = http.StatusNoContent
			}
			if got := sendToken(t, s, service, "PUT", c.path, policy(permission)); got.status != want || want == 400 && !strings.Contains(got.body, "InvalidXmlDocument") {
				t.Errorf("%s, permission %q: got %d %s; want %d", service, permission, got.status, got.body, want)
			}
		}
	}
}

// sendToken sends a request with a token. header contains names and values.
func sendToken(t *testing.T, s *storagetest.Service, service, method, path, body string, header ...string) response {
	t.Helper()
	return sendTo(t, s, "storagetest", service, method, path, body, header...)
}

// sendTo sends a request with a token to an account, or to its second location.
func sendTo(t *testing.T, s *storagetest.Service, account, service, method, path, body string, header ...string) response {
	t.Helper()
	r, err := http.NewRequest(method, "https://"+account+"."+service+".storagetest.test"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer token")
	r.Header.Set("x-ms-version", "2020-10-02")
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = []string{header[i+1]} // as the SDK writes it
	}
	return (&serviceClient{T: t, Service: s}).roundTrip(r)
}

// TestBackslash: a backslash in the name of a blob is a slash, for all operations.
func TestBackslash(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	r.create(`/logs/a%5Cb`)
	if got := r.StoredBlobs("logs")[0].Name; got != "a/b" {
		t.Errorf("got %s; want a/b", got)
	}
	r.expectCode(r.send("HEAD", `/logs/a%5Cb`, ""), 200, "")
	r.expectCode(r.send("HEAD", `/logs/a/b`, ""), 200, "")
}

// TestBreakTime: the time that a broken lease lasts is in whole seconds, rounded down.
func TestBreakTime(t *testing.T) {
	t.Parallel()
	r := &leaseClient{newBlobClient(t, storagetest.Options{}), "/logs/app.log?"}
	r.change("acquire", "", leaseA, "30")
	r.now = r.now.Add(time.Millisecond)
	if got := r.change("break"); got != "202 29" {
		t.Errorf("got %s; want 202 29", got)
	}
}

// TestUnquotedETag: a number without quotes is another ETag if it is a time, and out of range otherwise.
func TestUnquotedETag(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	for number, want := range map[string]struct {
		status int
		code   string
	}{
		"0x8D2C9167D53FC2C": {412, "ConditionNotMet"}, "0x701CE1722770000": {412, "ConditionNotMet"}, "0x2BCA2875F4373FFF": {412, "ConditionNotMet"},
		"0x701CE172276FFFF": {400, "OutOfRangeInput"}, "0x2BCA2875F4374000": {400, "OutOfRangeInput"}, "0x111111111111111": {400, "OutOfRangeInput"}, "0xFFFFFFFFFFFFFFFFF": {400, "OutOfRangeInput"},
	} {
		r.expectCode(r.append("a", "If-Match", number), want.status, want.code)
	}
}

// TestNoResource: requests whose address names nothing.
func TestNoResource(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		service, method, path string
		status                int
		want                  string
	}{
		{"queue", "PUT", "/", 400, "<Code>InvalidResourceName</Code>"},
		{"blob", "PUT", "/?restype=container", 400, "<QueryParameterName>comp</QueryParameterName><QueryParameterValue /><Reason /></Error>"},
		{"table", "DELETE", "/(x)", 404, `"code":"ResourceNotFound"`},
		{"table", "DELETE", "/(PartitionKey='a',RowKey='b')", 404, `"code":"ResourceNotFound"`},
		{"table", "DELETE", "/('x')", 404, `"code":"ResourceNotFound"`},
	} {
		if got := sendToken(t, storagetest.New(nil), c.service, c.method, c.path, ""); got.status != c.status || !strings.Contains(got.body, c.want) {
			t.Errorf("%s %s %s: got %d %s; want %d %s", c.service, c.method, c.path, got.status, got.body, c.status, c.want)
		}
	}
}

// TestPropertiesInOrder: a service returns its properties in its own order and case, whatever a client sent.
func TestPropertiesInOrder(t *testing.T) {
	t.Parallel()
	const (
		sent = `<StorageServiceProperties><Cors><CorsRule><AllowedHeaders>a,b</AllowedHeaders><ExposedHeaders></ExposedHeaders><AllowedOrigins>x&amp;y</AllowedOrigins><AllowedMethods>GET</AllowedMethods><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors>` +
			`<MinuteMetrics><RetentionPolicy><Days>3</Days><Enabled>TRUE</Enabled></RetentionPolicy><IncludeAPIs>False</IncludeAPIs><Enabled>True</Enabled><Version>1.0</Version></MinuteMetrics>` +
			`<Logging><Delete>True</Delete><Write>1</Write><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy><Read>false</Read><Version>1.0</Version></Logging></StorageServiceProperties>`
		common = xmlHead + `<StorageServiceProperties><Logging><Version>1.0</Version><Read>false</Read><Write>true</Write><Delete>true</Delete><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>` +
			`<HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>true</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></HourMetrics>` +
			`<MinuteMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>false</IncludeAPIs><RetentionPolicy><Enabled>true</Enabled><Days>3</Days></RetentionPolicy></MinuteMetrics>` +
			`<Cors><CorsRule><AllowedMethods>GET</AllowedMethods><AllowedOrigins>x&amp;y</AllowedOrigins><AllowedHeaders>a,b</AllowedHeaders><ExposedHeaders /><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule></Cors>`
		ofBlobs = `<DeleteRetentionPolicy><Enabled>false</Enabled><AllowPermanentDelete>false</AllowPermanentDelete></DeleteRetentionPolicy><StaticWebsite><Enabled>false</Enabled></StaticWebsite>`
	)
	for service, more := range map[string]string{"table": "", "queue": "", "blob": ofBlobs} {
		s := storagetest.New(nil)
		if got := sendToken(t, s, service, "PUT", "/?restype=service&comp=properties", sent); got.status != 202 {
			t.Errorf("%s: got %d %s; want 202", service, got.status, got.body)
		}
		if got, want := sendToken(t, s, service, "GET", "/?restype=service&comp=properties", "").body, common+more+`</StorageServiceProperties>`; got != want {
			t.Errorf("%s: got  %s\nwant %s", service, got, want)
		}
	}
}

// TestNoPolicies: a resource without stored access policies has an empty element.
func TestNoPolicies(t *testing.T) {
	t.Parallel()
	r := newBlobClient(t, storagetest.Options{})
	r.expect(r.send("GET", "/logs?restype=container&comp=acl", ""), 200, xmlHead+"<SignedIdentifiers />")
}

// TestDocumentFailures: the failure of an XML document says where it is invalid, and why.
func TestDocumentFailures(t *testing.T) {
	t.Parallel()
	const (
		properties, policies = "/?restype=service&comp=properties", "/logs?restype=container&comp=acl"
		open                 = "<?xml version=\"1.0\"?>\n<StorageServiceProperties><DeleteRetentionPolicy>"
		end                  = "</DeleteRetentionPolicy></StorageServiceProperties>"
		identifier           = "<SignedIdentifier><AccessPolicy><Permission>r</Permission></AccessPolicy></SignedIdentifier>"
	)
	for _, c := range []struct {
		path, body     string
		line, position int
		reason         string
	}{
		{properties, open + "<Enabled>true</Enabled>" + end, 2, 75, "Element is missing: Days."},
		{properties, open + end, 2, 52, "Element is missing: Enabled."},
		{properties, open + "<Enabled>true</Enabled><Days>0</Days>" + end, 2, 89, "Retention days must be greater than 0 and less than or equal to 365 days."},
		{policies, "\n<SignedIdentifiers>" + identifier + "</SignedIdentifiers>", 2, 114, "Signed identifier ID cannot be empty or over 64 characters in length"},
		{policies, "<a", 1, 3, "Error parsing Xml content"},
		{properties, "<a>\n</b>", 2, 5, "Error parsing Xml content"},
		{"/logs/app.log?comp=blocklist", "<BlockList>\n<Latest>", 2, 9, "Error parsing Xml content"},
	} {
		r := newBlobClient(t, storagetest.Options{})
		detail := fmt.Sprintf("<LineNumber>%d</LineNumber><LinePosition>%d</LinePosition><Reason>%s</Reason>", c.line, c.position, c.reason)
		r.expectError(r.send("PUT", c.path, c.body), 400, "InvalidXmlDocument", "XML specified is not syntactically valid.", detail)
	}
}

// TestMetadataCase: in this process, metadata keeps the case of its names.
func TestMetadataCase(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	sendToken(t, s, "blob", "PUT", "/logs?restype=container", "", "x-ms-meta-fooBar", "1")
	got := sendToken(t, s, "blob", "GET", "/?comp=list&include=metadata", "")
	if want := "<Metadata><fooBar>1</fooBar></Metadata>"; !strings.Contains(got.body, want) {
		t.Errorf("got %s; want %s", got.body, want)
	}
}

// TestRowText: the text of a row shows bytes as text, and times in their usual form.
func TestRowText(t *testing.T) {
	t.Parallel()
	row := storagetest.Row{PartitionKey: "Sales", RowKey: "O'Brien", Properties: []storagetest.Property{
		{Name: "Photo", Type: "Edm.Binary", Value: []byte("a\x00")}, {Name: "Hired", Type: "Edm.DateTime", Value: recordedTime}, {Name: "Salary", Type: "Edm.Int32", Value: int32(5)}, {Name: "Name", Type: "Edm.String", Value: "Ann"},
	}}
	want := `('Sales','O''Brien') {Photo: "a\x00", Hired: 2017-10-02T20:21:54.8228007Z, Salary: 5, Name: Ann}`
	for _, format := range []string{"%v", "%+v", "%s"} {
		if got := fmt.Sprintf(format, row); got != want {
			t.Errorf("%s: got %s; want %s", format, got, want)
		}
	}
}

// TestSelectionOrder: the selected properties are sorted, the missing ones among them, whatever the order of $select and of the entity.
func TestSelectionOrder(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	staff := s.Tables().NewClient("staff")
	if _, err := staff.CreateTable(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := staff.AddEntity(t.Context(), []byte(`{"PartitionKey":"p","RowKey":"r","b":2,"a":1,"C":3}`), nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/staff(PartitionKey='p',RowKey='r')", "/staff"} {
		got := sendToken(t, s, "table", "GET", path+"?$select=b,RowKey,C,aa,a", "", "Accept", "application/json;odata=nometadata")
		if want := `{"RowKey":"r","C":3,"a":1,"aa":null,"b":2}`; !strings.Contains(got.body, want) {
			t.Errorf("%s: got %s; want %s", path, got.body, want)
		}
	}
}
