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
		{Name: "a message is dropped whose write may still be done", File: "table/intents.go",
			Old: "		switch state, err := in.core.fence(ctx, pk, op); {\n", New: "		switch state, err := IntentAborted, error(nil); {\n", Test: "TestEveryFault/Insert"},
		{Name: "hints are not hidden", File: "eventual/outbox.go",
			Old: "o.box.put(ctx, text, a.Hidden)", New: "o.box.put(ctx, text, 0)", Test: "TestHidden"},
		{Name: "a writer's death is not survived", File: "eventual/outbox.go",
			Old: "	text := message{Version: version, Table: a.Table, Partition: a.Partition, Op: a.Op}.text()\n", New: "	text := message{Version: 0, Table: a.Table, Partition: a.Partition, Op: a.Op}.text()\n", Test: "TestEveryFault|TestRequests"},
		{Name: "a message is deleted before its effects are carried out", File: "eventual/work.go",
			Old: "	defer free()\n", New: "	defer free()\n	_ = x.box.delete(context.WithoutCancel(ctx), x.d)\n", Test: "TestEveryFault", Args: some},
		{Name: "an effect of an unknown kind counts as done", File: "eventual/work.go",
			Old: "			v = v.and(verdict{kind: later, told: true, after:", New: "			_ = v.and(verdict{kind: later, told: true, after:", Test: "TestReleases"},
		{Name: "what is given back is counted", File: "eventual/settle.go",
			Old: "		was, counter = was+1, func", New: "		was, counter = was, func", Test: "TestSettled"},
		{Name: "poison is deleted whether it was copied or not", File: "eventual/settle.go",
			Old: "		return // it will be seen again\n", New: "", Test: "TestPoisonFirst"},
		{Name: "poison holds the error's text", File: "eventual/poison.go",
			Old: "Class: v.class, Kind: v.of,", New: "Class: v.class, Kind: fmt.Sprint(v.of, v.why),", Test: "TestNoSecrets"},
		{Name: "messages are not renewed", File: "eventual/lease.go",
			Old: "		timer := time.NewTimer(max(next, 0))\n", New: "		timer := time.NewTimer(max(next, 0) + 24*time.Hour)\n", Test: "TestRenewal"},
		{Name: "a lost message's handler goes on", File: "eventual/lease.go",
			Old: "func() { x.cancel(ErrLost) })", New: "func() {})", Test: "TestLost"},
		{Name: "more is taken than can be worked on", File: "eventual/lane.go",
			Old: "		free, paused, changed := l.most-l.hand,", New: "		free, paused, changed := l.most,", Test: "TestConcurrency"},
		{Name: "partitions are not bounded", File: "eventual/work.go",
			Old: "	for w.of[name] >= w.opt.PerPartition {\n", New: "	for w.of[name] < 0 {\n", Test: "TestBounds"},
		{Name: "an update wipes the message", File: "eventual/outbox.go",
			Old: "h.o.box.update(ctx, h.d, h.d.text, 0)", New: "h.o.box.update(ctx, h.d, \"\", 0)", Test: "TestTrapT18|TestRequests"},
		{Name: "what is poison ends what is not", File: "eventual/work.go",
			Old: "	if o.kind > v.kind {\n", New: "	if o.kind == never || o.kind > v.kind && v.kind != never {\n", Test: "TestSeveralEffects"},
		{Name: "an outage of the tables is the messages' fault", File: "eventual/work.go",
			Old: "	return verdict{kind: later, own: true, why: err}\n", New: "	return verdict{kind: again, class: ClassAttempts, why: err}\n", Test: "TestTablesDown"},
		{Name: "forged counts are believed", File: "eventual/work.go",
			Old: "	return max(min(m.Uncounted, x.d.gets-1), 0)\n", New: "	return m.Uncounted\n", Test: "TestForgedNotes"},
		{Name: "Drain does not look once more", File: "eventual/lane.go",
			Old: "	return l.hand == 0\n", New: "	return true\n", Test: "TestDrainIsHonest|TestDrainLooksAgain"},
		{Name: "a clean-up is noted and not sent", File: "eventual/cleanup.go",
			Old: "		return err\n	}\n	if !w.opt.Now()", New: "	}\n	if !w.opt.Now()", Test: "TestCleanUpLost"},
		{Name: "a clean-up deletes what is live", File: "table/sweep.go",
			Old: "	return err == nil && i.State != IntentLive\n", New: "	return err == nil && i.State != 0\n", Test: "TestCleanUp$"},
		{Name: "old names are fenced", File: "table/exact.go",
			Old: "	case age > IntentRetention:\n", New: "	case age > 1000*IntentRetention:\n", Test: "TestUntrusted"},
	})
	mutants.Run(t, "./integration", []mutants.Mutant{
		{Name: "a killed worker's message is gone", File: "eventual/work.go",
			Old: "	defer free()\n", New: "	defer free()\n	_ = x.box.delete(context.WithoutCancel(ctx), x.d)\n", Test: "TestKill", Args: []string{"-test.short"}},
		{Name: "a killed worker's move is not taken up", File: "archive/handler.go",
			Old: "	if there != nil && there.Row == nil {\n", New: "	if there != nil {\n", Test: "TestKill", Args: []string{"-test.short"}},
	})
	mutants.Run(t, "./table", []mutants.Mutant{
		{Name: "an intent is closed past its ETag", File: "table/intents.go",
			Old: "match: i.etag, room: true", New: "match: `*`, room: true", Test: "TestSettlingRaces"},
		{Name: "an effect is settled past the intent's ETag", File: "table/settle.go",
			Old: "match: s.intent.etag", New: "match: `*`", Test: "TestSettlingRaces"},
	})
}
