package azt

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"golang.org/x/sync/errgroup"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/engine"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// tables lists the names of the account's tables that begin with a text.
func tables(ctx context.Context, acc *account.Account, prefix string) (names []string, err error) {
	for p := acc.Tables().NewListTablesPager(&aztables.ListTablesOptions{}); p.More(); {
		page, err := p.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tables {
			if t.Name != nil && len(*t.Name) >= len(prefix) && strings.EqualFold((*t.Name)[:len(prefix)], prefix) {
				names = append(names, *t.Name)
			}
		}
	}
	return names, nil
}

func ls(ctx context.Context, c *call) error {
	acc, err := c.open()
	if err != nil {
		return err
	}
	prefix := ""
	if len(c.args) > 0 {
		prefix = c.args[0]
	}
	names, err := tables(ctx, acc, prefix)
	if err != nil {
		return err
	}
	c.out.columns("table")
	for _, name := range names {
		c.out.add(key(name))
	}
	if len(names) == 0 {
		c.out.say("no tables")
	}
	return nil
}

func get(ctx context.Context, c *call) error {
	_, t, err := c.openTable(c.args[0])
	if err != nil {
		return err
	}
	r, err := rowOf(ctx, t, keys.Raw(c.args[1], c.args[2]))
	if r == nil && err == nil {
		err = fmt.Errorf("table %s has no row %s %s", t.Name(), shown(c.args[1]), shown(c.args[2]))
	}
	if r == nil {
		return err
	}
	c.printRow(r)
	if err != nil {
		c.notes.line("the entity is damaged: %s", brief(err))
		return errFound
	}
	return nil
}

// rowOf reads a row, with its parts if it is a wide entity, nil if there is none. A damaged entity
// comes with an error. 1 request, 2 for a wide entity.
func rowOf(ctx context.Context, t *table.Table[table.Row], k keys.Key) (found *stored.Row, err error) {
	var of query.Filter
	of.Key(edm.PartitionKey, "eq", k.PartitionKey())
	of.Key(edm.RowKey, "eq", k.RowKey())
	for r, err := range rowsOf(ctx, t, of.String(), "") {
		if err != nil {
			return nil, err
		}
		found = r
	}
	if found == nil || !found.Has(reserved.Parts) {
		return found, nil
	}
	of = query.Filter{}
	of.Key(edm.PartitionKey, "eq", k.PartitionKey())
	of.Key(edm.RowKey, "gt", k.RowKey())
	of.Key(edm.RowKey, "le", stored.PartKey(k, 99).RowKey())
	parts := func(yield func(*stored.Row, error) bool) {
		if !yield(found, nil) {
			return
		}
		for r, err := range rowsOf(ctx, t, of.String(), "") {
			if (err != nil || stored.PartOf(k.RowKey(), r.Key.RowKey()) > 0) && !yield(r, err) {
				return
			}
		}
	}
	for r, err := range engine.Joined(parts) {
		return r, err
	}
	return found, nil
}

// printRow prints a row with a line for each property: those of the program, and then those of the
// library.
func (c *call) printRow(r *stored.Row) {
	if c.out.json {
		c.out.columns("what", "row")
		c.out.add(described(r), jsonOf(r))
		return
	}
	c.out.columns("", "")
	c.out.add("PartitionKey", key(r.Key.PartitionKey()))
	c.out.add("RowKey", key(r.Key.RowKey()))
	c.out.add("what", described(r))
	c.out.add("changed", r.Timestamp.UTC().Format("2006-01-02 15:04:05.9999999"))
	c.out.columns("", "", "")
	var own []edm.Column
	for _, col := range r.Columns() {
		switch {
		case col.Value.Kind == edm.Absent:
		case edm.IsSystem(col.Name):
			own = append(own, col)
		default:
			c.out.add("  "+plain(col.Name), typeName(col.Value.Kind), valueText(col.Value))
		}
	}
	if len(own) == 0 {
		return
	}
	c.out.say("of the library:")
	c.out.columns("", "", "")
	for _, col := range own {
		if g := col.Value; col.Name == reserved.OperationID && g.Kind == edm.Guid {
			id := commit.IDOf(g.G)
			at, _ := commit.TimeOf(id) // every GUID has one
			c.out.add("  "+col.Name, "Guid", fmt.Sprintf("write %s of %s", id, at.Format("2006-01-02 15:04:05.000")))
			continue
		}
		c.out.add("  "+col.Name, typeName(col.Value.Kind), valueText(col.Value))
		if col.Name == reserved.MaintainerState {
			c.printState(r, col.Value)
		}
	}
}

// printState prints what an entity records of its derived rows.
func (c *call) printState(r *stored.Row, v edm.Value) {
	state, err := stored.StateIn(v, r.Key.RowKey())
	if err != nil {
		c.out.add("", "", "(it is damaged; verify with repair makes it right)")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(state)) {
		shownTexts := make([]string, len(state[name]))
		for i, s := range state[name] {
			shownTexts[i] = shown(s)
		}
		c.out.add("", "", plain(name)+": "+strings.Join(shownTexts, " "))
	}
}

func find(ctx context.Context, c *call) error {
	c.flags.all = c.flags.all || isReserved(c.flags.prefix.text) || isReserved(c.flags.rowsFrom.text) // they name rows of the library
	t, r, err := c.reads(c.flags.all)
	if err != nil || t == nil {
		return err
	}
	choice := ""
	if c.flags.selected != "" {
		choice = propertiesOfKind + "," + reserved.Parts + "," + c.flags.selected
	}
	c.out.columns("PartitionKey", "RowKey", "what", "row")
	if !c.out.json {
		c.out.columns("PartitionKey", "RowKey", "what", "properties")
	}
	c.out.free = true
	rows := rowsOf(ctx, t, r.filter, choice)
	if !c.flags.all && !r.where { // a condition is on the properties of a row, and leaves out parts
		rows = engine.Joined(rows)
	}
	n, others, damaged := 0, 0, false
	for row, err := range rows {
		if err != nil && row == nil {
			return err
		}
		if err != nil {
			damaged = true
			c.notes.line("row %s %s is damaged: %s", shown(row.Key.PartitionKey()), shown(row.Key.RowKey()), brief(err))
		}
		c.notes.progress("%d entities, and %d other rows; at %s", n, others, shown(row.Key.PartitionKey()))
		if what, _ := whatItIs(row); what != "entity" && !c.flags.all {
			others++
			continue
		}
		if n == c.flags.limit && n > 0 {
			c.out.flush()
			c.notes.line("… and more; --limit %d shows more, and --limit 0 all", 10*n)
			return nil
		}
		n++
		row = c.flags.choose(row)
		pk, rk := key(row.Key.PartitionKey()), key(row.Key.RowKey())
		what := described(row) + withoutParts(row, !c.flags.all && !r.where)
		if c.out.json {
			c.out.add(string(pk), string(rk), what, jsonOf(row))
			continue
		}
		c.out.add(pk, rk, what, oneLine(row.Columns()))
	}
	c.out.say("%s", leftOut(n, others, c.flags.all))
	if damaged {
		return errFound
	}
	return nil
}

// choose returns a row with the properties of --select.
func (f *flags) choose(r *stored.Row) *stored.Row {
	if f.selected == "" {
		return r
	}
	return r.With(stored.Only(r.Columns(), append(strings.Split(f.selected, ","), reserved.Properties...)...))
}

// leftOut says how many rows were shown.
func leftOut(n, others int, all bool) string {
	switch {
	case all:
		return counted(n, "row")
	case others == 0:
		return counted(n, "entity")
	}
	return fmt.Sprintf("%s; %s left out (--all shows them)", counted(n, "entity"), counted(others, "derived row"))
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "y") {
		noun = noun[:len(noun)-1] + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// reads opens the table of the first argument for a command that reads rows by the flags; nil if it
// only explains.
func (c *call) reads(all bool) (*table.Table[table.Row], reading, error) {
	r, err := c.flags.reading(all)
	if err == nil {
		err = r.allowed(&c.flags)
	}
	if err != nil {
		return nil, r, err
	}
	if c.flags.explain {
		r.explain(c, c.args[0])
		return nil, r, nil
	}
	_, t, err := c.openTable(c.args[0])
	return t, r, err
}

func count(ctx context.Context, c *call) error {
	t, r, err := c.reads(true)
	if err != nil || t == nil {
		return err
	}
	all := map[string]int{}
	n := 0
	for row, err := range rowsOf(ctx, t, r.filter, propertiesOfKind) {
		if err != nil {
			return err
		}
		n++
		all[kindIn(all, row)]++
		c.notes.progress("%d rows, at %s", n, shown(row.Key.PartitionKey()))
	}
	c.out.columns("what", "rows")
	for _, what := range sorted(all) {
		c.out.add(what, all[what])
	}
	c.out.say("%s", counted(n, "row"))
	return nil
}

// mostKinds bounds what count and hot keep apart: keys such as 8f3a_17 look as if each were of a
// type of its own.
const mostKinds = 100

// kindIn describes a row for a map of kinds, by less if the map has too many.
func kindIn[V any](all map[string]V, row *stored.Row) string {
	text := described(row)
	if _, known := all[text]; !known && len(all) >= mostKinds {
		text, _ = whatItIs(row)
	}
	return text
}

// sorted returns the names of a map, entities first.
func sorted[V any](of map[string]V) []string {
	rank := func(name string) string {
		if strings.HasPrefix(name, "entity") {
			return "0" + name
		}
		return "1" + name
	}
	return slices.SortedFunc(maps.Keys(of), func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
}

// size is rows and their bytes, by the service's formula.
type size struct{ rows, bytes int }

func (s *size) add(r *stored.Row) {
	s.rows++
	s.bytes += edm.Size(r.Key.PartitionKey(), r.Key.RowKey(), r.Columns())
}

// hot counts rows and bytes by partition and by what rows are.
func hot(ctx context.Context, c *call) error {
	c.flags.scan = true
	if c.flags.top == 0 {
		return usage("--top must be at least 1")
	}
	t, r, err := c.reads(true)
	if err != nil || t == nil {
		return err
	}
	type partition struct {
		pk string
		size
	}
	var largest []partition
	keep := func(p *partition) {
		if p == nil {
			return
		}
		i, _ := slices.BinarySearchFunc(largest, *p, func(a, b partition) int { return b.bytes - a.bytes })
		largest = slices.Insert(largest, i, *p)
		largest = largest[:min(len(largest), c.flags.top)]
	}
	var whole size
	kinds := map[string]*size{}
	var at *partition
	partitions := 0
	for row, err := range rowsOf(ctx, t, r.filter, "") {
		if err != nil {
			return err
		}
		if pk := row.Key.PartitionKey(); at == nil || at.pk != pk {
			keep(at)
			at = &partition{pk: pk}
			partitions++
		}
		at.add(row)
		whole.add(row)
		what := kindIn(kinds, row)
		if kinds[what] == nil {
			kinds[what] = &size{}
		}
		kinds[what].add(row)
		c.notes.progress("%d rows of %d partitions, at %s", whole.rows, partitions, shown(at.pk))
	}
	keep(at)
	c.out.columns("PartitionKey", "rows", "bytes", "of all %")
	for _, p := range largest {
		c.out.add(key(p.pk), p.rows, p.bytes, percent(p.bytes, whole.bytes))
	}
	c.out.columns("what", "rows", "bytes", "of all %")
	for _, what := range sorted(kinds) {
		c.out.add(what, kinds[what].rows, kinds[what].bytes, percent(kinds[what].bytes, whole.bytes))
	}
	c.out.say("%s in %s, %d bytes", counted(whole.rows, "row"), counted(partitions, "partition"), whole.bytes)
	return nil
}

func percent(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// describe prints the definitions of tables, as their catalogues name them.
func describe(ctx context.Context, c *call) error {
	acc, err := c.open()
	if err != nil {
		return err
	}
	names := c.args
	for _, name := range names {
		if _, err := tableOf(acc, name); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		if names, err = tables(ctx, acc, ""); err != nil {
			return err
		}
	}
	rows, failed := make([]*stored.Row, len(names)), make([]error, len(names))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(engine.FanOut)
	for i, name := range names {
		g.Go(func() error {
			t, err := tableOf(acc, name)
			if err != nil {
				return err
			}
			found, err := door.Table(t).GetReserved(gctx, "Describe", keys.Raw(reserved.Catalogue, reserved.Catalogue))
			rows[i], failed[i] = found.Row, err
			return nil
		})
	}
	if err := cmp.Or(g.Wait(), ctx.Err()); err != nil {
		return err
	}
	c.out.columns("table", "type", "rows", "definition", "state", "since", "form")
	bare := []string{}
	bad := false
	for i, name := range names {
		var all *catalogue.Row
		err := failed[i]
		if err == nil && rows[i] != nil {
			all, err = catalogue.Decode(rows[i])
		}
		switch {
		case err != nil:
			bad = true
			c.notes.line("table %s: its definitions, in the row (~c, ~c), cannot be read: %s", name, brief(err))
		case all == nil && c.out.json:
			c.out.add(name, nil, nil, nil, nil, time.Time{}, nil)
		case all == nil:
			bare = append(bare, name)
		default:
			c.describeTable(name, all)
		}
	}
	if len(bare) > 0 {
		c.out.say("without definitions: %s", strings.Join(bare, ", "))
	}
	if bad {
		return errFound
	}
	return nil
}

// rangeText returns the RowKeys of a type for people.
func rangeText(t catalogue.Type) string {
	after := "" // the end of the keys that begin with From
	if n := len(t.From) - 1; n >= 0 {
		after = t.From[:n] + string(rune(t.From[n]+1))
	}
	switch {
	case t.Closed:
		return shown(t.From)
	case t.From == "" && t.To == "":
		return "all"
	case t.To == after:
		return shown(t.From) + "*"
	}
	return shown(t.From) + " to " + shown(t.To)
}

func (c *call) describeTable(name string, all *catalogue.Row) {
	for _, t := range all.Types {
		typeName := t.Go
		if t.Name != "" {
			typeName = t.Name
		}
		rows := rangeText(t)
		none := true
		for _, d := range all.Definitions {
			if d.Scope != t.Scope {
				continue
			}
			none = false
			c.out.add(name, typeName, rows, d.Name, string(d.State), d.Since, d.Form)
		}
		if none {
			c.out.add(name, typeName, rows, nil, nil, time.Time{}, nil)
		}
	}
}
