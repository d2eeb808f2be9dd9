package engine

// encode makes the JSON of steps. batch reports that they are one transaction.
func encode(steps []step, batch bool, id string) {
	named := idColumn(id)
	for i := range steps {
		s := &steps[i]
		if s.deletes() && !batch {
			continue
		}
		body := *s.sent()
		if s.deletes() {
			body = noProperties(s.Key)
		}
		if batch && !s.inserts() {
			// The SDK addresses the row by the keys of the body, and does not double the quotes in them. The body's own keys are
			// then wrong, but the service goes by the address.
			body.PartitionKey, body.RowKey = doubled(body.PartitionKey), doubled(body.RowKey)
		}
		b := make([]byte, 0, body.Length+8)
		if s.StoresID {
			s.json = body.Append(b, named)
		} else {
			s.json = body.Append(b)
		}
	}
}
