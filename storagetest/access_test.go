package storagetest_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	blobsas "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	queuesas "github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/sas"

	"github.com/aztablekit/aztablekit/storagetest"
)

// overHTTPS returns options of clients that call a service in this process over HTTPS, which most signatures ask for.
func overHTTPS(s *storagetest.Service) azcore.ClientOptions {
	return azcore.ClientOptions{Transport: s}
}

// expectCodes compares error codes with the wanted ones, by the name of the operation.
func expectCodes(t *testing.T, got map[string]error, want map[string]string) {
	t.Helper()
	for name, err := range got {
		if code(err) != want[name] {
			t.Errorf("%s: got %v; want %q", name, err, want[name])
		}
	}
}

// TestAccountSignature: a signature for the account permits operations on resources of its types, by its permissions.
func TestAccountSignature(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	if _, err := s.Tables().CreateTable(t.Context(), "staff", nil); err != nil {
		t.Fatal(err)
	}
	with := func(types aztables.AccountSASResourceTypes, permissions aztables.AccountSASPermissions) *aztables.ServiceClient {
		url, err := s.Tables().GetAccountSASURL(types, permissions, time.Now(), time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		c, err := aztables.NewServiceClientWithNoCredential(strings.Replace(url, "http:", "https:", 1), &aztables.ClientOptions{ClientOptions: overHTTPS(s)})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	reader := with(aztables.AccountSASResourceTypes{Object: true}, aztables.AccountSASPermissions{Read: true, List: true})
	_, read := reader.NewClient("staff").NewListEntitiesPager(nil).NextPage(t.Context())
	_, added := reader.NewClient("staff").AddEntity(t.Context(), entity("a"), nil)
	_, listed := reader.NewListTablesPager(nil).NextPage(t.Context())
	owner := with(aztables.AccountSASResourceTypes{Container: true, Object: true}, aztables.AccountSASPermissions{Add: true, Update: true, Create: true, Delete: true})
	_, created := owner.CreateTable(t.Context(), "more", nil)
	_, upserted := owner.NewClient("more").UpsertEntity(t.Context(), entity("a"), nil)
	_, removed := owner.NewClient("more").DeleteEntity(t.Context(), "p", "a", nil)
	_, dropped := owner.DeleteTable(t.Context(), "more", nil)
	_, unread := owner.NewClient("staff").GetEntity(t.Context(), "p", "a", nil)
	_, policies := owner.NewClient("staff").GetAccessPolicy(t.Context(), nil)
	expectCodes(t, map[string]error{
		"read": read, "added": added, "listed": listed, "created": created, "upserted": upserted, "removed": removed, "dropped": dropped, "unread": unread, "policies": policies,
	}, map[string]string{
		"added": "AuthorizationPermissionMismatch", "listed": "AuthorizationResourceTypeMismatch", "unread": "AuthorizationPermissionMismatch", "policies": "AuthorizationFailure",
	})
	s.Advance(2 * time.Hour)
	if _, err := reader.NewClient("staff").NewListEntitiesPager(nil).NextPage(t.Context()); code(err) != "AuthenticationFailed" {
		t.Errorf("after the expiry: got %v; want AuthenticationFailed", err)
	}
}

// TestTablePolicies: a signature by a stored policy permits what the policy says now.
func TestTablePolicies(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	staff := s.Tables().NewClient("staff")
	if _, err := staff.CreateTable(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	set := func(permissions string) {
		t.Helper()
		policy := &aztables.AccessPolicy{Start: to.Ptr(time.Now().Add(-time.Hour)), Expiry: to.Ptr(time.Now().Add(time.Hour)), Permission: &permissions}
		if _, err := staff.SetAccessPolicy(t.Context(), &aztables.SetAccessPolicyOptions{TableACL: []*aztables.SignedIdentifier{{ID: to.Ptr("readers"), AccessPolicy: policy}}}); err != nil {
			t.Fatal(err)
		}
	}
	set("r")
	stored, err := staff.GetAccessPolicy(t.Context(), nil)
	if err != nil || len(stored.SignedIdentifiers) != 1 || *stored.SignedIdentifiers[0].ID != "readers" || *stored.SignedIdentifiers[0].AccessPolicy.Permission != "r" {
		t.Fatalf("got %v, %v; want the policy readers with permission r", stored, err)
	}
	with := func(policy string) *aztables.Client {
		cred, err := aztables.NewSharedKeyCredential(s.Account(), s.Key())
		if err != nil {
			t.Fatal(err)
		}
		query, err := aztables.SASSignatureValues{TableName: "staff", Identifier: policy}.Sign(cred)
		if err != nil {
			t.Fatal(err)
		}
		c, err := aztables.NewServiceClientWithNoCredential("https://"+s.Account()+".table.storagetest.test/?"+query, &aztables.ClientOptions{ClientOptions: overHTTPS(s)})
		if err != nil {
			t.Fatal(err)
		}
		return c.NewClient("staff")
	}
	readers := with("readers")
	_, read := readers.NewListEntitiesPager(nil).NextPage(t.Context())
	_, added := readers.AddEntity(t.Context(), entity("a"), nil)
	set("a")
	_, addedThen := readers.AddEntity(t.Context(), entity("a"), nil)
	_, unknown := with("others").AddEntity(t.Context(), entity("b"), nil)
	expectCodes(t, map[string]error{"read": read, "added": added, "added then": addedThen, "unknown": unknown},
		map[string]string{"added": "AuthorizationPermissionMismatch", "unknown": "AuthenticationFailed"})
}

// TestQueueAccess: signatures for queues, and stored policies.
func TestQueueAccess(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	jobs := s.Queues().NewQueueClient("jobs")
	if _, err := jobs.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	policy := &azqueue.AccessPolicy{Expiry: to.Ptr(time.Now().Add(time.Hour)), Permission: to.Ptr("p")}
	if _, err := jobs.SetAccessPolicy(t.Context(), &azqueue.SetAccessPolicyOptions{QueueACL: []*azqueue.SignedIdentifier{{ID: to.Ptr("workers"), AccessPolicy: policy}}}); err != nil {
		t.Fatal(err)
	}
	if got, err := jobs.GetAccessPolicy(t.Context(), nil); err != nil || len(got.SignedIdentifiers) != 1 || *got.SignedIdentifiers[0].AccessPolicy.Permission != "p" {
		t.Fatalf("got %v, %v; want the policy workers with permission p", got, err)
	}
	with := func(v queuesas.QueueSignatureValues) *azqueue.QueueClient {
		cred, err := azqueue.NewSharedKeyCredential(s.Account(), s.Key())
		if err != nil {
			t.Fatal(err)
		}
		v.QueueName, v.Protocol = "jobs", queuesas.ProtocolHTTPS
		q, err := v.SignWithSharedKey(cred)
		if err != nil {
			t.Fatal(err)
		}
		c, err := azqueue.NewQueueClientWithNoCredential("https://"+s.Account()+".queue.storagetest.test/jobs?"+q.Encode(), &azqueue.ClientOptions{ClientOptions: overHTTPS(s)})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	adder := with(queuesas.QueueSignatureValues{Permissions: (&queuesas.QueuePermissions{Add: true, Read: true}).String(), ExpiryTime: time.Now().Add(time.Hour)})
	_, put := adder.EnqueueMessage(t.Context(), "text", nil)
	_, peeked := adder.PeekMessage(t.Context(), nil)
	_, stolen := adder.DequeueMessage(t.Context(), nil)
	_, cleared := adder.ClearMessages(t.Context(), nil)
	worker := with(queuesas.QueueSignatureValues{Identifier: "workers"})
	_, got := worker.DequeueMessage(t.Context(), nil)
	_, added := worker.EnqueueMessage(t.Context(), "text", nil)
	expectCodes(t, map[string]error{"put": put, "peeked": peeked, "stolen": stolen, "cleared": cleared, "got": got, "added": added},
		map[string]string{"stolen": "AuthorizationPermissionMismatch", "cleared": "AuthorizationFailure", "added": "AuthorizationPermissionMismatch"})
}

// TestBlobAccess: signatures for containers and blobs, stored policies, and headers that a signature replaces.
func TestBlobAccess(t *testing.T) {
	t.Parallel()
	s := storagetest.New(nil)
	photos := s.Blobs().NewContainerClient("photos")
	if _, err := photos.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	policy := &container.AccessPolicy{Expiry: to.Ptr(time.Now().Add(time.Hour)), Permission: to.Ptr("c")}
	if _, err := photos.SetAccessPolicy(t.Context(), &container.SetAccessPolicyOptions{ContainerACL: []*container.SignedIdentifier{{ID: to.Ptr("authors"), AccessPolicy: policy}}}); err != nil {
		t.Fatal(err)
	}
	if got, err := photos.GetAccessPolicy(t.Context(), nil); err != nil || len(got.SignedIdentifiers) != 1 || *got.SignedIdentifiers[0].AccessPolicy.Permission != "c" {
		t.Fatalf("got %v, %v; want the policy authors with permission c", got, err)
	}
	cred, err := container.NewSharedKeyCredential(s.Account(), s.Key())
	if err != nil {
		t.Fatal(err)
	}
	sign := func(v blobsas.BlobSignatureValues) string {
		v.ContainerName, v.Protocol = "photos", blobsas.ProtocolHTTPS
		q, err := v.SignWithSharedKey(cred)
		if err != nil {
			t.Fatal(err)
		}
		return q.Encode()
	}
	const address = "https://storagetest.blob.storagetest.test/photos"
	at := func(name, query string) *blockblob.Client {
		c, err := blockblob.NewClientWithNoCredential(address+"/"+name+"?"+query, &blockblob.ClientOptions{ClientOptions: overHTTPS(s)})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	upload := func(c *blockblob.Client) error {
		_, err := c.UploadBuffer(t.Context(), []byte("text"), nil)
		return err
	}
	author, expiry := sign(blobsas.BlobSignatureValues{Identifier: "authors"}), time.Now().Add(time.Hour)
	created, replaced := upload(at("a", author)), upload(at("a", author))
	_, read := at("a", author).DownloadStream(t.Context(), nil)
	reader := sign(blobsas.BlobSignatureValues{BlobName: "a", Permissions: (&blobsas.BlobPermissions{Read: true}).String(), ExpiryTime: expiry, ContentType: "text/x-signed", ContentDisposition: "attachment"})
	_, other := at("b", reader).GetProperties(t.Context(), nil)
	lister, err := container.NewClientWithNoCredential(address+"?"+sign(blobsas.BlobSignatureValues{Permissions: (&blobsas.ContainerPermissions{List: true}).String(), ExpiryTime: expiry}), &container.ClientOptions{ClientOptions: overHTTPS(s)})
	if err != nil {
		t.Fatal(err)
	}
	_, listed := lister.NewListBlobsFlatPager(nil).NextPage(t.Context())
	_, dropped := lister.Delete(t.Context(), nil)
	_, tokenless := lister.GetProperties(t.Context(), nil)
	expectCodes(t, map[string]error{"created": created, "replaced": replaced, "read": read, "other": other, "listed": listed, "dropped": dropped, "properties": tokenless},
		map[string]string{"replaced": "AuthorizationPermissionMismatch", "read": "AuthorizationPermissionMismatch", "other": "AuthenticationFailed", "dropped": "AuthorizationFailure", "properties": "AuthorizationFailure"})
	got, err := at("a", reader).DownloadStream(t.Context(), &blob.DownloadStreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := io.ReadAll(got.Body); string(text) != "text" || *got.ContentType != "text/x-signed" || *got.ContentDisposition != "attachment" {
		t.Errorf("got %q of type %s, %s; want text, text/x-signed, attachment", text, *got.ContentType, *got.ContentDisposition)
	}
}

// TestSkew: a request whose date is far from the account's time is refused if the options say so.
func TestSkew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		skew, ahead time.Duration
		want        string
	}{
		{0, 24 * time.Hour, ""}, {15 * time.Minute, 14 * time.Minute, ""}, {15 * time.Minute, 16 * time.Minute, "AuthenticationFailed"}, {15 * time.Minute, -16 * time.Minute, "AuthenticationFailed"},
	} {
		s := storagetest.New(&storagetest.Options{MaxSkew: c.skew})
		s.Advance(c.ahead)
		_, table := s.Tables().CreateTable(t.Context(), "staff", nil)
		_, queue := s.Queues().NewQueueClient("jobs").Create(t.Context(), nil)
		_, blob := s.Blobs().NewContainerClient("photos").Create(t.Context(), nil)
		for name, err := range map[string]error{"table": table, "queue": queue, "blob": blob} {
			if code(err) != c.want {
				t.Errorf("%s, %v ahead, at most %v: got %v; want %q", name, c.ahead, c.skew, err, c.want)
			}
		}
	}
}
