package mutants_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/internal/mutants"
)

// TestEventual: removes what workers depend on, piece by piece.
func TestEventual(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: takes a minute")
	}
	some := []string{"-test.short"}
	mutants.Run(t, "./eventual", []mutants.Mutant{
		{Name: "the message of a write that may still commit is deleted", File: "internal/engine/record_store.go",
			Old: "\tswitch state, err := t.abort(ctx, partition, id, remotes...); {\n", New: "\tswitch state, err := RecordAborted, error(nil); {\n", Test: "TestEveryFault/Insert"},
		{Name: "notifications are not hidden", File: "eventual/outbox.go",
			Old: "o.queue.put(ctx, text, n.Hidden)", New: "o.queue.put(ctx, text, 0)", Test: "TestNotificationHidden"},
		{Name: "notifications have an unknown version", File: "eventual/outbox.go",
			Old: "	m := message{Version: messageVersion, Table", New: "	m := message{Version: 0, Table", Test: "TestEveryFault|TestRequests"},
		{Name: "a message is deleted before its effects are executed", File: "eventual/execute.go",
			Old: "	if out = e.executeRecord(ctx, t, x); out.kind", New: "	_ = x.queue.delete(context.WithoutCancel(ctx), x.delivery)\n	if out = e.executeRecord(ctx, t, x); out.kind", Test: "TestEveryFault", Args: some},
		{Name: "an effect of an unknown kind counts as done", File: "eventual/execute.go",
			Old: "			out = out.merge(outcome{kind: deferred, unknown: true, delay:", New: "			_ = out.merge(outcome{kind: deferred, unknown: true, delay:", Test: "TestUnknownKind"},
		{Name: "a deferred message counts an attempt", File: "eventual/finish.go",
			Old: "		h.Uncounted++\n", New: "", Test: "TestHandlerResult"},
		{Name: "poison is deleted whether it was copied or not", File: "eventual/finish.go",
			Old: "		return // the message becomes visible again\n", New: "", Test: "TestPoisonCopiedFirst"},
		{Name: "poison contains the error's text", File: "eventual/finish.go",
			Old: "out.class, out.effect, x.env.opt.Now())", New: "out.class, out.effect+slog.AnyValue(out.reason).String(), x.env.opt.Now())", Test: "TestNoSecrets"},
		{Name: "messages are not renewed", File: "eventual/lease.go",
			Old: "		timer := time.NewTimer(max(next, 0))\n", New: "		timer := time.NewTimer(max(next, 0) + 24*time.Hour)\n", Test: "TestRenewal"},
		{Name: "the handler of a lost message continues", File: "eventual/lease.go",
			Old: "func() { x.cancel(ErrLost) })", New: "func() {})", Test: "TestLost"},
		{Name: "more messages are received than slow handlers execute", File: "eventual/pace.go",
			Old: "	return int(min(float64(handlers)*", New: "	return most + 0*int(min(float64(handlers)*", Test: "TestConcurrency"},
		{Name: "no message is taken ahead of free handlers", File: "eventual/receiver.go",
			Old: "		ahead = p.ahead(now)\n", New: "		ahead = 0 * p.ahead(now)\n", Test: "TestThroughput"},
		{Name: "a message that is deleted occupies a handler", File: "eventual/dispatcher.go",
			Old: "p.running >= p.size ||", New: "p.running+p.finishing >= p.size ||", Test: "TestThroughput"},
		{Name: "the messages in a worker are not bounded", File: "eventual/dispatcher.go",
			Old: "p.mostWaiting() - p.running - p.finishing - len", New: "p.mostWaiting() - p.running - len", Test: "TestMostWaiting"},
		{Name: "messages that wait for slow handlers are renewed", File: "eventual/lease.go",
			Old: "		if x.release(x) {\n", New: "		if false {\n", Test: "TestAheadOfSlowHandlers"},
		{Name: "the pace of handlers that became slow is trusted", File: "eventual/pace.go",
			Old: " || now.Sub(p.last) > within {\n", New: " {\n", Test: "TestAheadOfSlowHandlers"},
		{Name: "partitions are not bounded", File: "eventual/dispatcher.go",
			Old: "d.byPartition[partition] >= d.perPartition\n", New: "d.byPartition[partition] < 0\n", Test: "TestPerPartition"},
		{Name: "an update wipes the message", File: "eventual/outbox.go",
			Old: "s.queue.update(ctx, s.message, s.message.text, 0)", New: "s.queue.update(ctx, s.message, \"\", 0)", Test: "TestUpdateKeepsText|TestRequests"},
		{Name: "a poison effect ends the other effects", File: "eventual/outcome.go",
			Old: "	if other.kind > out.kind {\n", New: "	if other.kind == poisoned || other.kind > out.kind && out.kind != poisoned {\n", Test: "TestSeveralEffects"},
		{Name: "an outage of the tables counts as an attempt of the message", File: "eventual/failure.go",
			Old: "	return outcome{kind: deferred, outage: true, reason: err}\n", New: "	return outcome{kind: retried, class: ClassAttempts, reason: err}\n", Test: "TestTablesDown"},
		{Name: "forged counts are trusted", File: "eventual/history.go",
			Old: "		if *count < 0 || *count > left {\n", New: "		if false {\n", Test: "TestDeadlyForged"},
		{Name: "Drain does not receive once more", File: "eventual/dispatcher.go",
			Old: "	return p.open() == 0\n", New: "	return true\n", Test: "TestDrainEmptiesQueue|TestDrainReceivesAgain"},
		{Name: "a clean-up is recorded and not sent", File: "eventual/cleanup.go",
			Old: "		return err\n	}\n	if !c.env.opt.Now()", New: "	}\n	if !c.env.opt.Now()", Test: "TestCleanUpLost"},
		{Name: "a clean-up deletes pending commit records", File: "internal/engine/record_list.go",
			Old: "\treturn err == nil && rec.State != RecordPending && (", New: "\treturn err == nil && rec.State != 0 && (", Test: "TestCleanUp$"},
		{Name: "messages of a busy partition are returned", File: "eventual/dispatcher.go",
			Old: "len(p.waiting) > keeps; {\n", New: "len(p.waiting) > 0*keeps; {\n", Test: "TestBusyPartitionSlow|TestBusyPartitionOvertaken"},
		{Name: "nothing is received while a partition is busy", File: "eventual/receiver.go",
			Old: "	r.overtaking = true\n", New: "	return 0, 0\n", Test: "TestBusyPartitionOvertaken"},
		{Name: "messages of other partitions pass a busy partition at once", File: "eventual/receiver.go",
			Old: "	due := r.lastRequest.Add(r.idle / 2)\n", New: "	due := r.lastRequest\n", Test: "TestBusyPartition$"},
		{Name: "the receiver waits for a fast partition", File: "eventual/receiver.go",
			Old: "behind.Before(due)", New: "false", Test: "TestBusyPartitionOvertaken/fast"},
		{Name: "the context of a message is never ended", File: "eventual/dispatcher.go",
			Old: "	x.cancel(nil)", New: "	", Test: "TestContextsEnd"},
		{Name: "an outage makes messages poison", File: "eventual/failure.go",
			Old: "[]error{table.ErrUnreachable, ", New: "[]error{", Test: "TestOutage"},
		{Name: "a message that crashes its worker is retried without end", File: "eventual/isolation.go",
			Old: "	case !x.needsIsolation && x.mayBeDeadly():\n", New: "	case false:\n", Test: "TestDeadlyForged"},
		{Name: "a message that may crash its worker is not isolated", File: "eventual/dispatcher.go",
			Old: "d.isolating || x.needsIsolation ||", New: "d.isolating ||", Test: "TestDeadlyIsolated"},
		{Name: "messages received with a message that crashes its worker become poison", File: "eventual/receivedmessage.go",
			Old: "	return r.history.Isolated >= ", New: "	return r.unfinished() >= ", Test: "TestDeadly$"},
		{Name: "a crash is an attempt", File: "eventual/finish.go",
			Old: "x.failures()+1 >= x.env.opt.Attempts", New: "x.attempt() >= x.env.opt.Attempts", Test: "TestDeadly$"},
		{Name: "an unreadable response counts as an attempt of the message", File: "eventual/failure.go",
			Old: "			return true // not an entity of the service", New: "			return false // not an entity of the service", Test: "TestOutage"},
		{Name: "a wait for a partition counts as an outage", File: "eventual/finish.go",
			Old: "x.backOff(int(h.Outages), ", New: "x.backOff(int(h.Uncounted), ", Test: "TestWaitThenOutage"},
		{Name: "done commit records are notified", File: "internal/engine/record_list.go",
			Old: "stateProperty, RecordPending)", New: "stateProperty, RecordDone)", Test: "TestNotifyPending$"},
		{Name: "a partition is notified from its start", File: "eventual/notifypending.go",
			Old: "		after = n.start.OperationID\n", New: "", Test: "TestNotifyPendingResumes"},
		{Name: "any text is a table's name", File: "eventual/message.go",
			Old: "!tableName.MatchString(m.Table) || ", New: "", Test: "TestUntrusted"},
		{Name: "the lease is counted from the response", File: "eventual/queue.go",
			Old: "receipt: *m.PopReceipt, visible: visible}", New: "receipt: *m.PopReceipt, visible: visible.Add(time.Until(visible.Add(-visibility)) * -1)}", Test: "TestSlowReceive"},
		{Name: "each of several poison messages with one text is replayed", File: "eventual/poisonqueue.go",
			Old: " || replayed[m.Text] {\n", New: " {\n", Test: "TestReplayOnce"},
		{Name: "an abort record is stored for an old operation ID", File: "internal/engine/record_store.go",
			Old: "\tcase age > Retention:\n", New: "\tcase age > 1000*Retention:\n", Test: "TestUntrusted"},
	})
	mutants.Run(t, "./integration", []mutants.Mutant{
		{Name: "the message of a killed worker is lost", File: "eventual/execute.go",
			Old: "	if out = e.executeRecord(ctx, t, x); out.kind", New: "	_ = x.queue.delete(context.WithoutCancel(ctx), x.delivery)\n	if out = e.executeRecord(ctx, t, x); out.kind", Test: "TestKill", Args: []string{"-test.short"}},
		{Name: "the move of a killed worker is not continued", File: "archive/handler.go",
			Old: "	if archived != nil && archived.Row == nil {\n", New: "	if archived != nil {\n", Test: "TestKill", Args: []string{"-test.short"}},
	})
	mutants.Run(t, "./commit", []mutants.Mutant{
		{Name: "a commit record is marked as done unconditionally", File: "internal/engine/record_list.go",
			Old: "Match: rec.ETag, StoresID: true", New: "Match: `*`, StoresID: true", Test: "TestCompletingRaces"},
		{Name: "an effect is completed unconditionally", File: "internal/engine/completing.go",
			Old: "Match: c.Record.ETag", New: "Match: `*`", Test: "TestCompletingRaces"},
	})
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "effects are cut inside a character", File: "internal/engine/record_format.go",
			Old: "		for !utf8.RuneStart(s[cut]) {\n", New: "		for !utf8.RuneStart(s[cut]) && false {\n", Test: "TestEffectsInAnyLanguage"},
		{Name: "the error of a service that is not reached is not ErrUnreachable", File: "internal/engine/errors.go",
			Old: "	if wire.Unreached(ctx, err) {\n", New: "	if false {\n", Test: "TestUnreachable"},
		{Name: "the error of a write that was not sent is not ErrUnreachable", File: "internal/engine/errors.go",
			Old: "	case wire.NotSent:\n		if call.Unreached(err) {\n", New: "	case wire.NotSent:\n		if false {\n", Test: "TestUnreachable"},
		{Name: "the end of the caller's context counts as an unreachable service", File: "internal/wire/outcome.go",
			Old: "	return !callerStopped(ctx)\n", New: "	return true\n", Test: "TestUnreachableOrCancelled"},
	})
}
