package storagetest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"

	"github.com/aztablekit/aztablekit/storagetest"
)

// TestSecondary: the second location has what the first one had when the lag began, with the same ETags and IDs, and says since when.
// It refuses writes.
func TestSecondary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const lag = 10 * time.Minute
		ctx := t.Context()
		s := storagetest.New(&storagetest.Options{GeoRedundant: true})
		start := s.Now()
		o := azcore.ClientOptions{Transport: s}
		o.Retry.MaxRetries = -1
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		tables, err := aztables.NewServiceClientFromConnectionString(s.SecondaryConnectionString(), &aztables.ClientOptions{ClientOptions: o})
		must(err)
		queues, err := azqueue.NewServiceClientFromConnectionString(s.SecondaryConnectionString(), &azqueue.ClientOptions{ClientOptions: o})
		must(err)
		blobs, err := service.NewClientFromConnectionString(s.SecondaryConnectionString(), &service.ClientOptions{ClientOptions: o})
		must(err)

		_, err = s.Tables().NewClient("staff").CreateTable(ctx, nil)
		must(err)
		_, err = s.Queues().NewQueueClient("hints").Create(ctx, nil)
		must(err)
		_, err = s.Blobs().NewContainerClient("files").Create(ctx, nil)
		must(err)
		s.SetLag(lag)
		entity, err := s.Tables().NewClient("staff").AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"r"}`), nil)
		must(err)
		sent, err := s.Queues().NewQueueClient("hints").EnqueueMessage(ctx, "hint", nil)
		must(err)
		blob, err := s.Blobs().NewContainerClient("files").NewBlockBlobClient("a").UploadBuffer(ctx, []byte("text"), nil)
		must(err)

		read := func() (etag, id, blobTag string) {
			t.Helper()
			e, err := tables.NewClient("staff").GetEntity(ctx, "p", "r", nil)
			m, err2 := queues.NewQueueClient("hints").PeekMessages(ctx, nil)
			b, err3 := blobs.NewContainerClient("files").NewBlobClient("a").GetProperties(ctx, nil)
			for _, err := range []error{err, err2, err3} {
				if failed := (*azcore.ResponseError)(nil); err != nil && (!errors.As(err, &failed) || failed.StatusCode != http.StatusNotFound) {
					t.Errorf("got %v; want none, or 404", err)
				}
			}
			if len(m.Messages) > 0 {
				id = *m.Messages[0].MessageID
			}
			if b.ETag != nil {
				blobTag = string(*b.ETag)
			}
			return string(e.ETag), id, blobTag
		}
		synced := func() time.Time {
			t.Helper()
			fromTables, err := tables.GetStatistics(ctx, nil)
			must(err)
			fromQueues, err := queues.GetStatistics(ctx, nil)
			must(err)
			fromBlobs, err := blobs.GetStatistics(ctx, nil)
			must(err)
			at := *fromTables.GeoReplication.LastSyncTime
			if !at.Equal(*fromQueues.GeoReplication.LastSyncTime) || !at.Equal(*fromBlobs.GeoReplication.LastSyncTime) {
				t.Errorf("got last times %v, %v and %v; want the same", at, *fromQueues.GeoReplication.LastSyncTime, *fromBlobs.GeoReplication.LastSyncTime)
			}
			return at.UTC()
		}
		if a, b, c := read(); a+b+c != "" {
			t.Errorf("within the lag: got %q %q %q; want nothing", a, b, c)
		}
		if got, want := synced(), start.UTC().Truncate(time.Second); !got.Equal(want) {
			t.Errorf("within the lag: got last time %v; want %v", got, want)
		}
		s.Advance(lag)
		if a, b, c := read(); a != string(entity.ETag) || b != *sent.Messages[0].MessageID || c != string(*blob.ETag) {
			t.Errorf("after the lag: got %q %q %q; want %q %q %q", a, b, c, entity.ETag, *sent.Messages[0].MessageID, *blob.ETag)
		}
		s.Advance(time.Hour)
		if got, want := synced(), start.Add(time.Hour).UTC().Truncate(time.Second); !got.Equal(want) {
			t.Errorf("later: got last time %v; want %v", got, want)
		}
		for name, err := range map[string]error{
			"insert":  second(tables.NewClient("staff").AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"s"}`), nil)),
			"put":     second(queues.NewQueueClient("hints").EnqueueMessage(ctx, "hint", nil)),
			"receive": second(queues.NewQueueClient("hints").DequeueMessages(ctx, nil)),
			"delete":  second(blobs.NewContainerClient("files").Delete(ctx, nil)),
		} {
			refusedWith(t, name, err, "InsufficientAccountPermissions")
		}
		_, err = s.Tables().GetStatistics(ctx, nil)
		refusedWith(t, "statistics of the first location", err, "InvalidQueryParameterValue")
	})
}

// second returns the error of a call with a response.
func second[T any](_ T, err error) error { return err }

func refusedWith(t *testing.T, what string, err error, code string) {
	t.Helper()
	failed := (*azcore.ResponseError)(nil)
	if !errors.As(err, &failed) || failed.ErrorCode != code {
		t.Errorf("%s: got error %v; want code %s", what, err, code)
	}
}

// TestSecondaryOfAll: a dequeued message, a transaction, a merge and a refused write have the same effect at the second location.
func TestSecondaryOfAll(t *testing.T) {
	t.Parallel()
	s := storagetest.New(&storagetest.Options{GeoRedundant: true, ShuffleSeed: 5})
	ctx := t.Context()
	staff, hints := s.Tables().NewClient("staff"), s.Queues().NewQueueClient("hints")
	if _, err := staff.CreateTable(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := hints.Create(ctx, nil); err != nil {
		t.Fatal(err)
	}
	_, err := staff.SubmitTransaction(ctx, []aztables.TransactionAction{
		{ActionType: aztables.TransactionTypeAdd, Entity: []byte(`{"PartitionKey":"p","RowKey":"r","A":1}`)},
		{ActionType: aztables.TransactionTypeAdd, Entity: []byte(`{"PartitionKey":"p","RowKey":"s"}`)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := staff.UpdateEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"r","B":2}`), nil); err != nil {
		t.Fatal(err)
	}
	tunnelledMerge(t, s)
	if _, err := staff.AddEntity(ctx, []byte(`{"PartitionKey":"p","RowKey":"s","C":1}`), nil); err == nil {
		t.Fatal("got no error of a second insert")
	}
	for _, text := range []string{"a", "b", "c"} {
		if _, err := hints.EnqueueMessage(ctx, text, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := hints.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{NumberOfMessages: to.Ptr(int32(2))}); err != nil {
		t.Fatal(err)
	}
	connection := listen(t, s)
	for name, address := range map[string]string{"in process": s.SecondaryConnectionString(), "at ports": secondaryOf(connection, s.Account())} {
		o := azcore.ClientOptions{}
		if name == "in process" {
			o.Transport = s
		}
		tables, err := aztables.NewServiceClientFromConnectionString(address, &aztables.ClientOptions{ClientOptions: o})
		if err != nil {
			t.Fatal(err)
		}
		queues, err := azqueue.NewServiceClientFromConnectionString(address, &azqueue.ClientOptions{ClientOptions: o})
		if err != nil {
			t.Fatal(err)
		}
		want, err := staff.GetEntity(ctx, "p", "r", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tables.NewClient("staff").GetEntity(ctx, "p", "r", nil)
		if err != nil || got.ETag != want.ETag {
			t.Errorf("%s: got ETag %v, error %v; want %v", name, got.ETag, err, want.ETag)
		}
		first, err := hints.PeekMessage(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		peeked, err := queues.NewQueueClient("hints").PeekMessage(ctx, nil)
		if err != nil || len(peeked.Messages) != 1 || *peeked.Messages[0].MessageID != *first.Messages[0].MessageID {
			t.Errorf("%s: got message %v, error %v; want %v", name, peeked.Messages, err, first.Messages)
		}
	}
}

// tunnelledMerge merges a row by a POST that names its method in a header. The signature contains POST.
func tunnelledMerge(t *testing.T, s *storagetest.Service) {
	t.Helper()
	const contentType = "application/json"
	address := &url.URL{Scheme: "http", Host: s.Account() + ".table.storagetest.test", Path: "/staff(PartitionKey='p',RowKey='r')"}
	date := s.Now().UTC().Format(http.TimeFormat)
	key, err := base64.StdEncoding.DecodeString(s.Key())
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("POST\n\n" + contentType + "\n" + date + "\n/" + s.Account() + address.EscapedPath()))
	resp, err := s.Do(&http.Request{
		Method: http.MethodPost, URL: address, Body: io.NopCloser(strings.NewReader(`{"D":3}`)),
		Header: http.Header{
			"X-Ms-Version": {"2019-02-02"}, "X-Ms-Date": {date}, "Content-Type": {contentType}, "If-Match": {"*"}, "X-Http-Method": {"MERGE"},
			"Authorization": {"SharedKey " + s.Account() + ":" + base64.StdEncoding.EncodeToString(mac.Sum(nil))},
		},
	})
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatalf("got %v, error %v; want 204", resp, err)
	}
}

// secondaryOf returns the connection string of the second location at the same ports.
func secondaryOf(connection, account string) string {
	var parts []string
	for part := range strings.SplitSeq(connection, ";") {
		if name, address, _ := strings.Cut(part, "="); strings.HasSuffix(name, "Endpoint") {
			part = name + "=" + strings.TrimSuffix(address, "/"+account) + "/" + account + "-secondary"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ";")
}

// TestNoSecondary: an account without a second location says so.
func TestNoSecondary(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	o := azcore.ClientOptions{Transport: s}
	o.Retry.MaxRetries = -1
	tables, err := aztables.NewServiceClientFromConnectionString(s.SecondaryConnectionString(), &aztables.ClientOptions{ClientOptions: o})
	if err != nil {
		t.Fatal(err)
	}
	_, err = tables.GetStatistics(t.Context(), nil)
	refusedWith(t, "statistics", err, "InsufficientAccountPermissions")
}
