package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/tools/mutants"
)

// TestAttempts: what ends the attempts of a request. The tests of the module's root call each method during outages.
func TestAttempts(t *testing.T) {
	t.Parallel()
	const attempts = "internal/engine/attempts.go"
	mutants.Run(t, "./internal/engine", []mutants.Mutant{
		{Name: "a number ends attempts that have a deadline", File: attempts,
			Old: "	}\n	return a.lasting >= fewAttempts", New: "	}\n	return a.failed >= mostAttempts", Test: "TestRepeatBounds"},
		{Name: "the page of a proxy passes", File: attempts,
			Old: "case errors.As(err, &foreign):\n		return false", New: "case errors.As(err, &foreign):\n		return true", Test: "TestRepeatBounds"},
		{Name: "a service that does not know the request learns it", File: attempts,
			Old: " && s != http.StatusNotImplemented", New: "", Test: "TestRepeatBounds"},
		{Name: "408 does not pass", File: attempts,
			Old: "s == http.StatusRequestTimeout || ", New: "", Test: "TestRepeatBounds"},
		{Name: "attempts without a deadline have no end but time", File: attempts,
			Old: "case a.retry.Attempts > 0 || !bounded:", New: "case a.retry.Attempts > 0 || !bounded && a.failed > 50:", Test: "TestRepeatBounds"},
	})
	mutants.Run(t, "./internal/engine", []mutants.Mutant{
		{Name: "work on a whole table endures an outage from its beginning", File: "internal/engine/endure.go",
			Old: "	return e.answered\n", New: "	return e.answered || true\n", Test: "TestEndure$"},
		{Name: "work on a whole table endures without an end", File: "internal/engine/endure.go",
			Old: "return e.since.Add(mostOutage)", New: "return e.since.Add(99 * mostOutage)", Test: "TestEndure$"},
		{Name: "each loop endures for itself", File: "internal/engine/endure.go",
			Old: "	if e.since.IsZero() {", New: "	if e.since.IsZero() || true {", Test: "TestEndure$"},
		{Name: "the time of conflicts passes during an outage", File: attempts,
			Old: "if c.late && c.attempts == 1 {", New: "if c.late && c.attempts == 0 {", Test: "TestLateConflicts"},
		{Name: "a refusal is no answer", File: "internal/engine/endure.go",
			Old: "	case Outage(err), ctx.Err() != nil,", New: "	case err != nil, ctx.Err() != nil,", Test: "TestEndure$|TestEndureAnswers"},
		{Name: "the end of a context is an answer", File: "internal/engine/endure.go",
			Old: "	case Outage(err), ctx.Err() != nil,", New: "	case Outage(err),", Test: "TestEndureAnswers"},
		{Name: "a number of attempts is passed over by work that endures", File: "internal/engine/endure.go",
			Old: "return r.Attempts <= 0 && endures(ctx)", New: "return endures(ctx)", Test: "TestEndure$"},
		{Name: "a worker endures", File: "internal/engine/endure.go",
			Old: "	if ctx.Value(enduringKey{}) != nil {", New: "	if enduringOf(ctx) != nil {", Test: "TestEndure$"},
	})
	mutants.Run(t, "./account", []mutants.Mutant{
		{Name: "a clock that is behind agrees", File: "account/diagnose.go",
			Old: "if skew.Abs() > clockLimit/3 {", New: "if skew > clockLimit/3 {", Test: "TestDiagnoseRefusals"},
		{Name: "a call without an endpoint is repeated", File: attempts,
			Old: "if errors.Is(err, errs.ErrNoEndpoint) {", New: "if errors.Is(err, errs.ErrNoEndpoint) && a.failed >= mostAttempts {", Test: "TestNoEndpoint"},
	})
	mutants.Run(t, "./integration/whole", []mutants.Mutant{
		{Name: "a list gives up when no connection is made", File: "internal/engine/pages.go",
			Old: "		return r.table.conditioned(ctx, err)\n", New: "		return err\n", Test: "TestEndures"},
		{Name: "a read gives up", File: "internal/engine/read.go",
			Old: "if t.Mode.LookUp == nil && enduringOf(ctx) == nil {", New: "if t.Mode.LookUp == nil {", Test: "TestEndures", Args: []string{"-faultsample=1"}},
		{Name: "a write gives up after its usual time", File: "internal/engine/endure.go",
			Old: "	c.lasts = r.Timeout(ctx, t.Options.WriteTimeout)\n", New: "", Test: "TestEndures"},
		{Name: "rows are stored for half a minute", File: "internal/engine/raw.go",
			Old: "Bound(ctx, Retry(t.Options.Retry).Timeout(ctx, t.Options.WriteTimeout))", New: "Bound(ctx, t.Options.WriteTimeout)", Test: "TestEndures/transfer.Import", Args: []string{"-faultsample=1"}},
		{Name: "a notification is sent for half a minute", File: "eventual/queue.go",
			Old: "	ctx, cancel := engine.Bound(ctx, engine.Retry(o.opt.Retry).Timeout(ctx, o.opt.WriteTimeout))\n	defer cancel()\n	err := engine.Retry(o.opt.Retry).Repeat(ctx, log", New: "	ctx, cancel := engine.Bound(ctx, o.opt.WriteTimeout)\n	defer cancel()\n	err := engine.Retry(o.opt.Retry).Repeat(ctx, log", Test: "TestEndures/table.Bulk$", Args: []string{"-faultsample=1"}},
		{Name: "a blob is read for ten seconds", File: "transfer/container.go",
			Old: "		err = engine.Retry(f.opt.Retry).Endure(ctx, engine.Log{}, func() (err error) {\n			b, again, err = f.readOnce(ctx, name, part, most)\n			return err\n		})\n", New: "		b, again, err = f.readOnce(ctx, name, part, most)\n", Test: "TestEndures/transfer", Args: []string{"-faultsample=1"}},
		{Name: "a list of blobs goes on with a pager that has failed", File: "internal/blobs/blobs.go",
			Old: "			err := engine.Retry(o.Retry).Endure(ctx, engine.Log{}, func() (err error) {\n				pager := c.NewListBlobsFlatPager(&next)", New: "			pager := c.NewListBlobsFlatPager(&next)\n			err := engine.Retry(o.Retry).Endure(ctx, engine.Log{}, func() (err error) {\n				_ = pager", Test: "TestEndures/Values", Args: []string{"-faultsample=1"}},
		{Name: "the body of a transaction is not read again", File: "internal/wire/probe.go",
			Old: "		return r.SetBody(streaming.NopCloser(body), contentType)\n", New: "		err := r.SetBody(streaming.NopCloser(body), contentType)\n		r.Raw().GetBody = nil\n		return err\n", Test: "TestPolicies/.*/redirects", Args: []string{"-test.short"}},
		{Name: "few attempts end a write", File: attempts,
			Old: "	}\n	return a.lasting >= fewAttempts", New: "	}\n	return a.failed >= fewAttempts", Test: "TestOutages$"},
		{Name: "a write reads once", File: attempts,
			Old: "return Outage(err), err", New: "return false, err", Test: "TestOutages$"},
		{Name: "a write waits for a read that has no response", File: "internal/engine/plan_reads.go",
			Old: "ctx, cancel := p.table.attempt(ctx)", New: "ctx, cancel := context.WithCancel(ctx)", Test: "TestOutages$"},
		{Name: "a method waits for a read that has no response", File: attempts,
			Old: "ctx, cancel := Bound(ctx, r.AttemptTimeout)", New: "ctx, cancel := context.WithCancel(ctx)", Test: "TestOutages$"},
		{Name: "a queue is created once", File: "eventual/queue.go",
			Old: "err = q.create(ctx)\n		return err != nil && isTransient(err), err", New: "err = q.create(ctx)\n		return false, err", Test: "TestOutages$"},
		{Name: "a notification is sent once", File: "eventual/queue.go",
			Old: "d, err = o.queue.put(ctx, text, n.Hidden)\n\t\treturn err != nil && isTransient(err), err", New: "d, err = o.queue.put(ctx, text, n.Hidden)\n\t\treturn false, err", Test: "TestOutages$"},
		{Name: "a container is created once", File: "internal/blobs/blobs.go",
			Old: "return call.Outcome(err) != wire.Refused, refusal(&call, err)", New: "return false, refusal(&call, err)", Test: "TestOutages$"},
		{Name: "an upload looks once at its blob", File: "largeentity/client.go",
			Old: "return errors.Is(err, errs.ErrUnreachable), err", New: "return false, err", Test: "TestOutagesAfterLostResponses"},
		{Name: "a log waits for a look at its blob that has no response", File: "logtail/bloblog/client.go",
			Old: "engine.Bound(ctx, c.opt.Retry.AttemptTimeout)\n	defer cancel()\n	var call wire.Call\n	resp, err := c.blob(n).GetProperties", New: "engine.Bound(ctx, c.opt.ReadTimeout)\n	defer cancel()\n	var call wire.Call\n	resp, err := c.blob(n).GetProperties", Test: "TestOutages$"},
		{Name: "a participant is prepared once", File: "internal/engine/prepare.go",
			Old: "		if !tries.wait(ctx, err) {\n			return outcome{kind: wire.Unknown", New: "		if tries.wait(ctx, err); err != nil {\n			return outcome{kind: wire.Unknown", Test: "TestOutagesMeanwhile"},
	})
}

// TestResponses: which responses are believed, and how they are read. The tests of the module's root call each method behind proxies and
// policies.
func TestResponses(t *testing.T) {
	t.Parallel()
	const call = "internal/wire/call.go"
	mutants.Run(t, "./integration/whole", []mutants.Mutant{
		{Name: "the body of a transaction is not kept", File: call,
			Old: "c.kept, _ = runtime.Payload(resp)", New: "", Test: "TestPolicies"},
		{Name: "the body that was kept is not used", File: call,
			Old: "if err == nil && len(body) == 0 {", New: "if err == nil && len(body) == 0 && c.kept == nil {", Test: "TestPolicies"},
		{Name: "a success without the service's headers counts", File: call,
			Old: "case c.resp.StatusCode < 300 &&", New: "case c.resp.StatusCode < 200 &&", Test: "TestForeignAnswers"},
		{Name: "a response of a queue is not checked", File: "eventual/queue.go",
			Old: "shortError(call.Check(err))", New: "shortError(err)", Test: "TestForeignAnswers"},
		{Name: "a list of blobs is not checked", File: "internal/blobs/blobs.go",
			Old: "if err = call.Check(err); err != nil {", New: "if err != nil {", Test: "TestForeignAnswers"},
		{Name: "a download is not checked", File: "largeentity/open.go",
			Old: "d.check(&resp, all, d.call.Check(err))", New: "d.check(&resp, all, err)", Test: "TestForeignAnswers"},
		{Name: "the write of one row is not checked", File: "internal/engine/send.go",
			Old: "	} else {\n		err = call.CheckWrite(string(etag), err)\n	}", New: "	}", Test: "TestForeignAnswers"},
		{Name: "a refusal without the service's headers is believed", File: "internal/wire/call.go",
			Old: " && isForeignRefusal(c.resp, err):\n", New: " && false && isForeignRefusal(c.resp, err):\n", Test: "TestForeignAnswers"},
	})
}

// TestRedaction: no error, log or span contains a signature.
func TestRedaction(t *testing.T) {
	t.Parallel()
	const redact = "internal/wire/call.go"
	mutants.Run(t, "./internal/wire", []mutants.Mutant{
		{Name: "a response that repeats its URL loses its code", File: redact,
			Old: "return withoutEcho(err, re)", New: "return withoutSignature(err)", Test: "TestRedactResponse"},
		{Name: "the headers of the response are those of its copy", File: redact,
			Old: "	h = h.Clone()\n", New: "", Test: "TestRedactResponse"},
		{Name: "the request of a response keeps its signature", File: redact,
			Old: "u.RawQuery = RedactText(u.RawQuery)", New: "", Test: "TestRedactResponse"},
		{Name: "a response that repeats nothing keeps its request", File: redact,
			Old: "!hasSigned(re.RawResponse) && ", New: "", Test: "TestRedactResponse"},
		{Name: "the code of a response keeps its signature", File: redact,
			Old: "ErrorCode: RedactText(re.ErrorCode)", New: "ErrorCode: re.ErrorCode", Test: "TestRedactResponse"},
	})
	mutants.Run(t, "./integration/whole", []mutants.Mutant{
		{Name: "an error of a request keeps its signature", File: "internal/wire/call.go",
			Old: "so it is not the service's\"}\n	}\n	return Redact(err)", New: "so it is not the service's\"}\n	}\n	return err", Test: "TestSignatures"},
		{Name: "a span keeps its signature", File: redact,
			Old: "s.SetStatus(code, RedactText(text))", New: "s.SetStatus(code, text)", Test: "TestSignatures"},
		{Name: "the spans of the SDK keep their signatures", File: "table/table.go",
			Old: "wire.RedactSpans(base.TracingProvider)", New: "base.TracingProvider", Test: "TestSignatures"},
		{Name: "the spans of the library keep their signatures", File: "internal/engine/table.go",
			Old: "wire.RedactSpans(o.Tracing).NewTracer", New: "o.Tracing.NewTracer", Test: "TestSignatures"},
		{Name: "the response of an operation keeps its request", File: "internal/wire/call.go",
			Old: "Request: redactRequest(c.resp.Request),", New: "Request: c.resp.Request,", Test: "TestSignatures"},
		{Name: "the code of an operation keeps its signature", File: "internal/engine/send.go",
			Old: "code := wire.RedactText(f.Code)", New: "code := f.Code", Test: "TestSignatures"},
	})
}

// TestSpans: the spans of calls that succeed beside other programs.
func TestSpans(t *testing.T) {
	t.Parallel()
	mutants.Run(t, "./integration/whole", []mutants.Mutant{
		{Name: "each attempt of a transaction has a span", File: "txn/tx.go",
			Old: "		tx.run.spanned, tx.run.end = t.Span", New: "		_, tx.run.end = t.Span", Test: "TestStoreSpans"},
		{Name: "each renewal of a leader has a span", File: "lease/elect.go",
			Old: "context.WithoutCancel(spanned)) //", New: "context.WithoutCancel(ctx)) //", Test: "TestStoreSpans"},
		{Name: "each look for a lease has a span", File: "lease/elect.go",
			Old: "		held, err := s.acquire(ctx, \"Elect\", name, 0)\n",
			New: "		_, end := s.rows.Span(context.Background(), \"Elect\")\n" +
				"		held, err := s.acquire(ctx, \"Elect\", name, 0)\n		end(err)\n", Test: "TestStoreSpans"},
	})
}
