// Package mixed reads partitions that contain entities of several Go types.
//
// Each type has its own handle of the table. A [Reader] returns each row as an entity of its own type:
//
//	staff, err := table.New(service, "staff", employeeSchema, nil)
//	reviews, err := table.New(service, "staff", reviewSchema, nil)
//	reader, err := mixed.New(staff, reviews)
//
//	// Employee 123 and all her reviews, in one query.
//	q := table.Query[table.Row]{Partition: dept.Of("Sales"), Rows: keys.Family(empid.Of(123))}
//	for x, err := range reader.List(ctx, q) {
//		if err != nil {
//			return err
//		}
//		switch x := x.(type) {
//		case *table.Entity[Employee]:
//			fmt.Println(x.Value.LastName)
//		case *table.Entity[Review]:
//			fmt.Println(x.Value.Year, x.Value.Rating)
//		}
//	}
//
// A row belongs to the type that it names (table.Schema.Type), or to the only type whose layouts decode its keys. Every other row
// is a table.Row, so a list leaves out no entity. The handles of the types write the entities; table.Transact and table.InPartition
// write entities of several types together.
package mixed
