package materialized

import (
	"fmt"

	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/reconcile"
	"github.com/aztablekit/aztablekit/maintain"
	"github.com/aztablekit/aztablekit/table"
)

// Attach returns a handle of the same table with these views, besides those that from has. from has an outbox, of
// [maintain.WithOutbox]. All writers of the table must use such handles. Attach sends nothing.
//
//	staff, err := maintain.WithOutbox(plain, outbox)
//	staff, err = materialized.Attach(staff, byCompany)
//	w, err := eventual.NewWorker(queue, poison, []eventual.Handler{materialized.Handler(staff)}, nil)
//
// Entities that were stored before are not in the view; [Verify] with Repair adds them, while writers continue. An entity that is
// written first is added by that write.
//
// A write that changes a view takes 3 requests instead of 1, and a worker 5, and 2 for each derived entity: one more if the derived
// entity gets another key, and the requests of the maintainers of the view's table. A write that changes no view takes no more than
// before. Errors: *DefinitionError for a wrong definition; those of [maintain.With].
func Attach[T any](from *table.Table[T], views ...Definition[T]) (*table.Table[T], error) {
	if err := engine.CheckHandle("from", from.Engine()); err != nil {
		return nil, fmt.Errorf("materialized: Attach: %w", table.ErrorOf(err))
	}
	fail := func(err error) (*table.Table[T], error) {
		return nil, fmt.Errorf("materialized: Attach %s: %w", from.Name(), err)
	}
	t := from
	for _, v := range views {
		if isNil(v) {
			return fail(&table.ValueError{Field: "views", Reason: "contain nil or a zero View; use one of materialized.New"})
		}
		if err := v.check(from); err != nil {
			return fail(err)
		}
		if t.Engine().Mode.Maintainer(prefix+v.Name()) != nil {
			return fail(&DefinitionError{View: v.Name(), Field: "name", Reason: "is the name of another view of the table"})
		}
		var err error
		if t, err = maintain.With(t, maintain.Maintainer[T](v.maintainer(from))); err != nil {
			return fail(err)
		}
	}
	for _, v := range viewsOf(t) {
		if v.inline() {
			out := reconcile.Inline(t.Engine().Mode.Outbox, Handler(t))
			return t.InMode(func(m *engine.Mode) { m.Outbox = out }), nil
		}
	}
	return t, nil
}

// Handler returns the handler for all views of t, a handle of [Attach], for [eventual.NewWorker]. Workers of a release without one
// of the views leave its effects to other workers. Requests of an effect: 1, and 2 for each derived entity that it names.
func Handler[T any](t *table.Table[T]) eventual.Handler {
	if t.Engine() == nil {
		return eventual.Handler{} // which NewWorker refuses
	}
	var all []reconcile.Definition
	for _, v := range viewsOf(t) {
		all = append(all, v)
	}
	return reconcile.Handler(kindOf(t), t, all...)
}
