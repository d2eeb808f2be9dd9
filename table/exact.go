package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// UnknownError is an ErrUnknownOutcome that can be resolved: the context or the time of a write with a commit record ended before the
// outcome was known. Another process can resolve it by Table, Partition and Op; see [CommitRecords.Resolve].
type UnknownError struct {
	Table, Partition string
	Op               string // the operation ID
	Err              error  // of the last request

	write *write
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("%s (%s; its name is %s)", ErrUnknownOutcome, brief(cause(e.Err)), e.Op)
}

// Unwrap returns ErrUnknownOutcome and Err.
func (e *UnknownError) Unwrap() []error { return []error{ErrUnknownOutcome, e.Err} }

// Resolve reports whether the write was applied. If it was not, it never will be. The entities of the write can then be used again:
// with their new ETags if it was applied, unchanged if it was not. Errors: ErrExpired if the write is older than 24 hours and has no
// commit record; those of any read. 1 request if the write was not applied; otherwise 2, and 1 for each entity; none if it was
// resolved before. Idempotent.
func (e *UnknownError) Resolve(ctx context.Context) (done bool, err error) {
	w := e.write
	if w == nil {
		return false, &ValueError{Field: "UnknownError", Reason: "was not returned by a write; use CommitRecords.Resolve"}
	}
	w.resolving.Lock()
	defer w.resolving.Unlock()
	if w.resolved {
		return w.wasDone, nil
	}
	ctx, end := w.core.span(ctx, "Resolve")
	defer func() { end(err) }()
	ctx, cancel := bound(ctx, w.core.opt.WriteTimeout)
	defer cancel()
	fail := func(err error) (bool, error) {
		return false, w.core.opError("Resolve", keys.Stored(e.Partition, reserved.CommitRecord+e.Op), err)
	}
	state, err := w.core.abort(ctx, e.Partition, e.Op)
	if err != nil {
		return fail(err)
	}
	if w.resolved, w.wasDone = true, state != CommitAborted; w.wasDone {
		w.renewEntities(own(w, w.etags(ctx, -1, "")))
		return true, nil
	}
	for _, op := range w.ops {
		if op.certain != nil {
			op.certain()
		}
	}
	return false, nil
}

// unknown is the error of a write with an intent whose outcome is not known.
func (w *write) unknown(err error) error {
	return &UnknownError{Table: w.core.name, Partition: w.partition(), Op: w.id, Err: err, write: w}
}

// refusedExactly is refused for a write with an intent. Where that is there already, it says what has become of the write.
// Everything else was refused before it was done, and is not done twice: so another plan may be sent under the same name.
func (w *write) refusedExactly(ctx context.Context, out outcome) outcome {
	if out.failed != 0 || !errors.Is(out.err, ErrExists) {
		return out
	}
	i, err := w.core.commitRecord(ctx, w.partition(), w.id)
	switch {
	case err != nil || i == nil:
		w.blank = err == nil
		w.doubt = either(w.doubt, &condition{ErrUnknownOutcome, either(err, errVanished)})
		return outcome{verdict: wire.Unknown, failed: -1, err: w.doubt}
	case i.State == CommitAborted:
		w.doubt = nil
		out.dead, out.err = true, &condition{ErrGivenUp, errors.New("somebody has put a marker in the place of its intent")}
		return out
	}
	return outcome{verdict: wire.Done, etags: w.etags(ctx, -1, "")}
}

var errVanished = errors.New("its intent was there and is gone")

// intent reads an intent, nil if there is none. 1 request.
func (c *core) commitRecord(ctx context.Context, partition, name string) (*CommitRecord, error) {
	f, err := c.find(ctx, recordKey(partition, name))
	if err != nil || f.row == nil {
		return nil, err
	}
	return recordOf(f.row)
}

// fence puts a marker in the place of an intent, so that its write can never be done any more, or finds that it was done. It
// tries until the context is over, or the default WriteTimeout where it has no end. Errors: those of fresh, if there is no intent.
func (c *core) abort(ctx context.Context, partition, name string) (state CommitState, err error) {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultWriteTimeout)
		defer cancel()
	}
	pause := c.opt.Retry.Wait
	if pause < 0 {
		pause = defaultDelay
	}
	for try := 1; ; try++ {
		var final bool
		if state, final, err = c.abortOnce(ctx, partition, name); err == nil || final {
			return state, err
		}
		if sleep(ctx, backOff(try, pause, max(c.opt.Retry.MaxWait, pause))) != nil {
			return 0, err
		}
	}
}

// fenceOnce is one try of fence. final tells that another one meets the same error. The age of the write is looked at before each
// request, and again when the marker is stored: this machine may have been suspended in between, and the write's own intent swept.
func (c *core) abortOnce(ctx context.Context, partition, name string) (state CommitState, final bool, err error) {
	if old := c.fresh(name); old != nil {
		i, err := c.commitRecord(ctx, partition, name)
		if err != nil || i == nil {
			return 0, err == nil, either(err, old)
		}
		return i.State, true, nil
	}
	op, err := c.recordOp(partition, name, CommitAborted, nil)
	if err != nil {
		return 0, true, err
	}
	var call wire.Call
	etag, err := op.request(call.Write(ctx, c.tryTimeout()))
	err = call.CheckWrite(string(etag), err)
	verdict := call.Verdict(err)
	err = c.judged(&call, wire.Redact(err))
	switch {
	case verdict == wire.Done:
		if old := c.fresh(name); old != nil {
			return 0, true, old
		}
		return CommitAborted, true, nil
	case verdict == wire.Refused && errors.Is(err, ErrExists):
		i, err := c.commitRecord(ctx, partition, name)
		if err != nil || i == nil {
			return 0, err == nil, either(err, errVanished)
		}
		return i.State, true, nil
	}
	return 0, verdict == wire.Refused || verdict == wire.NotSent && !dialing(err), err
}

// CommitRecordRetention is how long intents are kept. What is older has left nothing, and nothing can be said of it.
const CommitRecordRetention = 24 * time.Hour

// fresh tells whether the absence of a write's intent means that it was not done.
func (c *core) fresh(name string) error {
	began, err := opTimeOf(name)
	switch age := c.opt.Now().Sub(began); {
	case err != nil:
		return err
	case age > CommitRecordRetention:
		return ErrExpired
	case age < -CommitRecordRetention:
		return &ValueError{Field: "Op", Reason: "is of a time to come"}
	}
	return nil
}

// cause is what stands behind a condition.
func cause(err error) error {
	if c, is := err.(*condition); is {
		return c.cause
	}
	return err
}
