package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestTap: what the requests that take the place of the SDK's rest on.
func TestTap(t *testing.T) {
	t.Parallel()
	const request, probe, call = "internal/wire/probe.go", "internal/wire/probe.go", "internal/wire/call.go"
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "a list loses the client's signature", File: request, Old: "maps.Copy(all, u.Query())", New: "_ = maps.Copy[url.Values, url.Values]", Test: "TestTapReadsAsSDK"},
		{Name: "quotes of a RowKey are not doubled", File: request, Old: "pk, rk := Doubled(q.PartitionKey), Doubled(q.RowKey)", New: "pk, rk := Doubled(q.PartitionKey), q.RowKey", Test: "TestTapReadsAsSDK"},
		{Name: "a RowKey is not escaped", File: request, Old: "url.PathEscape(pk), url.PathEscape(rk)", New: "url.PathEscape(pk), rk", Test: "TestTapReadsAsSDK"},
		{Name: "the condition of the small call stays", File: request, Old: `raw.Header.Del("If-Match")`, New: "_ = raw", Test: "TestTapWritesEntities"},
		{Name: "an insert is echoed", File: request, Old: "	if q.NoEcho {", New: "	if q.NoEcho && q.Method == \"\" {", Test: "TestTapWritesEntities"},
		{Name: "an echo of an insert is no success", File: request, Old: "[]int{http.StatusCreated, http.StatusNoContent}", New: "[]int{http.StatusNoContent}", Test: "TestTapWritesEntities"},
		{Name: "a read without an entity is a success", File: request, Old: "[]int{http.StatusOK}", New: "[]int{http.StatusOK, http.StatusNoContent}", Test: "TestPathsReadAlike"},
		{Name: "a request without a body is sent again", File: probe, Old: "	return p.request.putBody(r)", New: "	if r.Raw().Body != nil {\n		return nil\n	}\n	return p.request.putBody(r)", Test: "TestTapSentAgain"},
		{Name: "a request that is in place is not found", File: probe, Old: "was == nil || raw.URL.Path", New: "was != nil || raw.URL.Path", Test: "TestTapSentAgain"},
		{Name: "a large body ends where its length says", File: "internal/wire/probe.go", Old: "		case len(b) == cap(b):", New: "		case int64(len(b)) >= n:\n			return b, nil\n		case len(b) == cap(b):", Test: "TestPathsReadAlike"},
		{Name: "the response to the small call counts as the request's", File: call, Old: "!c.Put() && (err == nil || errors.As(err, new(*azcore.ResponseError)))", New: "!c.Put() && err == nil", Test: "TestTapIsLost"},
		{Name: "a request that was not put there may have been sent", File: "internal/wire/call.go", Old: " || c.probe.request != nil && !c.Put()", New: "", Test: "TestTapIsLost"},
		{Name: "a client that traces gets the small call", File: call, Old: "(hasSpan || !c.probe.changed.Load())", New: "(hasSpan || !c.probe.changed.Load() || c.ctx != nil)", Test: "TestTapTraced"},
		{Name: "a caller captures what the SDK gets", File: call, Old: "policy.WithCaptureResponse(c.begin(ctx), &c.resp), q", New: "c.begin(ctx), q", Test: "TestTapCapturedResponse"},
		{Name: "Cosmos DB is not refused", File: "internal/wire/probe.go", Old: "if isCosmos(r.Raw().URL.Host) {", New: "if isCosmos(\"\") {", Test: "TestCosmosDB"},
		{Name: "Cosmos DB is a service that may be reached later", File: "internal/wire/call.go", Old: ", errors.Is(err, ErrCosmosDB):", New: ":", Test: "TestCosmosDB"},
		{Name: "a success of another status is the request's", File: call, Old: "c.resp != nil && !q.succeeded(c.resp):", New: "c.resp == nil:", Test: "TestPathsReadAlike"},
		{Name: "the SDK decides what can be read", File: "internal/engine/read.go", Old: "call.Check(nil) == nil && call.Status() == http.StatusOK {", New: "call.Check(nil) == nil && call.Status() == 0 {", Test: "TestPathsReadAlike"},
		{Name: "a layout's own rule does not apply to plain text", File: "keys/text.go", Old: "p.verbatim, p.append = nil, func(dst []byte, v S) ([]byte, error) {\n		return write(dst, S(norm", New: "p.append = func(dst []byte, v S) ([]byte, error) {\n		return write(dst, S(norm", Test: "TestOneWayKeys"},
		{Name: "the beginning of an operation is that of another method", File: "internal/wire/batch.go", Old: " && w.method == method ", New: " ", Test: "TestTapWritesTransactions|TestPathsTransactAlike"},
	})
	mutants.Run(t, "./internal/wire", []mutants.Mutant{
		{Name: "a part like the last one ends at the wrong line", File: "internal/wire/batch.go", Old: "	if end > 0 && etag[end-1] == '\\r' {\n		end--\n	}\n", New: "	end = bytes.IndexByte(etag, p.after[0])\n", Test: "TestAlikeParts"},
		{Name: "a part is like the last one if its beginning is", File: "internal/wire/batch.go", Old: " || !bytes.HasPrefix(etag[end:], p.after) {", New: " {", Test: "TestAlikeParts"},
		{Name: "more parts than operations are read", File: "internal/wire/batch.go", Old: "for p.parts() < n && p.alike(len(open)) {", New: "for p.alike(len(open)) {", Test: "TestAlikeParts"},
		{Name: "text behind an entity begins at its beginning", File: "internal/wire/batch.go", Old: "from = e.text + behind", New: "from = e.text", Test: "TestBatchBody"},
		{Name: "a body that is not whole is read without an error", File: "internal/wire/probe.go", Old: "	if err != nil {\n		return err\n	}\n	p := newPayload()", New: "	_ = err\n	p := newPayload()", Test: "TestDownload"},
		{Name: "the text of a transaction's ETags is cut wrongly", File: "internal/wire/batch.go", Old: "		from = end", New: "		_ = end", Test: "TestManyETags"},
		{Name: "ETags of more operations than share an allocation are lost", File: "internal/wire/batch.go", Old: "	p.cut()\n	if len(p.etags) != n {", New: "	if len(p.etags) != n {", Test: "TestManyETags"},
	})
}
