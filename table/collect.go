package table

import "iter"

// Collect reads a list into a slice:
//
//	jones, err := table.Collect(byName.List(ctx, staff, dept.Of("Sales"), "Jones"))
//
// It ends at the first error, and returns the values before it with that error; of a list with a [Cursor], the rest can be read
// later. [Table.GetMany] yields ErrNotFound for each missing row, so Collect ends at the first missing row. The slice is nil if the
// list yields nothing. All values are in memory at the same time: if the list may be long, set Query.Limit or Query.Budget, or use
// a loop. Requests are those of the list.
func Collect[V any](list iter.Seq2[V, error]) ([]V, error) {
	if list == nil {
		return nil, nilArgument("list")
	}
	var all []V
	for v, err := range list {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}
