package storagetest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	blobs "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestProperties: the properties of a service are those of a new account, until a client sets some of them.
func TestProperties(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	tables, err := s.Tables().GetProperties(t.Context(), nil)
	if err != nil || *tables.Logging.Read || !*tables.HourMetrics.Enabled || *tables.HourMetrics.RetentionPolicy.Days != 7 || len(tables.Cors) != 0 {
		t.Fatalf("got %+v, %v; want the properties of a new account", tables, err)
	}
	rule := aztables.CorsRule{AllowedOrigins: to.Ptr("https://app.test"), AllowedMethods: to.Ptr("GET,PUT"), AllowedHeaders: to.Ptr("x-ms-*,accept"), ExposedHeaders: to.Ptr("x-ms-request-id"), MaxAgeInSeconds: to.Ptr(int32(60))}
	_, setTables := s.Tables().SetProperties(t.Context(), aztables.ServiceProperties{Cors: []*aztables.CorsRule{&rule}}, nil)
	_, setQueues := s.Queues().SetProperties(t.Context(), &azqueue.SetPropertiesOptions{Logging: &azqueue.Logging{Version: to.Ptr("1.0"), Read: to.Ptr(true), Write: to.Ptr(false), Delete: to.Ptr(false), RetentionPolicy: &azqueue.RetentionPolicy{Enabled: to.Ptr(false)}}})
	_, setBlobs := s.Blobs().SetProperties(t.Context(), &blobs.SetPropertiesOptions{DefaultServiceVersion: to.Ptr("2021-12-02")})
	if setTables != nil || setQueues != nil || setBlobs != nil {
		t.Fatalf("got %v, %v, %v; want no errors", setTables, setQueues, setBlobs)
	}
	tables, err = s.Tables().GetProperties(t.Context(), nil)
	if err != nil || len(tables.Cors) != 1 || *tables.Cors[0].AllowedOrigins != "https://app.test" || *tables.Cors[0].MaxAgeInSeconds != 60 || !*tables.HourMetrics.Enabled {
		t.Errorf("got %+v, %v; want the rule, and the other properties as they were", tables, err)
	}
	queues, err := s.Queues().GetServiceProperties(t.Context(), nil)
	if err != nil || !*queues.Logging.Read {
		t.Errorf("got %+v, %v; want logging of reads", queues, err)
	}
	stored, err := s.Blobs().GetProperties(t.Context(), nil)
	if err != nil || *stored.DefaultServiceVersion != "2021-12-02" {
		t.Errorf("got %+v, %v; want the version 2021-12-02", stored, err)
	}
	var six []*aztables.CorsRule
	for range 6 {
		six = append(six, &rule)
	}
	if _, err := s.Tables().SetProperties(t.Context(), aztables.ServiceProperties{Cors: six}, nil); code(err) != "InvalidXmlDocument" {
		t.Errorf("six rules: got %v; want InvalidXmlDocument", err)
	}
}

// TestOrigins: a service with rules for CORS answers preflight requests, which have no signature, and names the origin in responses.
func TestOrigins(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	const rules = `<StorageServiceProperties><Cors>` +
		`<CorsRule><AllowedOrigins>https://app.test</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>x-ms-*,accept</AllowedHeaders><ExposedHeaders>x-ms-request-id</ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds></CorsRule>` +
		`<CorsRule><AllowedOrigins>*</AllowedOrigins><AllowedMethods>HEAD</AllowedMethods><AllowedHeaders></AllowedHeaders><ExposedHeaders></ExposedHeaders><MaxAgeInSeconds>5</MaxAgeInSeconds></CorsRule>` +
		`</Cors></StorageServiceProperties>`
	send := func(service, method string, header ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(method, "http://storagetest."+service+".storagetest.test/thing", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := s.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp
	}
	ask := []string{"Origin", "https://app.test", "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "x-ms-date,Accept"}
	for _, service := range []string{"table", "queue", "blob"} {
		if resp := send(service, "OPTIONS", ask...); resp.StatusCode != 403 || resp.Header.Get("x-ms-error-code") != "CorsPreflightFailure" {
			t.Errorf("%s without rules: got %d %v; want 403 CorsPreflightFailure", service, resp.StatusCode, resp.Header)
		}
		if resp := send(service, "GET", "Origin", "https://app.test"); resp.Header.Get("Vary") != "" {
			t.Errorf("%s without rules: got %v; want no Vary", service, resp.Header)
		}
		if err := setProperties(s, service, rules); err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			method string
			header []string
			status int
			want   map[string]string
		}{
			"preflight":            {"OPTIONS", ask, 200, map[string]string{"Access-Control-Allow-Origin": "https://app.test", "Access-Control-Allow-Methods": "PUT", "Access-Control-Allow-Headers": "x-ms-date,Accept", "Access-Control-Max-Age": "60", "Vary": ""}},
			"preflight, any":       {"OPTIONS", []string{"Origin", "https://other.test", "Access-Control-Request-Method", "HEAD"}, 200, map[string]string{"Access-Control-Allow-Origin": "*", "Access-Control-Max-Age": "5", "Vary": ""}},
			"another origin":       {"OPTIONS", []string{"Origin", "https://other.test", "Access-Control-Request-Method", "PUT"}, 403, nil},
			"another method":       {"OPTIONS", []string{"Origin", "https://app.test", "Access-Control-Request-Method", "DELETE"}, 403, nil},
			"another header":       {"OPTIONS", []string{"Origin", "https://app.test", "Access-Control-Request-Method", "PUT", "Access-Control-Request-Headers", "x-other"}, 403, nil},
			"no method":            {"OPTIONS", []string{"Origin", "https://app.test"}, 400, map[string]string{"x-ms-error-code": "InvalidHeaderValue"}},
			"no origin":            {"OPTIONS", ask[2:], 400, map[string]string{"x-ms-error-code": "InvalidHeaderValue"}},
			"response":             {"GET", []string{"Origin", "https://app.test"}, 403, map[string]string{"Access-Control-Allow-Origin": "https://app.test", "Access-Control-Expose-Headers": "x-ms-request-id", "Vary": "Origin"}},
			"tunnelled response":   {"POST", []string{"Origin", "https://app.test", "X-HTTP-Method", "GET"}, 403, map[string]string{"Access-Control-Allow-Origin": "", "Vary": ""}},
			"response to a write":  {"PUT", []string{"Origin", "https://app.test"}, 403, map[string]string{"Access-Control-Allow-Origin": "https://app.test", "Vary": ""}},
			"response to another":  {"GET", []string{"Origin", "https://other.test"}, 403, map[string]string{"Access-Control-Allow-Origin": "", "Vary": "Origin"}},
			"response to a server": {"GET", nil, 403, map[string]string{"Access-Control-Allow-Origin": "", "Vary": "Origin"}},
		} {
			resp := send(service, c.method, c.header...)
			if resp.StatusCode != c.status {
				t.Errorf("%s, %s: got %d; want %d", service, name, resp.StatusCode, c.status)
			}
			for header, want := range c.want {
				if got := resp.Header.Get(header); got != want {
					t.Errorf("%s, %s: got %s %q; want %q", service, name, header, got, want)
				}
			}
		}
	}
}

// setProperties sets the properties of a service by a request with a token.
func setProperties(s *storagetest.Service, service, body string) error {
	r, err := http.NewRequest("PUT", "https://storagetest."+service+".storagetest.test/?restype=service&comp=properties", strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer token")
	r.Header.Set("x-ms-version", "2019-02-02")
	resp, err := s.Do(r)
	if err == nil && resp.StatusCode != http.StatusAccepted {
		text, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("got %d %s; want 202", resp.StatusCode, text)
	}
	return err
}
