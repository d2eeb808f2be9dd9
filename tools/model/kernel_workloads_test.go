package model

// changeValue changes the unique value of an entity to another one. The value v has the pointer in the row pointers[v], and the number of
// the entity's row + 1 is stored there.
func changeValue(e, home, value uint8, ops ...uint8) kernelAction {
	name := "change of a unique value"
	return kernelAction{name, ops, home, 1<<1 | 1<<2, []uint8{e, pointers[1], pointers[2]}, func(seen truths) (plan kernelPlan, ok bool) {
		old, owner := seen[e], e+1
		if old == 0 || old == value || seen[pointers[value]] != 0 {
			return plan, false
		}
		if old != noValue {
			plan[pointers[old]] = planned{rowDeleted, 0}
		}
		plan[e] = planned{rowReplaced, value}
		plan[pointers[value]] = planned{rowInserted, owner}
		return plan, true
	}}
}

// createWithValue inserts an entity with a unique value. It does not read the entity's row before.
func createWithValue(e, home, value uint8, ops ...uint8) kernelAction {
	return kernelAction{"create with a unique value", ops, home, 1 << value, []uint8{pointers[value]}, func(seen truths) (plan kernelPlan, ok bool) {
		plan[e], plan[pointers[value]] = planned{rowInserted, value}, planned{rowInserted, e + 1}
		return plan, seen[pointers[value]] == 0
	}}
}

// In the workloads of unique values the rows 1 and 2 are pointers, in the partitions 1 and 2. The values of entities are 1, 2 or none.
var pointers = [...]uint8{1: 1, 2: 2}

const noValue = 3

// claimed reports whether each value of an entity is claimed by the entity, and every claim is that of an entity with the value.
func claimed(entities ...uint8) func(truths) bool {
	return func(all truths) bool {
		for value := uint8(1); value <= 2; value++ {
			for _, e := range entities {
				if (all[e] == value) != (all[pointers[value]] == e+1) {
					return false
				}
			}
		}
		return true
	}
}

// moveCounted moves an entity into a partition with a summary, and out of one if out is not 0.
func moveCounted(from, to, home, participant, out, into uint8, ops ...uint8) kernelAction {
	reads := []uint8{from, into}
	if out != 0 {
		reads = append(reads, out)
	}
	return kernelAction{"move with summaries", ops, home, 1 << participant, reads, func(seen truths) (plan kernelPlan, ok bool) {
		plan[from], plan[to], plan[into] = planned{rowDeleted, 0}, planned{rowInserted, seen[from]}, planned{rowReplaced, seen[into] + 1}
		if out != 0 {
			plan[out] = planned{rowReplaced, seen[out] - 1}
		}
		return plan, seen[from] != 0
	}}
}

// insertCounted inserts an entity into a partition with a summary.
func insertCounted(r, into, home uint8, ops ...uint8) kernelAction {
	return kernelAction{"insert with a summary", ops, home, 0, []uint8{into}, func(seen truths) (plan kernelPlan, ok bool) {
		plan[r], plan[into] = planned{rowInserted, 1}, planned{rowReplaced, seen[into] + 1}
		return plan, true
	}}
}

// counted reports whether the summary contains the number of entities, + 1.
func counted(summary int, entities ...int) func(truths) bool {
	return func(all truths) bool {
		n := uint8(1)
		for _, e := range entities {
			if all[e] != 0 {
				n++
			}
		}
		return all[summary] == n
	}
}

func both(a, b func(truths) bool) func(truths) bool {
	return func(all truths) bool { return a(all) && b(all) }
}

// movePointed moves an entity with a unique value.
func movePointed(from, to, home, participant, pointer, partition uint8, ops ...uint8) kernelAction {
	return kernelAction{"move with a unique value", ops, home, 1<<participant | 1<<partition, []uint8{from, pointer},
		func(seen truths) (plan kernelPlan, ok bool) {
			plan[from], plan[to], plan[pointer] = planned{rowDeleted, 0}, planned{rowInserted, seen[from]}, planned{rowReplaced, to + 1}
			return plan, seen[from] != 0
		}}
}

// moveClaimed moves an entity with one of two unique values.
func moveClaimed(from, to, home, participant uint8, ops ...uint8) kernelAction {
	return kernelAction{"move with a unique value", ops, home, 1<<participant | 1<<1 | 1<<2, []uint8{from, pointers[1], pointers[2]},
		func(seen truths) (plan kernelPlan, ok bool) {
			if seen[from] != 1 && seen[from] != 2 {
				return plan, false
			}
			pointer := pointers[seen[from]]
			plan[from], plan[to], plan[pointer] = planned{rowDeleted, 0}, planned{rowInserted, seen[from]}, planned{rowReplaced, to + 1}
			return plan, seen[pointer] == from+1
		}}
}

// signsOff sets a row to 2 if the other row is 1. The other row is marked, unless markless.
func signsOff(r, home, other, participant uint8, markless bool, ops ...uint8) kernelAction {
	return kernelAction{"sign off", ops, home, 1 << participant, []uint8{r, other}, func(seen truths) (plan kernelPlan, ok bool) {
		if plan[r] = (planned{rowReplaced, 2}); !markless {
			plan[other] = planned{rowReplaced, seen[other]}
		}
		return plan, seen[r] == 1 && seen[other] == 1
	}}
}

// kernelWorkloads are the scripts of users that run concurrently.
var kernelWorkloads = []kernelWorkload{
	{name: "move", k: kernelProtocol{party: truths{0, 1}, start: truths{1}, crashes: 1, holds: onePlace(0, 1),
		users: [][]kernelAction{{moveRow(0, 1, 0, 1, 1)}}}},
	{name: "move, update and get", k: kernelProtocol{party: truths{0, 1}, start: truths{1}, crashes: 1, holds: onePlace(0, 1),
		users: [][]kernelAction{{moveRow(0, 1, 0, 1, 1, 2)}, {local("update", 0, 0, 3, updates)}, {gets(1), gets(1)}}}},
	{name: "move and delete", k: kernelProtocol{party: truths{0, 1}, start: truths{1}, crashes: 3, holds: atMostOnePlace(0, 1),
		users: [][]kernelAction{{moveRow(0, 1, 0, 1, 1, 2)}, {local("delete", 0, 0, 3, removes), local("delete", 1, 1, 4, removes)}}}},
	{name: "move and insert at the target", k: kernelProtocol{party: truths{0, 1}, start: truths{1}, crashes: 3,
		holds: func(all truths) bool { return (all[0] == 1) != (all[1] == 1) },
		users: [][]kernelAction{{moveRow(0, 1, 0, 1, 1, 2)}, {local("insert", 1, 1, 3, insertsIf(4)),
			local("delete", 1, 1, 4, func(value uint8) uint8 {
				if value == 4 {
					return 0
				}
				return value
			})}}}},
	{name: "two moves of one entity", k: kernelProtocol{party: truths{0, 1, 2}, start: truths{1}, crashes: 3, holds: onePlace(0, 1, 2),
		users: [][]kernelAction{{moveRow(0, 1, 0, 1, 1, 3)}, {moveRow(0, 2, 0, 2, 2)}, {gets(2, 1)}}}, size: long},
	{name: "move and move back", k: kernelProtocol{party: truths{0, 1}, start: truths{1}, crashes: 3, holds: onePlace(0, 1),
		users: [][]kernelAction{{moveRow(0, 1, 0, 1, 1), moveRow(0, 1, 0, 1, 4)}, {moveRow(1, 0, 1, 0, 2, 3)}}}},
	{name: "a unique value changes", k: kernelProtocol{party: truths{0, 1, 2}, start: truths{1, 1}, crashes: 1, holds: claimed(0),
		users: [][]kernelAction{{changeValue(0, 0, 2, 1)}, {gets(1, 2)}}}},
	{name: "a unique value is handed over", k: kernelProtocol{party: truths{0, 1, 2, 3}, start: truths{1, 1, 0, noValue}, crashes: 3, holds: claimed(0, 3),
		users: [][]kernelAction{{changeValue(0, 0, 2, 1, 2)}, {changeValue(3, 3, 1, 3, 4)}}}},
	{name: "a unique value changes and changes back", k: kernelProtocol{party: truths{0, 1, 2, 3}, start: truths{1, 1, 0, noValue}, crashes: 3, holds: claimed(0, 3),
		users: [][]kernelAction{{changeValue(0, 0, 2, 1), changeValue(0, 0, 1, 2)}, {changeValue(3, 3, 1, 3)}}}, size: long},
	{name: "two claim a unique value", k: kernelProtocol{party: truths{0, 1, 2, 3}, start: truths{noValue, 0, 0, noValue}, crashes: 3, holds: claimed(0, 3),
		users: [][]kernelAction{{changeValue(0, 0, 1, 1, 2)}, {changeValue(3, 3, 1, 3, 4)}}}, size: long},
	{name: "create with a unique value, delete without", k: kernelProtocol{party: truths{0, 1, 2}, start: truths{noValue}, crashes: 3, holds: claimed(0),
		users: [][]kernelAction{{createWithValue(0, 0, 1, 1, 2)}, {local("delete", 0, 0, 3, func(value uint8) uint8 {
			if value == noValue {
				return 0
			}
			return value
		})}}}},
	{name: "move with a unique value, and back", k: kernelProtocol{party: truths{0, 1, 2}, start: truths{1, 0, 1}, crashes: 3,
		holds: both(onePlace(0, 1), func(all truths) bool { return all[all[2]-1] == 1 }),
		users: [][]kernelAction{{movePointed(0, 1, 0, 1, 2, 2, 1, 2)}, {movePointed(1, 0, 1, 0, 2, 2, 3)}}}},
	{name: "two moves into a summary", k: kernelProtocol{party: truths{0, 2, 1, 1, 1}, start: truths{1, 1, 0, 0, 1}, crashes: 3,
		holds: both(counted(4, 2, 3), both(onePlace(0, 2), onePlace(1, 3))),
		users: [][]kernelAction{{moveCounted(0, 2, 0, 1, 0, 4, 1, 2)}, {moveCounted(1, 3, 2, 1, 0, 4, 3)}}}},
	{name: "move and insert into a summary", k: kernelProtocol{party: truths{0, 0, 1, 1, 1, 0}, start: truths{1, 0, 0, 0, 1, 2}, crashes: 3,
		holds: both(counted(4, 2, 3), both(counted(5, 0), onePlace(0, 2))),
		users: [][]kernelAction{{moveCounted(0, 2, 0, 1, 5, 4, 1, 2)}, {insertCounted(3, 4, 1, 3)}}}},
	{name: "two that read each other", k: kernelProtocol{party: truths{0, 1}, start: truths{1, 1}, crashes: 3,
		holds: func(all truths) bool { return all[0] == 1 || all[1] == 1 },
		users: [][]kernelAction{{signsOff(0, 0, 1, 1, false, 1, 2)}, {signsOff(1, 1, 0, 0, false, 3, 4)}}}},
	{name: "move and the queue is cleared", k: kernelProtocol{party: truths{0, 1}, start: truths{1}, crashes: 3, holds: onePlace(0, 1), clears: true, verify: true,
		users: [][]kernelAction{{moveRow(0, 1, 0, 1, 1, 2)}, {moveRow(1, 0, 1, 0, 3)}}}},
	{name: "a value changes and the queue is cleared", k: kernelProtocol{party: truths{0, 1, 2, 3}, start: truths{1, 1, 0, noValue}, crashes: 3, holds: claimed(0, 3),
		clears: true, verify: true, users: [][]kernelAction{{changeValue(0, 0, 2, 1)}, {changeValue(3, 3, 1, 3)}}}, size: long},
	{name: "move while the retention passes", k: kernelProtocol{party: truths{0, 1}, start: truths{1}, crashes: 3, holds: onePlace(0, 1), sleeps: true,
		users: [][]kernelAction{{moveRow(0, 1, 0, 1, 1)}, {moveRow(1, 0, 1, 0, 2)}}, reader: kernelReading{rows: []uint8{1}}}, size: long},
	{name: "move with two workers", k: kernelProtocol{party: truths{0, 1}, start: truths{1}, crashes: 3, holds: onePlace(0, 1), moreWorkers: 1,
		users: [][]kernelAction{{moveRow(0, 1, 0, 1, 1)}, {moveRow(1, 0, 1, 0, 2)}}}},
	{name: "move and change of a unique value", size: long, k: kernelProtocol{party: truths{0, 1, 2, 3}, start: truths{1, 1}, crashes: 3,
		holds: both(onePlace(0, 3), claimed(0, 3)),
		users: [][]kernelAction{{moveClaimed(0, 3, 0, 3, 1)}, {changeValue(0, 0, 2, 3)}}}},
	{name: "move and change of a unique value, in two attempts", k: kernelProtocol{party: truths{0, 1, 2, 3}, start: truths{1, 1}, crashes: 3,
		holds: both(onePlace(0, 3), claimed(0, 3)),
		users: [][]kernelAction{{moveClaimed(0, 3, 0, 3, 1, 2)}, {changeValue(0, 0, 2, 3, 4)}}}, size: huge},
	{name: "move against two moves, update and get", k: kernelProtocol{party: truths{0, 1, 2}, start: truths{1}, crashes: 1, holds: onePlace(0, 1, 2),
		users: [][]kernelAction{{moveRow(0, 1, 0, 1, 1, 3)}, {moveRow(0, 2, 0, 2, 2), moveRow(2, 0, 2, 0, 4)}, {local("update", 1, 1, 5, updates), gets(2)}}},
		size: huge},
	{name: "move with a unique value, and a claim", k: kernelProtocol{party: truths{0, 1, 2, 3, 3}, start: truths{1, 1, 0, 0, noValue}, crashes: 3,
		holds: both(onePlace(0, 3), claimed(0, 3, 4)),
		users: [][]kernelAction{{moveClaimed(0, 3, 0, 3, 1), changeValue(3, 3, 2, 2)}, {changeValue(4, 3, 1, 3, 4)}}}},
	{name: "reader of a row", k: kernelProtocol{party: truths{0, 0, 1, 1, 1}, start: truths{1, 1, 0, 0, 1}, crashes: 3,
		holds: both(counted(4, 2, 3), both(onePlace(0, 2), onePlace(1, 3))),
		users: [][]kernelAction{{moveCounted(0, 2, 0, 1, 0, 4, 1)}, {moveCounted(1, 3, 0, 1, 0, 4, 3)}}, noLate: true, reader: kernelReading{rows: []uint8{4}}}},
	{name: "reader of a page", k: kernelProtocol{party: truths{0, 2, 1, 1}, start: truths{1, 1}, crashes: 3, holds: both(onePlace(0, 2), onePlace(1, 3)),
		users: [][]kernelAction{{moveRow(0, 2, 0, 1, 1)}, {moveRow(1, 3, 2, 1, 2)}}, noLate: true, reader: kernelReading{rows: []uint8{2, 3}}}},
	{name: "reader of a page with a row that is not moved", k: kernelProtocol{party: truths{0, 1, 1}, start: truths{1, 0, 1}, crashes: 3,
		holds: onePlace(0, 1), noLate: true,
		users: [][]kernelAction{{moveRow(0, 1, 0, 1, 1)}, {local("update", 2, 1, 2, updates)}}, reader: kernelReading{rows: []uint8{1, 2}}}},
	{name: "reader of a row, moved twice", k: kernelProtocol{party: truths{0, 1}, start: truths{1}, crashes: 3, holds: onePlace(0, 1),
		users: [][]kernelAction{{moveRow(0, 1, 0, 1, 1), local("update", 1, 1, 2, updates), moveRow(1, 0, 1, 0, 3)}}, reader: kernelReading{rows: []uint8{1}}}},
	{name: "look-up and a move", k: kernelProtocol{party: truths{0, 1, 2}, start: truths{1, 0, 1}, crashes: 3,
		holds: both(onePlace(0, 1), func(all truths) bool { return all[all[2]-1] == 1 }), noLate: true,
		users:  [][]kernelAction{{movePointed(0, 1, 0, 1, 2, 2, 1), movePointed(1, 0, 1, 0, 2, 2, 3)}},
		reader: kernelReading{rows: []uint8{2}, lookUp: true, value: 1}}},
	{name: "look-up and a value handed over", k: kernelProtocol{party: truths{0, 1, 2, 3}, start: truths{1, 1, 0, noValue}, crashes: 3, holds: claimed(0, 3),
		noLate: true, users: [][]kernelAction{{changeValue(0, 0, 2, 1)}, {changeValue(3, 3, 1, 3)}},
		reader: kernelReading{rows: []uint8{1}, lookUp: true, value: 1}}},
}
