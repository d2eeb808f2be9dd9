// Package view reads some properties of the entities in a table, as a narrower Go type.
//
// A query returns all properties of each entity unless it selects some. A [View] selects the properties of its type, so that the
// service sends only these:
//
//	type Name struct {
//		LastName string
//	}
//
//	names, err := view.Of[Name](staff) // staff is a *table.Table[Employee]
//	for n, err := range names.List(ctx, table.Query[Employee]{Partition: dept.Of("Sales")}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(n.Key.RowKey(), n.Value.LastName)
//	}
//
// Each property of the type must be a property of the entities, with the same EDM type; [Of] checks this. A view takes the queries
// of its table, with conditions on any property.
//
// A view does not write. A [Projection] contains the key and the ETag of its row: to change the entity, read it by the key.
package view
