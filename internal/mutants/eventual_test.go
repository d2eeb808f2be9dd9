package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/internal/mutants"
)

// TestEventual: what workers rest on, taken away piece by piece.
func TestEventual(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes a minute")
	}
	some := []string{"-test.short"}
	mutants.Run(t, "./eventual", []mutants.Mutant{
		{Name: "a message is dropped whose write may still be done", File: "internal/engine/record.go",
			Old: "\tswitch state, err := t.abort(ctx, partition, id); {\n", New: "\tswitch state, err := RecordAborted, error(nil); {\n", Test: "TestEveryFault/Insert"},
		{Name: "hints are not hidden", File: "eventual/outbox.go",
			Old: "o.box.put(ctx, text, a.Hidden)", New: "o.box.put(ctx, text, 0)", Test: "TestHidden"},
		{Name: "a writer's death is not survived", File: "eventual/outbox.go",
			Old: "	text := message{Version: version, Table: a.Table, Partition: a.Partition, Op: a.OperationID}.text()\n", New: "	text := message{Version: 0, Table: a.Table, Partition: a.Partition, Op: a.OperationID}.text()\n", Test: "TestEveryFault|TestRequests"},
		{Name: "a message is deleted before its effects are carried out", File: "eventual/work.go",
			Old: "	if v = w.carry(ctx, t, m, x); v.kind", New: "	_ = x.box.delete(context.WithoutCancel(ctx), x.d)\n	if v = w.carry(ctx, t, m, x); v.kind", Test: "TestEveryFault", Args: some},
		{Name: "an effect of an unknown kind counts as done", File: "eventual/work.go",
			Old: "			v = v.and(verdict{kind: later, told: true, after:", New: "			_ = v.and(verdict{kind: later, told: true, after:", Test: "TestReleases"},
		{Name: "what is given back is counted", File: "eventual/settle.go",
			Old: "		n.Uncounted++\n", New: "", Test: "TestSettled"},
		{Name: "poison is deleted whether it was copied or not", File: "eventual/settle.go",
			Old: "		return // it will be seen again\n", New: "", Test: "TestPoisonFirst"},
		{Name: "poison holds the error's text", File: "eventual/poison.go",
			Old: "Class: v.class, Kind: v.of,", New: "Class: v.class, Kind: fmt.Sprint(v.of, v.why),", Test: "TestNoSecrets"},
		{Name: "messages are not renewed", File: "eventual/lease.go",
			Old: "		timer := time.NewTimer(max(next, 0))\n", New: "		timer := time.NewTimer(max(next, 0) + 24*time.Hour)\n", Test: "TestRenewal"},
		{Name: "a lost message's handler goes on", File: "eventual/lease.go",
			Old: "func() { x.cancel(ErrLost) })", New: "func() {})", Test: "TestLost"},
		{Name: "more is taken than can be worked on", File: "eventual/lane.go",
			Old: "	free = l.most - l.running\n", New: "	free = l.most\n", Test: "TestConcurrency"},
		{Name: "partitions are not bounded", File: "eventual/hand.go",
			Old: "w.of[x.partition] >= w.opt.PerPartition {\n", New: "w.of[x.partition] < 0 {\n", Test: "TestBounds"},
		{Name: "an update wipes the message", File: "eventual/outbox.go",
			Old: "h.o.box.update(ctx, h.d, h.d.text, 0)", New: "h.o.box.update(ctx, h.d, \"\", 0)", Test: "TestTrapT18|TestRequests"},
		{Name: "what is poison ends what is not", File: "eventual/work.go",
			Old: "	if o.kind > v.kind {\n", New: "	if o.kind == never || o.kind > v.kind && v.kind != never {\n", Test: "TestSeveralEffects"},
		{Name: "an outage of the tables is the messages' fault", File: "eventual/work.go",
			Old: "	return verdict{kind: later, own: true, why: err}\n", New: "	return verdict{kind: again, class: ClassAttempts, why: err}\n", Test: "TestTablesDown"},
		{Name: "forged counts are believed", File: "eventual/message.go",
			Old: "		if *p < 0 || *p > left {\n", New: "		if false {\n", Test: "TestDeadlyForged"},
		{Name: "Drain does not look once more", File: "eventual/lane.go",
			Old: "	return l.running == 0 && len(l.held) == 0\n", New: "	return true\n", Test: "TestDrainIsHonest|TestDrainLooksAgain"},
		{Name: "a clean-up is noted and not sent", File: "eventual/cleanup.go",
			Old: "		return err\n	}\n	if !w.opt.Now()", New: "	}\n	if !w.opt.Now()", Test: "TestCleanUpLost"},
		{Name: "a clean-up deletes what is live", File: "internal/engine/records.go",
			Old: "\treturn err == nil && rec.State != RecordPending\n", New: "\treturn err == nil && rec.State != 0\n", Test: "TestCleanUp$"},
		{Name: "messages of a busy partition go back", File: "eventual/hand.go",
			Old: "	for len(l.held) > l.most {\n", New: "	for len(l.held) > 0 {\n", Test: "TestBusyPartition$"},
		{Name: "nothing is taken behind a busy partition", File: "eventual/lane.go",
			Old: "	l.deep = true\n", New: "	return 0, 0\n", Test: "TestBusyPartitionBesides"},
		{Name: "a busy partition is looked behind at once", File: "eventual/lane.go",
			Old: "	due := l.fetched.Add(l.idle / 2)\n", New: "	due := l.fetched\n", Test: "TestBusyPartition$"},
		{Name: "a fast partition is waited for", File: "eventual/lane.go",
			Old: "behind.Before(due)", New: "false", Test: "TestBusyPartitionBesides/fast"},
		{Name: "the context of a message stays", File: "eventual/hand.go",
			Old: "	x.cancel(nil)", New: "	", Test: "TestContextsEnd"},
		{Name: "an outage is the messages' fault", File: "eventual/work.go",
			Old: "[]error{table.ErrUnreachable, ", New: "[]error{", Test: "TestOutage"},
		{Name: "a message that kills its worker is tried for ever", File: "eventual/deaths.go",
			Old: "	case !x.lone && x.suspicious():\n", New: "	case false:\n", Test: "TestDeadlyForged"},
		{Name: "a message that may kill its worker is not worked on alone", File: "eventual/hand.go",
			Old: "w.exclusive || x.lone ||", New: "w.exclusive ||", Test: "TestDeadlyAlone"},
		{Name: "what dies with a deadly message is poison", File: "eventual/deaths.go",
			Old: "	return x.notes.Alone >= int64(", New: "	return x.unended() >= int64(", Test: "TestDeadly$"},
		{Name: "a death is an attempt", File: "eventual/settle.go",
			Old: "x.failures()+1 >= x.w.opt.Attempts", New: "x.attempt() >= x.w.opt.Attempts", Test: "TestDeadly$"},
		{Name: "an unreadable answer is the message's fault", File: "eventual/work.go",
			Old: "			return true // not the service's", New: "			return false // not the service's", Test: "TestOutage"},
		{Name: "what has waited counts as an outage", File: "eventual/settle.go",
			Old: "x.pause(int(n.Away), ", New: "x.pause(int(n.Uncounted), ", Test: "TestWaitedThenAway"},
		{Name: "done commit records are notified", File: "internal/engine/records.go",
			Old: "stateProperty, RecordPending)", New: "stateProperty, RecordDone)", Test: "TestNotifyPending$"},
		{Name: "a partition is begun anew", File: "eventual/pending.go",
			Old: "		after = at.Op\n", New: "", Test: "TestNotifyPendingResumes"},
		{Name: "any text is a table's name", File: "eventual/message.go",
			Old: "!tableName.MatchString(m.Table) || ", New: "", Test: "TestUntrusted"},
		{Name: "the lease is counted from the response", File: "eventual/queue.go",
			Old: "receipt: *m.PopReceipt, until: until}", New: "receipt: *m.PopReceipt, until: until.Add(time.Until(until.Add(-visibility)) * -1)}", Test: "TestSlowGet"},
		{Name: "several poison messages of one text are replayed each", File: "eventual/poison.go",
			Old: " || replayed[m.Text] {\n", New: " {\n", Test: "TestReplayOnce"},
		{Name: "old names are fenced", File: "internal/engine/record.go",
			Old: "\tcase age > Retention:\n", New: "\tcase age > 1000*Retention:\n", Test: "TestUntrusted"},
	})
	mutants.Run(t, "./integration", []mutants.Mutant{
		{Name: "a killed worker's message is gone", File: "eventual/work.go",
			Old: "	if v = w.carry(ctx, t, m, x); v.kind", New: "	_ = x.box.delete(context.WithoutCancel(ctx), x.d)\n	if v = w.carry(ctx, t, m, x); v.kind", Test: "TestKill", Args: []string{"-test.short"}},
		{Name: "a killed worker's move is not taken up", File: "archive/handler.go",
			Old: "	if archived != nil && archived.Row == nil {\n", New: "	if archived != nil {\n", Test: "TestKill", Args: []string{"-test.short"}},
	})
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "an intent is closed past its ETag", File: "internal/engine/record.go",
			Old: "Match: rec.ETag, Named: true", New: "Match: `*`, Named: true", Test: "TestCompletingRaces"},
		{Name: "effects are cut inside a character", File: "internal/engine/record.go",
			Old: "		for !utf8.RuneStart(s[cut]) {\n", New: "		for !utf8.RuneStart(s[cut]) && false {\n", Test: "TestEffectsInAnyLanguage"},
		{Name: "a service that is not reached is like any other error", File: "internal/engine/errors.go",
			Old: "	if wire.Unreached(ctx, err) {\n", New: "	if false {\n", Test: "TestUnreachable"},
		{Name: "a write that was not sent is like any other error", File: "internal/engine/errors.go",
			Old: "	case wire.NotSent:\n		if call.Unreached(err) {\n", New: "	case wire.NotSent:\n		if false {\n", Test: "TestUnreachable"},
		{Name: "the end of the caller's context is the service's", File: "internal/wire/outcome.go",
			Old: "	return !callerStopped(ctx)\n", New: "	return true\n", Test: "TestUnreachableOrCancelled"},
		{Name: "an effect is settled past the intent's ETag", File: "internal/engine/completion.go",
			Old: "Match: c.Record.ETag", New: "Match: `*`", Test: "TestCompletingRaces"},
	})
}
