package house_test

import (
	"bufio"
	"context"
	"iter"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/baretest"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/archive/blobarchive"
	"github.com/aztablekit/aztablekit/azt"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/expire"
	"github.com/aztablekit/aztablekit/extend"
	"github.com/aztablekit/aztablekit/index"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/internal/tabledoor"
	"github.com/aztablekit/aztablekit/jobs"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/largeentity/series"
	"github.com/aztablekit/aztablekit/lease"
	"github.com/aztablekit/aztablekit/logtail"
	"github.com/aztablekit/aztablekit/logtail/bloblog"
	"github.com/aztablekit/aztablekit/materialized"
	"github.com/aztablekit/aztablekit/requests"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
	"github.com/aztablekit/aztablekit/txn"
	"github.com/aztablekit/aztablekit/verify"
)

// argumentsItem is the type of entities of TestArguments.
type argumentsItem struct {
	Group, Name string
	Size        int64
	Sizes       []int64 `table:",each"`
	File        largeentity.Blob
}

// TestArguments calls each exported function, and each exported method that takes arguments, once with zero arguments, and once for
// each argument and each of its zero forms (nil, a pointer to a zero value) beside valid ones. None panics, and an error has a type
// or is a variable of the library or of Go. docs/api.txt names what must be called: a new function without a line here fails.
//
// The receivers are valid. The packages storagetest are left out: they are for tests, which a panic ends. So are functions whose
// results have types of internal packages, and azt.Main, which ends the process.
func TestArguments(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for scanner := bufio.NewScanner(strings.NewReader(read(t, "docs/api.txt"))); scanner.Scan(); {
		name, _, _ := apiFunction(scanner.Text())
		c.api[name] = true
	}
	for name, f := range c.functions {
		c.call(name, reflect.ValueOf(f))
	}
	for _, receiver := range c.receivers {
		c.methods(receiver)
	}
	for scanner := bufio.NewScanner(strings.NewReader(read(t, "docs/api.txt"))); scanner.Scan(); {
		name, signature, is := apiFunction(scanner.Text())
		takes := strings.TrimPrefix(signature, "(ctx context.Context")
		if is && name != "azt.Main" && !strings.Contains(signature, "internal/") && !strings.HasPrefix(takes, "()") && !strings.HasPrefix(takes, ")") && !strings.HasPrefix(name, "storagetest") && !c.called[name] {
			t.Errorf("got no call of %s%s, want one: add it to the functions or receivers of newCaller", name, signature)
		}
	}
}

// apiFunction returns the name and the signature of a function or method in a line of docs/api.txt: table.Table.Get for
// table: func (*Table[T]).Get(…).
func apiFunction(line string) (name, signature string, is bool) {
	pkg, f, is := strings.Cut(line, ": func ")
	if !is {
		return "", "", false
	}
	if receiver, method, is := strings.Cut(f, ")."); is && strings.HasPrefix(f, "(") {
		receiver, _, _ = strings.Cut(strings.TrimLeft(receiver, "(*"), "[")
		pkg, f = pkg+"."+receiver, method
	}
	at := strings.IndexAny(f, "([")
	name, signature = pkg+"."+f[:at], f[at:]
	if strings.HasPrefix(signature, "[") {
		signature = signature[strings.LastIndex(signature[:strings.Index(signature, "(")], "]")+1:]
	}
	return name, signature, true
}

// caller calls functions with wrong arguments.
type caller struct {
	t         *testing.T
	functions map[string]any // by their names in docs/api.txt
	receivers []any
	valid     map[reflect.Type]reflect.Value
	called    map[string]bool
	api       map[string]bool // the functions in docs/api.txt
}

// methods calls the exported methods of a receiver.
func (c *caller) methods(receiver any) {
	v := reflect.ValueOf(receiver)
	named := v.Type()
	if named.Kind() == reflect.Pointer {
		named = named.Elem()
	}
	typ, _, _ := strings.Cut(named.Name(), "[")
	pkg := strings.TrimPrefix(named.PkgPath(), module+"/")
	if pkg == module {
		pkg = root
	}
	for i := range v.NumMethod() {
		if name := pkg + "." + typ + "." + v.Type().Method(i).Name; !c.api[name] {
			continue // for packages of this module, or an interface of Go
		}
		c.call(pkg+"."+typ+"."+v.Type().Method(i).Name, v.Method(i))
	}
}

// call calls a function with its wrong arguments.
func (c *caller) call(name string, f reflect.Value) {
	c.called[name] = true
	if f.Type().NumIn() == 0 {
		return
	}
	forms := make([][]reflect.Value, f.Type().NumIn())
	zero, valid := make([]reflect.Value, len(forms)), make([]reflect.Value, len(forms))
	for i := range forms {
		typ := f.Type().In(i)
		zero[i] = reflect.Zero(typ)
		valid[i] = zero[i]
		switch v, known := c.valid[typ]; {
		case typ == reflect.TypeFor[context.Context]():
			zero[i], valid[i] = reflect.ValueOf(c.t.Context()), reflect.ValueOf(c.t.Context())
			continue
		case known:
			valid[i] = v
		}
		forms[i] = []reflect.Value{zero[i]}
		switch {
		case typ.Kind() == reflect.Pointer && strings.HasPrefix(typ.Elem().PkgPath(), module):
			forms[i] = append(forms[i], reflect.New(typ.Elem()))
		case typ.Kind() == reflect.Slice:
			forms[i] = append(forms[i], reflect.MakeSlice(typ, 1, 1))
			if e := typ.Elem(); e.Kind() == reflect.Pointer {
				forms[i] = append(forms[i], reflect.Append(reflect.Zero(typ), reflect.New(e.Elem())))
			}
			if more := c.valid[typ.Elem()]; f.Type().IsVariadic() && more.IsValid() {
				valid[i] = reflect.Append(reflect.Zero(typ), more)
			}
		}
		for _, z := range c.zeroValues() {
			if typ.Kind() == reflect.Interface && z.Type().Implements(typ) {
				forms[i] = append(forms[i], z)
			}
			if typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Interface && z.Type().Implements(typ.Elem()) {
				forms[i] = append(forms[i], reflect.Append(reflect.Zero(typ), z))
			}
		}
	}
	c.try(name, f, zero)
	for i := range forms {
		for _, form := range forms[i] {
			arguments := append([]reflect.Value(nil), valid...)
			arguments[i] = form
			c.try(name, f, arguments)
		}
	}
}

// zeroValues are values that implement interfaces of parameters, and that no constructor has made.
func (c *caller) zeroValues() []reflect.Value {
	return []reflect.Value{
		reflect.ValueOf(new(table.Table[argumentsItem])), reflect.ValueOf((*table.Table[argumentsItem])(nil)),
		reflect.ValueOf(new(index.Index[argumentsItem, string])), reflect.ValueOf((*index.Index[argumentsItem, string])(nil)),
		reflect.ValueOf(new(index.Lists[argumentsItem, string])), reflect.ValueOf(new(index.Summary[argumentsItem, string])), reflect.ValueOf(new(index.Details[argumentsItem])),
		reflect.ValueOf(new(materialized.View[argumentsItem, argumentsItem])), reflect.ValueOf((*materialized.View[argumentsItem, argumentsItem])(nil)),
		reflect.ValueOf((*aztables.ServiceClient)(nil)),
		reflect.ValueOf(keys.Component[string]{}), reflect.ValueOf(table.Field[argumentsItem, string]{}),
	}
}

// try calls a function once.
func (c *caller) try(name string, f reflect.Value, arguments []reflect.Value) {
	shown := make([]string, len(arguments))
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second) // for those that wait, such as Follow
	defer cancel()
	for i, a := range arguments {
		if a.Type().Implements(reflect.TypeFor[context.Context]()) {
			arguments[i] = reflect.ValueOf(ctx)
		}
		shown[i] = a.Type().String()
		if a.IsZero() {
			shown[i] = "zero " + shown[i]
		} else if a.Kind() == reflect.Pointer && a.Elem().IsZero() {
			shown[i] = "pointer to zero " + shown[i]
		}
	}
	began := time.Now()
	defer func() {
		if d := time.Since(began); d > 2*time.Second {
			c.t.Errorf("%s(%s): got %v, want an end with the context", name, strings.Join(shown, ", "), d)
		}
		if p := recover(); p != nil && name != "requests.Counter.Do" { // whose documentation says so, and what the SDK calls
			c.t.Errorf("%s(%s): got panic %v, want none\n%s", name, strings.Join(shown, ", "), p, ownLines(debug.Stack()))
		}
	}()
	var results []reflect.Value
	if f.Type().IsVariadic() {
		results = f.CallSlice(arguments)
	} else {
		results = f.Call(arguments)
	}
	if strings.Contains(name, ".Unmarshal") { // as Go's functions for decoding
		return
	}
	if name == "eventual.Poison" || name == "eventual.RetryAfter" { // whose result is the caller's error
		return
	}
	for _, r := range results {
		c.result(name, shown, r)
	}
}

// result checks an error, also one that a sequence yields.
func (c *caller) result(name string, shown []string, r reflect.Value) {
	if r.Type().CanSeq2() && r.Kind() == reflect.Func {
		if r.IsNil() {
			c.t.Errorf("%s(%s): got a nil sequence, want one that yields an error", name, strings.Join(shown, ", "))
			return
		}
		n := 0
		for _, err := range r.Seq2() {
			c.result(name, shown, err)
			if n++; n == 3 {
				break
			}
		}
		return
	}
	if err, is := r.Interface().(error); is && r.Type().Kind() == reflect.Interface && !isTyped(err) {
		c.t.Errorf("%s(%s): got error %v of %T, want an error of a type or variable of the library", name, strings.Join(shown, ", "), err, err)
	} else if is {
		c.text(name, shown, err.Error())
	}
}

// text checks that an error says each thing once, and that it calls no argument a property.
func (c *caller) text(name string, shown []string, text string) {
	for line := range strings.Lines(text) {
		words, seen := strings.Fields(line), map[string]bool{}
		for i := range max(0, len(words)-2) {
			three := strings.Join(words[i:i+3], " ")
			if seen[three] {
				c.t.Errorf("%s(%s): got error %q, want one that says %q once", name, strings.Join(shown, ", "), line, three)
			}
			seen[three] = true
		}
		_, of, is := strings.Cut(": "+line, ": property ")
		of, _, _ = strings.Cut(of, " ")
		if is && name != "table.Row.Set" && !slices.Contains([]string{"Group", "Name", "Size", "Sizes", "File"}, strings.TrimSuffix(of, ":")) {
			c.t.Errorf("%s(%s): got error %q, want %s named as an argument", name, strings.Join(shown, ", "), line, of)
		}
	}
}

// isTyped reports whether an error contains one that callers can tell from others.
func isTyped(err error) bool {
	if err == context.Canceled || err == context.DeadlineExceeded {
		return true
	}
	typ := reflect.TypeOf(err)
	if typ.Kind() == reflect.Pointer && typ.Elem().Name() != "OpError" && typ.Elem().Name() != "BatchError" && strings.ToUpper(typ.Elem().Name()[:1]) == typ.Elem().Name()[:1] {
		return true
	}
	for _, known := range []error{table.ErrNotFound, table.ErrExists, table.ErrChanged, table.ErrNotCreated, table.ErrTableScan, table.ErrNotRead, table.ErrKeyChanged, table.ErrForeignRow, table.ErrGivenUp, largeentity.ErrNoValue, bloblog.ErrClosed, table.ErrIncomplete, account.ErrNoEndpoint, lease.ErrLost, eventual.ErrNotRunning} {
		if err == known {
			return true
		}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return e.Unwrap() != nil && isTyped(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			if isTyped(err) {
				return true
			}
		}
	}
	return false
}

// ownLines returns the places of a stack in this module's packages.
func ownLines(stack []byte) string {
	var lines []string
	for line := range strings.Lines(string(stack)) {
		if strings.HasPrefix(line, "\t") && strings.Contains(line, ".go:") && !strings.Contains(line, "arguments_test") && !strings.Contains(line, "/src/r") && len(lines) < 4 {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}

// newCaller makes the functions, the receivers and the valid arguments.
func newCaller(t *testing.T) *caller {
	type (
		item = argumentsItem
		enum string
		some struct{ Size int64 }
	)
	ctx := t.Context()
	s := storagetest.New(nil)
	c := &caller{t: t, valid: map[reflect.Type]reflect.Value{}, called: map[string]bool{}, api: map[string]bool{}}
	no := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	put := func(values ...any) {
		for _, v := range values {
			c.valid[reflect.TypeOf(v)] = reflect.ValueOf(v)
		}
	}
	text := keys.Text()
	schema := table.Schema[item]{
		Partition: keys.Partition(text, func(v *item) *string { return &v.Group }),
		Row:       keys.Row(text.Named("item"), func(v *item) *string { return &v.Name }),
	}
	retry := table.Common{Retry: table.Retry{Attempts: 1}, WriteTimeout: time.Second}
	base, err := bare.NewTable(s.Tables(), "items", schema, &table.Options{Common: retry})
	no(err)
	no(tabledoor.Ensure(ctx, base))
	outbox, err := bareworker.NewOutbox(s.Queues().NewQueueClient("work"), nil)
	no(err)
	no(outbox.Ensure(ctx))
	nameOf := func(v *item) (string, bool) { return v.Name, true }
	byName := index.New("names", text, nameOf, nil)
	lists := index.NewLists("lists", text, nameOf, nil)
	sums := index.NewSummary("sums", text, nameOf, nil)
	unique := index.NewUnique("unique", text, nameOf, nil)
	byNameAlone := index.NewGlobal("global", text, nameOf, nil)
	size := table.FieldOf(func(v *item) *int64 { return &v.Size })
	name := table.FieldOf(func(v *item) *string { return &v.Group })
	details := index.NewDetails("details", "Of", func(v *item) (keys.RowKey, bool) { return keys.RowKey{}, false }, table.FieldIn[item](size))
	items, err := baretest.Attach(base, byName, lists, sums)
	no(err)
	items, err = baretest.WithOutbox(items, outbox)
	no(err)
	key := base.Key(item{Group: "g", Name: "a"})
	stored, err := items.Insert(ctx, &item{Group: "g", Name: "a"})
	no(err)
	row, err := tabledoor.GetRow(ctx, items, key)
	no(err)
	targets, err := bare.NewTable(s.Tables(), "targets", schema, nil)
	no(err)
	no(tabledoor.Ensure(ctx, targets))
	views := materialized.New("views", targets, func(v *item, _ keys.Key) (item, bool) { return *v, true })
	destination, blobs := archive.ToTable("archived", nil), blobarchive.New("archive", nil)
	mover := archive.Into[item]("archive", destination)
	poison, err := bareworker.NewPoisonQueue(s.Queues().NewQueueClient("notifications"), s.Queues().NewQueueClient("poison"), nil)
	no(err)
	_, err = s.Queues().NewQueueClient("poison").Create(ctx, nil)
	no(err)
	slots := series.Every(time.Hour, time.UTC)
	var declared baretest.Registry
	numbers := series.New[int64](&host.Host{Tables: s.Tables(), Registry: &declared}, "numbers", slots, nil)
	leases := lease.New(&host.Host{Tables: s.Tables()}, "leases", nil)
	_, err = s.Tables().CreateTable(ctx, "leases", nil)
	no(err)
	held, err := leases.Acquire(ctx, "lease")
	no(err)
	guarded, err := held.In(ctx, items, keys.RawPartition("guarded"))
	no(err)
	log := logtail.New[item](&host.Host{Tables: s.Tables(), Registry: &declared}, "logs", nil)
	byPeriods := logtail.NewByPeriod[struct{}](&host.Host{Tables: s.Tables()}, "periods", &logtail.PeriodOptions{}, nil)
	periods := byPeriods.Periods()
	blobLog := bloblog.New[struct{ Text string }](&host.Host{Account: s, Registry: &declared}, "lines", nil)
	no(declared.Ensure(ctx))
	lines, err := blobLog.Writer("source")
	no(err)
	reader, err := table.NewMixed(base)
	no(err)
	projection, err := table.ViewOf[some](base)
	no(err)
	acc, err := account.FromTransport(s, nil)
	no(err)
	operations := iter.Seq2[table.Op, error](func(func(table.Op, error) bool) {})
	company := aztablekit.Open(s, "company", nil)
	effect := eventual.On("effect", func(*eventual.Change[item]) (string, bool) { return "", true }, nil)
	values := largeentity.In[item]("values", nil)
	checked, check := aztablekit.Open(s, "checked", nil), jobs.Repair[item]("check")
	aztablekit.Table(checked, "checked", nil, nil, check)
	no(checked.Ensure(ctx))
	declaration := bare.Declare(host.Of(company), items)
	put(base, items, company, declaration, byName, lists, sums, details, stored, row, views, destination, blobs, mover, outbox, poison, slots, numbers, log, periods, text, key, key.Row(), schema, size, ctx,
		"group", &table.Options{}, table.Query[item]{Partition: text.PartitionKey("g")}, nameOf, operations, tabledoor.PinOp(items, stored), door.Table(items), s.Queues().NewQueueClient("work"), s.Blobs().NewContainerClient("blobs"), time.Now(), s.Tables())
	c.valid[reflect.TypeFor[engine.Service]()] = reflect.ValueOf(s.Tables())
	c.valid[reflect.TypeFor[keys.Layout[string]]()] = reflect.ValueOf(text)
	c.valid[reflect.TypeFor[extend.Definition[item]]()] = reflect.ValueOf(byName)
	c.valid[reflect.TypeFor[verify.Definition]()] = reflect.ValueOf(byName)
	c.valid[reflect.TypeFor[extend.Definition[item]]()] = reflect.ValueOf(views)
	c.valid[reflect.TypeFor[table.Handle]()] = reflect.ValueOf(items)
	c.valid[reflect.TypeFor[commit.Outbox]()] = reflect.ValueOf(outbox)
	c.valid[reflect.TypeFor[archive.Destination]()] = reflect.ValueOf(destination)
	c.valid[reflect.TypeFor[table.FieldIn[item]]()] = reflect.ValueOf(size)
	c.valid[reflect.TypeFor[table.Handle]()] = reflect.ValueOf(base)
	c.valid[reflect.TypeFor[func(*item) error]()] = reflect.ValueOf(func(*item) error { return nil })
	c.valid[reflect.TypeFor[func(*item) (string, bool)]()] = reflect.ValueOf(nameOf)

	c.functions = map[string]any{
		"account.FromConnectionString": account.FromConnectionString, "account.FromCredential": account.FromCredential, "account.FromEnvironment": account.FromEnvironment,
		"account.FromSAS": account.FromSAS, "account.FromTransport": account.FromTransport, "account.Diagnose": account.Diagnose,
		"archive/blobarchive.New": blobarchive.New, "archive.ToTable": archive.ToTable,
		"archive.Into": archive.Into[item], "aztablekit.Open": aztablekit.Open, "aztablekit.Table": aztablekit.Table[item], "eventual.On": eventual.On[item, item],
		"largeentity.In": largeentity.In[item],
		"extend.Resolve": extend.Resolve, "table.BulkDelete": table.BulkDelete[item], "table.Upgrade": table.Upgrade[item], "table.Bulk": table.Bulk,
		"transfer.Compare": transfer.Compare, "transfer.Container": transfer.Container, "transfer.CopyBlobs": transfer.CopyBlobs, "transfer.Snapshots": transfer.Snapshots[item], "transfer.Copy": transfer.Copy, "transfer.Export": transfer.Export, "transfer.Exported": transfer.Exported,
		"transfer.Folder": transfer.Folder, "transfer.Import": transfer.Import, "transfer.ImportEntities": transfer.ImportEntities[item], "transfer.Of": transfer.Of, "transfer.CSV": transfer.CSV, "transfer.JSON": transfer.JSON, "transfer.WriteCSV": transfer.WriteCSV, "transfer.WriteJSON": transfer.WriteJSON,
		"eventual.Poison":     eventual.Poison,
		"eventual.RetryAfter": eventual.RetryAfter,
		"verify.Check":        verify.Check, "verify.Repair": verify.Repair,
		"index.NewDetails": index.NewDetails[item], "index.NewLists": index.NewLists[item, string], "index.NewMulti": index.NewMulti[item, string],
		"index.NewGlobal": index.NewGlobal[item, string], "index.NewGlobalMulti": index.NewGlobalMulti[item, string], "index.NewUnique": index.NewUnique[item, string],
		"index.NewUniqueMulti": index.NewUniqueMulti[item, string],
		"index.NewSummary":     index.NewSummary[item, string], "index.New": index.New[item, string],
		"keys.At": keys.At, "keys.Compare": keys.Compare, "keys.Desc": keys.Desc[string], "keys.Digits": keys.Digits[int], "keys.Enum": keys.Enum[enum],
		"keys.Fold": keys.Fold[string], "keys.Int": keys.Int[int],
		"keys.Map": keys.Map[string, string], "keys.OnePartition": keys.OnePartition[item], "keys.OneRow": keys.OneRow[item],
		"keys.Partition": keys.Partition[item, string], "keys.Partition2": keys.Partition2[item, string, string], "keys.Partition3": keys.Partition3[item, string, string, string],
		"keys.PartitionFunc": keys.PartitionFunc[item, string], "keys.RawPartition": keys.RawPartition, "keys.RawPartitionOf": keys.RawPartitionOf[item, string],
		"keys.RawPartitions": keys.RawPartitions, "keys.RawRow": keys.RawRow, "keys.RawRowOf": keys.RawRowOf[item, string], "keys.RawRows": keys.RawRows,
		"keys.Row": keys.Row[item, string], "keys.Row2": keys.Row2[item, string, string], "keys.Row3": keys.Row3[item, string, string, string], "keys.RowFunc": keys.RowFunc[item, string],
		"keys.Spread": keys.Spread[string], "keys.Raw": keys.Raw,
		"largeentity/series.Days": series.Days, "largeentity/series.Every": series.Every, "largeentity/series.New": series.New[int64], "largeentity/series.Named": series.Named, "lease.New": lease.New,
		"txn.Run": txn.Run, "txn.Get": txn.Get[item], "txn.Find": txn.Find[item],

		"expire.At": expire.At[item], "jobs.Archive": jobs.Archive[item, int], "jobs.Delete": jobs.Delete[item, int], "jobs.New": jobs.New[item, int], "jobs.Rows": jobs.Rows[item, int],
		"jobs.Upgrade": jobs.Upgrade[item], "jobs.Repair": jobs.Repair[item], "jobs.List": jobs.List, "jobs.Export": jobs.Export[item], "jobs.Cancel": jobs.Cancel,
		"logtail/bloblog.New": bloblog.New[item], "logtail.NewByPeriod": logtail.NewByPeriod[item], "logtail.NewCursor": logtail.NewCursor,
		"logtail.New":      logtail.New[item],
		"bare.With":        bare.With[item],
		"materialized.New": materialized.New[item, item],
		"table.NewMixed":   table.NewMixed, "requests.KindOf": requests.KindOf,
		"table.And": table.And[item], "table.ClientOptions": table.ClientOptions, "table.Collect": table.Collect[item], "table.ElementOf": table.ElementOf[item, int64],
		"table.FieldOf": table.FieldOf[item, int64], "table.EachPartition": table.EachPartition, "table.Applied": table.Applied, "table.Retryable": table.Retryable,
		"table.NewCursor": table.NewCursor, "table.Not": table.Not[item], "table.Or": table.Or[item], "table.PropertyOf": table.PropertyOf[string],
		"table.Stored": table.Stored[item], "table.Transact": table.Transact, "table.ViewOf": table.ViewOf[some, item],
		// Methods of the interface that fields implement, and of values that exist only inside a call.
		"extend.Plan in a write": func(v *item) error {
			watched, err := bare.With(base, extend.Maintainer[item](planCaller{c}))
			if err == nil {
				_, err = watched.Upsert(ctx, &item{Group: "g", Name: "watched"}, table.ReplaceExisting)
			}
			return err
		},
	}
	two, three := func(v *item) (*string, *string) { return &v.Group, &v.Name }, func(v *item) (*string, *string, *string) { return &v.Group, &v.Name, &v.Group }
	var tx *txn.Tx
	no(txn.Run(ctx, company, func(inside *txn.Tx) error { tx = inside; return nil }))
	c.receivers = []any{
		company, effect, values, declaration, details, views, &aztablekit.Settings[item]{}, archive.Into[item]("none", nil),
		expire.At(func(*item) time.Time { return time.Time{} }, nil), check, new(jobs.Slice[item]), new(jobs.Job[item, int]), new(azt.Program),
		acc, account.Grant{}, mover, destination, blobs, outbox, poison, byName, byNameAlone, unique, lists, sums, text,
		keys.Partition(text, func(v *item) *string { return &v.Group }), keys.Partition2(text, text, two), keys.Partition3(text, text, text, three),
		keys.Row(text, func(v *item) *string { return &v.Group }), keys.Row2(text, text, two), keys.Row3(text, text, text, three), text.Rows(),
		keys.Component[string]{},
		&keys.PartitionOf[item, string]{}, &keys.PartitionOf2[item, string, string]{}, &keys.PartitionOf3[item, string, string, string]{},
		&keys.RowOf[item, string]{}, &keys.RowOf2[item, string, string]{}, &keys.RowOf3[item, string, string, string]{}, &keys.RowRanges[string]{}, &keys.PartitionRanges[string]{},
		keys.PartitionRange{}, keys.RowRange{}, keys.PartitionKey{}, keys.RowKey{}, new(keys.Key),
		new(largeentity.Blob), numbers, slots, series.Slots{}, leases, held, guarded, tx, log, periods, blobLog, lines, reader, new(requests.Counter),
		stored, new(table.Entity[item]), row, new(table.Row), base, items, size, name, table.Field[item, int64]{}, projection,
	}
	return c
}

// planCaller is a maintainer that calls the methods of what it gets.
type planCaller struct{ c *caller }

func (planCaller) Name() string { return "plans" }
func (planCaller) MaxRows() int { return 5 }
func (m planCaller) Maintain(_ context.Context, p *extend.Plan, c *extend.Change[argumentsItem]) error {
	m.c.methods(p)
	m.c.methods(c)
	return nil
}
