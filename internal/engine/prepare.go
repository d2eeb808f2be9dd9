package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/internal/wire"
	"github.com/aztablekit/aztablekit/keys"
)

// prepare prepares the participants of the transaction, all at the same time. If one of them is
// refused, the others are rolled back, and the write is planned again if that may help: with
// another operation ID, so that what was prepared belongs to no write that can commit.
func (w *write) prepare(ctx context.Context, conflicts *Conflicts) state {
	all, prepared := w.sendPreparations(ctx)
	if prepared {
		return stateReady
	}
	_, err := w.abortAndRollBack(ctx)
	bad, repaired, again := reviewPreparations(ctx, all)
	w.refusedIn = bad.place()
	if again && !repaired {
		more, ended := conflicts.Wait(ctx, w.log(), bad.out.err)
		if again = more; !again {
			bad.out = bad.contended(bad.out, ended)
		}
	}
	if err != nil {
		w.notification = nil // it stays, and a worker rolls back
	}
	if again {
		if err := w.restartWithNewID(ctx); err != nil {
			bad.out.err = err
		} else {
			return stateBegun
		}
	}
	w.withdraw(ctx)
	w.out = bad.out
	if w.out.kind == wire.Unknown { // what is prepared and not committed is not applied
		w.out.err = errs.With(errs.ErrGivenUp, errs.Cause(w.out.err))
	}
	return stateAborted
}

// sendPreparations prepares the participants, that of w.first before the others, and returns those
// that it has sent. If the first one is refused, the others keep their ETags.
func (w *write) sendPreparations(ctx context.Context) (sent []*participant, prepared bool) {
	first, rest := []*participant(nil), w.currentTransaction.participants
	if i := slices.IndexFunc(rest, func(m *participant) bool { return m.at.Same(w.first) }); i >= 0 {
		first, rest = rest[i:i+1], slices.Concat(rest[:i], rest[i+1:])
	}
	prepared = true
	for _, group := range [][]*participant{first, rest} {
		if !prepared {
			break
		}
		sent = append(sent, group...)
		_ = All(ctx, group, func(ctx context.Context, m *participant) error {
			m.write.out = w.sendPreparation(ctx, m)
			return nil
		})
		prepared = !slices.ContainsFunc(group, func(m *participant) bool { return m.write.out.kind != wire.Done })
	}
	return sent, prepared
}

// reviewPreparations finds out whether another plan may succeed, after all participants were rolled
// back: it reads the rows of those that were refused, and of those that were prepared, which have
// other ETags now. bad is the participant because of which no plan can succeed, or else the first
// that was not prepared.
func reviewPreparations(ctx context.Context, all []*participant) (bad *write, repaired, again bool) {
	type review struct{ repaired, again bool }
	i, first := 0, (*write)(nil)
	repaired, again = true, true
	InOrder(ctx, all, func(ctx context.Context, m *participant) (r review, _ error) {
		switch m.write.out.kind {
		case wire.Done:
			m.readAgain(ctx)
			return review{true, true}, nil
		case wire.Refused:
			r.repaired, r.again = m.write.canReplan(ctx)
		}
		return r, nil
	}, func(r review, _ error) bool {
		p := all[i].write
		i++
		if first == nil && p.out.kind != wire.Done {
			first = p
		}
		if bad == nil && !r.again {
			bad = p
		}
		repaired, again = repaired && r.repaired, again && r.again
		return true
	})
	return cmp.Or(bad, first), repaired, again
}

// readAgain reads the rows of the participant again that were read because they were not as an
// earlier plan expected. A row that cannot be read is refused at the next attempt.
func (m *participant) readAgain(ctx context.Context) {
	p := m.write
	for i := range m.steps {
		k := m.steps[i].Key
		if _, known := p.corrections[k.RowKey()]; !known {
			continue
		}
		if f, err := p.readRow(ctx, k); err == nil {
			p.corrections[k.RowKey()] = f
		}
	}
}

// sendPreparation sends the transaction that prepares a participant until its outcome is known, or
// the time or the attempts are used up.
func (w *write) sendPreparation(ctx context.Context, m *participant) outcome {
	m.etags = nil
	tx := m.prepare
	withID(tx.steps, w.id)
	withID(tx.added, w.id)
	tries := attempts{retry: Retry(w.table.Options.Retry), log: m.write.log()}
	for {
		if w.stale() || w.lateLease() != nil {
			return outcome{kind: wire.Refused, failed: -1, neverApplies: true, err: errs.With(errs.ErrGivenUp, w.whyStale())}
		}
		under, cancel := w.underLease(ctx)
		etags, failed, verdict, err := m.table.transactWith(under, tx.steps, tx.added)
		cancel()
		m.write.currentTransaction = transaction{steps: tx.steps[1 : 1+len(m.steps)], batch: true}
		switch {
		case verdict == wire.Done:
			m.etags = etags
			return outcome{kind: wire.Done}
		case verdict == wire.Refused && failed == 0 && errors.Is(err, errs.ErrExists):
			return w.preparedBefore(ctx, m, err)
		case verdict == wire.Refused:
			return m.refused(failed, err)
		}
		if !tries.wait(ctx, err) {
			return outcome{kind: wire.Unknown, failed: -1, err: err}
		}
	}
}

// preparedBefore is the outcome if a preparation exists: by an earlier request of this one, or
// rolled back since.
func (w *write) preparedBefore(ctx context.Context, m *participant, refusal error) outcome {
	f, err := m.table.readStored(ctx, preparationKey(m.at.Partition, w.id))
	if err == nil && f.row != nil {
		if p, err := preparationOf(f.row); err == nil && !p.over {
			return outcome{kind: wire.Done} // its ETags are not known: the resolver finishes it
		}
	}
	return outcome{kind: wire.Refused, failed: -1, neverApplies: true, err: errs.With(errs.ErrGivenUp, refusal)}
}

// refused is the outcome if the service has refused a step of the preparation, in the terms of the
// caller.
func (m *participant) refused(failed int, err error) outcome {
	var be *errs.BatchError
	if !errors.As(err, &be) || failed < 1 || failed > len(m.steps) {
		return outcome{kind: wire.Refused, failed: -1, err: err}
	}
	own := *be
	own.Index = failed - 1
	return outcome{kind: wire.Refused, failed: failed - 1, err: m.write.inCallersTerms(&own)}
}

// preparation is what a write over several partitions has prepared in one of them. It is a row: the
// first of the transaction that prepares, so that a late duplicate of that transaction fails there.
// So the row stays for the retention when the write is over.
type preparation struct {
	key  keys.Key
	home commit.Place
	over bool // the write is finished here, or rolled back
	rows []preparedRow

	stamped bool // the partition has a stamp, which the program that ends the write stores, too
	etag    azcore.ETag
}

// preparedRow is a row that is prepared.
type preparedRow struct {
	RowKey string      `json:"row"`
	Fate   stored.Fate `json:"fate"`
	Image  int         `json:"image,omitempty"`
}

// The properties of a preparation, besides its version.
const (
	homeProperty       = "Home" // table/partition
	preparedProperty   = "Rows" // as JSON, the rest in Rows1, Rows2, …
	stampedProperty    = "Stamped"
	preparationVersion = 1
	preparationOver    = "over"
	preparationPending = "pending"
)

// preparationKey returns the key of what a write has prepared in a partition.
func preparationKey(partition, id string) keys.Key {
	return keys.Raw(partition, reserved.Prepared+id)
}

// imageKey returns the key of the row that contains the new content of a prepared row.
func imageKey(partition, id string, n int) keys.Key {
	return keys.Raw(partition, fmt.Sprintf("%s%s|%02d", reserved.Prepared, id, n))
}

// body is the row of the preparation.
func (p *preparation) body() (edm.Body, error) {
	w := edm.NewWriter(p.key.PartitionKey(), p.key.RowKey(), 4)
	w.Put(reserved.Version, edm.Value{Kind: edm.Int32, I: preparationVersion})
	state := preparationPending
	if p.over {
		state = preparationOver
	}
	w.Put(stateProperty, edm.Value{Kind: edm.String, S: state})
	w.Put(homeProperty, edm.Value{Kind: edm.String, S: p.home.Table + "/" + p.home.Partition})
	if p.stamped && !p.over {
		w.Put(stampedProperty, edm.Value{Kind: edm.Bool, I: 1})
	}
	if !p.over { // then the rows mean nothing
		b, err := json.Marshal(p.rows)
		if err != nil {
			return edm.Body{}, err
		}
		for i, chunk := range chunks(string(b), maxEffectsChunk) {
			w.Put(chunkName(preparedProperty, i), edm.Value{Kind: edm.String, S: chunk})
		}
	}
	return w.Finish()
}

// preparationOf reads a preparation from its row.
func preparationOf(r *stored.Row) (*preparation, error) {
	p := &preparation{key: r.Key, etag: r.ETag}
	if err := checkVersion(r, "preparation", preparationVersion); err != nil {
		return nil, err
	}
	p.over = stored.Find(r.Columns(), stateProperty).S == preparationOver
	p.stamped = stored.Find(r.Columns(), stampedProperty).I != 0
	p.home.Table, p.home.Partition, _ = strings.Cut(stored.Find(r.Columns(), homeProperty).S, "/")
	if err := p.home.Check(); err != nil {
		return nil, &errs.DecodeError{Field: homeProperty, Reason: "names no table and partition"}
	}
	text, err := longText(r, preparedProperty)
	if err != nil {
		return nil, err
	}
	if text != "" && json.Unmarshal([]byte(text), &p.rows) != nil {
		return nil, &errs.DecodeError{Field: preparedProperty, Reason: "is not the JSON of prepared rows"}
	}
	if len(p.rows) >= maxOperations {
		return nil, &errs.DecodeError{Field: preparedProperty, Reason: "contains more rows than a transaction"}
	}
	return p, nil
}

// end is the step that ends the preparation.
func (p *preparation) end(t *Table) (step, error) {
	over := *p
	over.over, over.rows = true, nil
	s := step{Op: &Op{Table: t, Kind: aztables.TransactionTypeUpdateReplace, Key: p.key, Match: p.etag}, opIndex: -1}
	var err error
	s.Body, err = over.body()
	return s, err
}

// libraryStep is a step on a row of the library, or on a row as a resolver leaves it.
func libraryStep(t *Table, kind aztables.TransactionType, k keys.Key, match azcore.ETag, columns []edm.Column) (step, error) {
	s := step{Op: &Op{Table: t, Kind: kind, Key: k, Match: match}, opIndex: -1}
	w := edm.NewWriter(k.PartitionKey(), k.RowKey(), len(columns))
	for _, c := range columns {
		w.PutColumn(c)
	}
	var err error
	s.Body, err = w.Finish()
	return s, err
}

// preparationFilter finds what writes over several partitions have prepared in a partition, or in
// all if it is "", before a time.
func preparationFilter(partition string, before time.Time) string {
	return filterIn(partition, fmt.Sprintf("%s ge '%s' and %s lt '%s'", edm.RowKey, reserved.Prepared, edm.RowKey, reserved.Prepared+commit.IDTime(before)))
}

// unendedFilter is preparationFilter that also finds what is of a time more than a day in the
// future: of writers whose clocks are ahead.
func unendedFilter(in keys.PartitionRange, before, now time.Time) string {
	ahead, end := reserved.Prepared+commit.IDTime(now.Add(commit.Retention)), strings.TrimSuffix(reserved.Prepared, "|")+"}"
	rows := fmt.Sprintf("(%s or (%s ge '%s' and %s lt '%s'))", preparationFilter("", before), edm.RowKey, ahead, edm.RowKey, end)
	if !in.IsSet() {
		return rows
	}
	var f query.Filter
	f.Keys(edm.PartitionKey, query.BoundsOf(in))
	return f.String() + " and " + rows
}

func filterIn(partition, rows string) string {
	if partition == "" {
		return rows
	}
	return fmt.Sprintf("%s eq %s and %s", edm.PartitionKey, edm.Quote(partition), rows)
}

// prepareSteps makes the transaction that prepares: the preparation first, then each row, marked,
// then new contents.
func (m *participant) prepareSteps(id string, home commit.Place) (transaction, error) {
	added, err := m.added()
	if err != nil {
		return transaction{}, err
	}
	p := &preparation{key: preparationKey(m.at.Partition, id), home: home, stamped: slices.ContainsFunc(added, step.isStamp)}
	var rows, images []step
	for i := range m.steps {
		s := m.steps[i]
		r := preparedRow{RowKey: s.Key.RowKey(), Fate: fateOf(&s)}
		mk := stored.Mark{ID: id, Home: home, Fate: r.Fate, ETag: s.Match}
		switch r.Fate {
		case stored.FatePart:
		case stored.FateInsert, stored.FateReserve:
			body, err := withMark(s.sent(), mk, s.StoresID)
			if err != nil {
				return transaction{}, err
			}
			s.own()
			s.Body, s.head = body, nil
		default:
			if s.Match == "" || s.Match == azcore.ETagAny {
				return transaction{}, fmt.Errorf("the row %v would be prepared without its ETag", s.Key)
			}
			if r.Fate == stored.FateReplace {
				r.Image = len(images) + 1
				mk.Image = r.Image
				image := s
				image.Op = &Op{Table: m.table, Kind: aztables.TransactionTypeAdd, Key: imageKey(m.at.Partition, id, r.Image), StoresID: s.StoresID}
				image.Body, image.head = s.sent().WithKeys(image.Key.PartitionKey(), image.Key.RowKey()), nil
				images = append(images, image)
			}
			body, err := withMark(&edm.Body{PartitionKey: s.Key.PartitionKey(), RowKey: s.Key.RowKey()}, mk, false)
			if err != nil {
				return transaction{}, err
			}
			s.Op = &Op{Table: m.table, Kind: aztables.TransactionTypeUpdateMerge, Key: s.Key, Match: s.Match, Body: body}
			s.head = nil
		}
		p.rows = append(p.rows, r)
		rows = append(rows, s)
	}
	first := step{Op: &Op{Table: m.table, Kind: aztables.TransactionTypeAdd, Key: p.key}, opIndex: -1}
	if first.Body, err = p.body(); err != nil {
		return transaction{}, err
	}
	m.images = len(images)
	t := transaction{steps: slices.Concat([]step{first}, rows, images), added: added, batch: true}
	return t, sized(t.steps, len(t.added))
}

// added returns the steps that features add to the transactions of the participant: the features of
// its rows, and in a partition of the home's table those of the home.
func (m *participant) added() ([]step, error) {
	root := m.plan.root
	ops := []*Op{{Table: m.table}}
	if m.table.Same(root.table) {
		ops = append(ops, root.ops...)
	}
	return root.addedFor(m.table, m.at.Partition, ops...)
}

func fateOf(s *step) stored.Fate {
	switch {
	case s.Keeps == KeepsRow:
		return stored.FatePin
	case s.Keeps == KeepsAbsent:
		return stored.FateReserve
	case s.inserts() && stored.Find(s.sent().Columns(), reserved.Part).Kind != edm.Absent:
		return stored.FatePart
	case s.inserts():
		return stored.FateInsert
	case s.deletes():
		return stored.FateDelete
	}
	return stored.FateReplace
}

// withMark returns a body with a mark. storesID reports that it gets an operation ID, too.
func withMark(b *edm.Body, m stored.Mark, storesID bool) (edm.Body, error) {
	w := edm.NewWriter(b.PartitionKey, b.RowKey, len(b.Columns())+1)
	for _, c := range b.Columns() {
		w.PutColumn(c)
	}
	w.PutColumn(m.Column())
	if storesID {
		w.Reserve(stored.UnassignedID)
	}
	return w.Finish()
}
