package transfer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

type document struct {
	Folder, Name string
	Text         largeentity.Blob
}

// archiveStore is a store with large values, a log and a series.
type archiveStore struct {
	*aztablekit.Store
	documents *table.Table[document]
	texts     *largeentity.Values[document]
	log       *logtail.Log[member]
	visits    *series.Series[int64]
}

func openArchive(s *storagetest.Service) *archiveStore {
	a := &archiveStore{Store: aztablekit.Open(s, "archive", &aztablekit.Options{Daily: -1})}
	a.texts = largeentity.In[document]("texts", nil)
	a.documents = aztablekit.Table(a.Store, "documents", keys.Partition(keys.Text(), func(d *document) *string { return &d.Folder }), keys.Row(keys.Text(), func(d *document) *string { return &d.Name }), a.texts)
	a.log = logtail.New[member](a.Store, "audit", nil)
	a.visits = series.New[int64](a.Store, "visits", series.Every(time.Hour, nil), nil)
	return a
}

// TestRestoreBlobs: tables with large values, a log and a series are lost, and come back from an export. No blob is lost: each value can be read, and a sweep
// finds neither a missing blob nor one without an entity.
func TestRestoreBlobs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := storagetest.New(&storagetest.Options{NameReuseDelay: -1})
	a := openArchive(s)
	testkit.NoError(t, a.Ensure(ctx))
	const n = 12
	at := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	text := func(i int) string { return strings.Repeat(fmt.Sprint("document ", i, " "), 5000) }
	for i := range n {
		d := &document{Folder: fmt.Sprint("folder", i%2), Name: fmt.Sprint("name", i)}
		b, err := a.texts.Upload(ctx, a.documents, a.documents.Key(*d), strings.NewReader(text(i)), "")
		testkit.NoError(t, err)
		d.Text = b
		_, err = a.documents.Insert(ctx, d)
		testkit.NoError(t, err)
		_, err = a.log.Append(ctx, &member{"Oslo", i})
		testkit.NoError(t, err)
		_, err = a.visits.Add(ctx, at.Add(time.Duration(i)*time.Hour), int64(i))
		testkit.NoError(t, err)
	}
	backups := map[string]transfer.Place{}
	for _, name := range s.TableNames() {
		backups[name] = transfer.Folder(t.TempDir())
		_, err := transfer.Export(ctx, tableOf(t, s, name), backups[name], nil)
		testkit.NoError(t, err)
		_, err = s.Tables().NewClient(name).Delete(ctx, nil)
		testkit.NoError(t, err)
	}
	if left := s.TableNames(); len(left) > 0 {
		t.Fatalf("got tables %q, want none", left)
	}
	for name, from := range backups {
		_, err := transfer.Import(ctx, transfer.Exported(from), tableOf(t, s, name), nil)
		testkit.NoError(t, err)
	}

	a = openArchive(s)
	testkit.NoError(t, a.Ensure(ctx))
	report, err := a.Verify(ctx, nil)
	testkit.NoError(t, err)
	swept, err := a.texts.Sweep(ctx, a.documents, &table.Pass{DryRun: true})
	testkit.NoError(t, err)
	if report.Faults > 0 || swept.Counts["linked"] != n || swept.Faults != 0 || swept.Changed != 0 {
		t.Errorf("got %+v and %+v; want a sound store, and a blob for each of %d documents", report, swept, n)
	}
	records := 0
	for range a.log.Between(ctx, time.Unix(0, 0), time.Now().Add(time.Hour)) {
		records++
	}
	sum := int64(0)
	for v, err := range a.visits.Between(ctx, at, at.Add(n*time.Hour)) {
		testkit.NoError(t, err)
		sum += v.Value
	}
	if records != n || sum != n*(n-1)/2 {
		t.Errorf("got %d records and a sum of %d; want %d and %d", records, sum, n, n*(n-1)/2)
	}
	for i := range n {
		e, err := a.documents.Get(ctx, a.documents.Key(document{Folder: fmt.Sprint("folder", i%2), Name: fmt.Sprint("name", i)}))
		testkit.NoError(t, err)
		got, err := readText(ctx, a, e.Value.Text)
		if err != nil || string(got) != text(i) {
			t.Errorf("document %d: got %d bytes, %v; want %d", i, len(got), err, len(text(i)))
		}
	}
}
