package account

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/internal/wire"
)

// DiagnoseOptions are the options of [Diagnose].
type DiagnoseOptions struct {
	// Table, Queue and Container are names in the account. A role may be for a single one: name
	// those of the program then. Without a name, the requests are for one that does not exist.
	Table, Queue, Container string
}

// Finding is what a request of [Diagnose] has shown.
type Finding struct {
	Service string // tables, queues, blobs or clock
	Right   string // what was tried, such as write rows
	Err     error  // nil if it is permitted
	Advice  string // what to do about Err, a sentence
}

// String returns a line such as: tables, write rows: refused: 403 AuthorizationPermissionMismatch:
// The caller is known, …
func (f Finding) String() string {
	if f.Err == nil {
		return f.Service + ", " + f.Right + ": ok"
	}
	reason := "no answer"
	var re *azcore.ResponseError
	if errors.As(f.Err, &re) {
		reason = fmt.Sprintf("refused: %d %s", re.StatusCode, re.ErrorCode)
	}
	return fmt.Sprintf("%s, %s: %s: %s", f.Service, f.Right, strings.TrimSpace(reason), f.Advice)
}

// Diagnose sends a harmless request for each right that programs need, and says what a refusal
// means: the network, the role, the key, the kind of account, the clock, or the audience of the
// token.
//
//	for _, f := range account.Diagnose(ctx, acc, nil) {
//		fmt.Println(f)
//	}
//
// It changes nothing: what it changes or deletes is a row, a message and a blob that do not exist.
// Services without an endpoint are left out. docs/roles.md says which package needs which right.
// Requests: 8, together, of at most 10 s each, and none is sent again.
func Diagnose(ctx context.Context, a *Account, o *DiagnoseOptions) []Finding {
	if a == nil || a.tables == nil {
		return []Finding{{Service: "tables", Right: "all", Err: wrong("a", "is nil or a zero value"), Advice: "Open the account by FromEnvironment or another function of this package."}}
	}
	if o == nil {
		o = &DiagnoseOptions{}
	}
	all := a.probes(*o)
	results := make([]result, len(all))
	ctx = policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1, TryTimeout: 10 * time.Second})
	var g errgroup.Group
	for i, p := range all {
		g.Go(func() error { results[i] = p.run(ctx); return nil })
	}
	_ = g.Wait() // the errors are in results
	var findings []Finding
	var skew *time.Duration
	for i, p := range all {
		r := results[i]
		if errors.Is(r.err, ErrNoEndpoint) {
			continue
		}
		if r.skew != nil {
			skew = r.skew
		}
		findings = append(findings, p.finding(r))
	}
	if skew != nil {
		findings = append(findings, clockFinding(*skew))
	}
	return findings
}

// probe is a harmless request, and the right that it needs.
type probe struct {
	service, right, role string
	named                string // what was named in the options; its absence is a finding
	send                 func(context.Context) error
}

// probes returns the requests. Each asks for something that does not exist, in what the options
// name.
func (a *Account) probes(o DiagnoseOptions) []probe {
	random := "diagnose" + strings.ToLower(rand.Text()[:16])
	name := func(given string) string {
		if given == "" {
			return random
		}
		return given
	}
	rows, queue, container := a.tables.NewClient(name(o.Table)), a.Queues().NewQueueClient(name(o.Queue)), a.Blobs().NewContainerClient(name(o.Container))
	const tableReader, tableWriter = "Storage Table Data Reader", "Storage Table Data Contributor"
	const queueReader, queueWriter = "Storage Queue Data Reader", "Storage Queue Data Contributor"
	const blobReader, blobWriter = "Storage Blob Data Reader", "Storage Blob Data Contributor"
	any := azcore.ETagAny
	return []probe{
		{"tables", "list tables", tableReader, "", func(ctx context.Context) error {
			one := int32(1)
			_, err := a.tables.NewListTablesPager(&aztables.ListTablesOptions{Top: &one}).NextPage(ctx)
			return err
		}},
		{"tables", "read rows", tableReader, o.Table, func(ctx context.Context) error {
			_, err := rows.GetEntity(ctx, random, random, nil)
			return err
		}},
		{"tables", "write rows", tableWriter, o.Table, func(ctx context.Context) error {
			body := fmt.Appendf(nil, `{"PartitionKey":%q,"RowKey":%q}`, random, random)
			_, err := rows.UpdateEntity(ctx, body, &aztables.UpdateEntityOptions{IfMatch: &any, UpdateMode: aztables.UpdateModeMerge})
			return err
		}},
		{"tables", "delete rows", tableWriter, o.Table, func(ctx context.Context) error {
			_, err := rows.DeleteEntity(ctx, random, random, nil)
			return err
		}},
		{"queues", "see messages", queueReader, o.Queue, func(ctx context.Context) error { _, err := queue.PeekMessage(ctx, nil); return err }},
		{"queues", "change messages", queueWriter, o.Queue, func(ctx context.Context) error {
			_, err := queue.DeleteMessage(ctx, random, "AgAAAAMAAAAAAAAA", nil)
			return err
		}},
		{"blobs", "read blobs", blobReader, o.Container, func(ctx context.Context) error {
			_, err := container.NewBlobClient(random).GetProperties(ctx, nil)
			return err
		}},
		{"blobs", "write blobs", blobWriter, o.Container, func(ctx context.Context) error {
			_, err := container.NewBlobClient(random).Delete(ctx, &blob.DeleteOptions{})
			return err
		}},
	}
}

// result is what became of a probe.
type result struct {
	err  error
	resp *http.Response
	skew *time.Duration // of this machine's clock, after the service's
}

func (p probe) run(ctx context.Context) (r result) {
	r.err = p.send(policy.WithCaptureResponse(ctx, &r.resp))
	if r.resp == nil {
		return r
	}
	if at, err := http.ParseTime(r.resp.Header.Get("Date")); err == nil {
		skew := time.Since(at).Round(time.Second)
		r.skew = &skew
	}
	return r
}

// finding says what a result means.
func (p probe) finding(r result) Finding {
	f := Finding{Service: p.service, Right: p.right}
	var re *azcore.ResponseError
	code := ""
	if errors.As(r.err, &re) {
		code = re.ErrorCode
	}
	absent := code == "TableNotFound" || code == "QueueNotFound" || code == "ContainerNotFound"
	switch {
	case r.err == nil:
		return f
	case re != nil && fromService(r.resp) && isHarmless(re) && !(absent && p.named != ""):
		return f // it was let in, and found nothing
	case absent && p.named != "" && fromService(r.resp):
		f.Advice = fmt.Sprintf("The right is there, and %s is not: Store.Ensure creates it.", p.named)
	case re != nil:
		f.Advice = p.refusal(re, r)
	default:
		f.Advice = withoutResponse(r.err)
	}
	f.Err = wire.Redact(r.err)
	return f
}

// isHarmless reports whether the service has let a request in, and has found nothing to do: a
// receipt may be one that it has never given.
func isHarmless(re *azcore.ResponseError) bool {
	return re.StatusCode == http.StatusNotFound || re.StatusCode == http.StatusBadRequest && re.ErrorCode == "InvalidQueryParameterValue"
}

// fromService reports whether a response is from the service, and not from something in between.
func fromService(resp *http.Response) bool {
	return resp != nil && resp.Header.Get("x-ms-request-id") != ""
}

// clockLimit is by how much the service lets the clock of a signed request differ.
const clockLimit = 15 * time.Minute

// refusal says what a response means that is not a success.
func (p probe) refusal(re *azcore.ResponseError, r result) string {
	switch {
	case re.StatusCode == http.StatusUnauthorized && (fromService(r.resp) || r.resp != nil && strings.Contains(r.resp.Header.Get("WWW-Authenticate"), "storage.azure.com")):
		return "The token is not one for this service: its audience must be https://storage.azure.com, and its tenant that of the subscription. Look at the credential's tenant and cloud."
	case !fromService(r.resp):
		return "The answer is not the service's: a proxy, a portal or another program answers under this address."
	case re.ErrorCode == "AuthorizationPermissionMismatch":
		return fmt.Sprintf("The caller is known, and may not do this: assign the role %s to the identity, which takes up to 10 minutes, or give the signature the permission.", p.role)
	case re.ErrorCode == "KeyBasedAuthenticationNotPermitted":
		return "The account does not take its key (Allow storage account key access is off): use FromCredential with an identity that has roles."
	case re.ErrorCode == "AuthorizationFailure", re.ErrorCode == "IpAuthorizationFailure", re.ErrorCode == "PublicAccessNotPermitted":
		return "The account's network rules do not let this address in (Networking in the portal), or the signature is not for this address or request."
	case re.ErrorCode == "AuthorizationResourceTypeMismatch", re.ErrorCode == "AuthorizationServiceMismatch":
		return "The signature is not for this kind of request or service: make one for the service and its resource types."
	case re.ErrorCode == "AuthenticationFailed" && r.skew != nil && r.skew.Abs() > clockLimit:
		return fmt.Sprintf("The clock of this machine is %v off, and the service permits %v: set it.", *r.skew, clockLimit)
	case re.ErrorCode == "AuthenticationFailed", re.ErrorCode == "InvalidAuthenticationInfo":
		return "The key or the signature is wrong, was renewed, or has expired: copy it again, and look at the name of the account."
	case re.ErrorCode == "AccountIsDisabled":
		return "The account is disabled: look at the subscription."
	case strings.HasPrefix(re.ErrorCode, "FeatureNotSupported"), strings.HasPrefix(re.ErrorCode, "FeatureVersion"), re.StatusCode == http.StatusNotImplemented:
		return fmt.Sprintf("This kind of account has no %s: use a general-purpose account (StorageV2, standard).", p.service)
	case re.StatusCode >= http.StatusInternalServerError:
		return "The service is busy or has a fault: try again in a moment."
	}
	return "The service refuses the request: its code says why."
}

// withoutResponse says what an error means that came without a response.
func withoutResponse(err error) string {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var refused *net.OpError
	var credential interface{ NonRetriable() }
	switch {
	case errors.As(err, &dns):
		return "The address has no entry: look at the name of the account, at its kind (not each has tables), and, for a private endpoint, at the DNS zone of this network."
	case errors.As(err, &certificate), errors.As(err, &authority), errors.As(err, &host):
		return "The certificate is not the service's: a proxy that ends TLS is in between, or the address is wrong."
	case errors.Is(err, context.Canceled):
		return "The caller has ended the request: give it more time."
	case errors.Is(err, context.DeadlineExceeded):
		return "No answer in time, at most 10 s: a firewall drops the requests, or the private endpoint is not reachable from here."
	case errors.As(err, &refused):
		return "The address does not take connections: look at the port, at firewalls in between, and whether the emulator runs."
	case errors.As(err, &credential):
		return "The credential gave no token: see its error, and try az login or the managed identity of this machine."
	}
	return "There was no answer: see the error."
}

// clockFinding compares this machine's clock with the service's.
func clockFinding(skew time.Duration) Finding {
	f := Finding{Service: "clock", Right: "agree with the service"}
	if skew.Abs() > clockLimit/3 {
		f.Err = wrong("clock", fmt.Sprintf("is %v off", skew))
		f.Advice = fmt.Sprintf("Set the clock of this machine: it is %v off. Signed requests may differ by %v, and records and values in blobs are dated by it.", skew, clockLimit)
	}
	return f
}
