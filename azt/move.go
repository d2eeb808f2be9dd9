package azt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/internal/door"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// isPlace reports whether an argument is the place of an export, and not a table, whose name has
// letters and digits only.
func isPlace(arg string) bool { return strings.ContainsAny(arg, "/.:\\") }

// place returns a place: ./folder, or blob:container/prefix. {date} in it stands for the day in
// UTC.
func place(acc *account.Account, arg string) (transfer.Place, error) {
	arg = strings.ReplaceAll(arg, "{date}", time.Now().UTC().Format(time.DateOnly))
	if !isPlace(arg) {
		return nil, usage("%s is no place of an export; write a folder as ./%s, and a container as blob:%s", shown(arg), arg, arg)
	}
	at, is := strings.CutPrefix(arg, "blob:")
	if !is {
		return transfer.Folder(arg), nil
	}
	container, prefix, _ := strings.Cut(at, "/")
	if container == "" {
		return nil, usage("%s names no container; write blob:CONTAINER/PREFIX", shown(arg))
	}
	return transfer.Container(acc.Blobs().NewContainerClient(container), prefix, nil), nil
}

// isFile reports whether a place is a file of rows, by the end of its name, and which form it has.
func isFile(arg string) (form string, is bool) {
	for _, form := range []string{"csv", "json", "jsonl", "ndjson"} {
		if strings.HasSuffix(strings.ToLower(arg), "."+form) && !strings.HasPrefix(arg, "blob:") {
			return form, true
		}
	}
	return "", false
}

// source returns the rows of a table, of an export or of a file. It opens the account if that needs
// one.
func source(open func() (*account.Account, error), arg string) (transfer.Source, error) {
	if form, is := isFile(arg); is {
		file := func() (io.ReadCloser, error) { return os.Open(arg) }
		if form == "csv" {
			return transfer.CSV(file, nil), nil
		}
		return transfer.JSON(file), nil
	}
	var acc *account.Account
	if !isPlace(arg) || strings.HasPrefix(arg, "blob:") {
		var err error
		if acc, err = open(); err != nil {
			return nil, err
		}
	}
	if isPlace(arg) {
		at, err := place(acc, arg)
		return transfer.Exported(at), err
	}
	t, err := tableOf(acc, arg)
	if err != nil {
		return nil, err
	}
	return transfer.Of(t), nil
}

func export(ctx context.Context, c *call) error {
	acc, t, err := c.openTable(c.args[0])
	if err != nil {
		return err
	}
	if form, is := isFile(c.args[1]); is {
		return c.exportFile(ctx, t, c.args[1], form)
	}
	if c.flags.all {
		return usage("--all is for files; a folder or container has all rows, but with --entities")
	}
	at, err := place(acc, c.args[1])
	if err != nil {
		return err
	}
	if strings.HasPrefix(c.args[1], "blob:") {
		if err := c.willWrite("store an export in a container"); err != nil {
			return err
		}
	}
	in, err := c.flags.partitions()
	if err != nil {
		return err
	}
	report, err := transfer.Export(ctx, t, at, &transfer.ExportOptions{
		Pass: table.Pass{
			Partitions: in, Rate: c.flags.rate, Concurrency: c.flags.concurrency,
			Progress: func(r table.Progress) { c.notes.progress("%d rows in %d chunks", r.Rows, r.Counts["chunks"]) },
		},
		Entities: c.flags.entities, GoOn: c.flags.goOn,
	})
	n := report.Counts
	if err != nil {
		if report.Rows > 0 {
			c.notes.line("%d rows in %d chunks are stored; the same command goes on", report.Rows, n["chunks"])
		}
		return err
	}
	c.out.columns("table", "to", "rows", "added", "chunks", "bytes", "pending", "prepared")
	c.out.add(key(t.Name()), at.String(), report.Rows, report.Changed, n["chunks"], n["bytes"], n["pending"], n["prepared"])
	if report.Changed == 0 && report.Rows > 0 {
		c.notes.line("this export was finished before, and nothing was added: export to another place, such as ./{date}/%s", t.Name())
	}
	if n["pending"] > 0 {
		c.out.say("pending: %s with effects that are due; after a restore, azt pending TABLE --notify STORE gives them to the workers", counted(n["pending"], "write"))
	}
	if n["prepared"] > 0 {
		c.out.say("prepared: %s of writes that were under way; after a restore, azt verify --repair --write ends them", counted(n["prepared"], "row"))
	}
	if n["torn"] > 0 {
		c.out.say("torn: %s written while they were read", counted(n["torn"], "partition"))
	}
	if c.flags.blobs == "" {
		return nil
	}
	return c.copyBlobs(ctx, transfer.Exported(at), transfer.Container(acc.Blobs().NewContainerClient(c.flags.blobs), "", nil), at)
}

// importBlobs copies the blobs of large values from an export, or from the container of another
// account.
func (c *call) importBlobs(ctx context.Context, rows transfer.Source, to transfer.Place) error {
	var acc *account.Account
	var err error
	if first := c.args[0]; !isPlace(first) || strings.HasPrefix(first, "blob:") {
		if acc, err = c.open(); err != nil {
			return err
		}
	}
	if !isPlace(c.args[0]) {
		return c.copyBlobs(ctx, rows, transfer.Container(acc.Blobs().NewContainerClient(c.flags.blobs), "", nil), to)
	}
	from, err := place(acc, c.args[0])
	if err != nil {
		return err
	}
	return c.copyBlobs(ctx, rows, from, to)
}

// copyBlobs copies the blobs of large values.
func (c *call) copyBlobs(ctx context.Context, rows transfer.Source, from, to transfer.Place) error {
	lost := 0
	report, err := transfer.CopyBlobs(ctx, rows, from, to, &table.Pass{
		Concurrency: c.flags.concurrency,
		Progress:    func(r table.Progress) { c.notes.progress("%d blobs", r.Rows) },
		Skip: func(k keys.Key, err error) bool {
			if lost++; lost <= 10 {
				c.notes.line("lost: the blob of %s %s: %v", shown(k.PartitionKey()), shown(k.RowKey()), errors.Unwrap(err))
			}
			return true
		},
	})
	if err != nil {
		c.notes.line("%s copied; the same command does the rest", counted(report.Changed, "blob"))
		return err
	}
	c.out.say("blobs: %d copied, %d were there, %d lost", report.Changed, report.Counts["same"], report.Faults)
	if report.Faults > 0 {
		return errFound
	}
	return nil
}

// exportFile writes the entities of a table, or all rows, to a file that does not exist.
func (c *call) exportFile(ctx context.Context, t table.Handle, name, form string) (err error) {
	if c.flags.partition.set || c.flags.from.set || c.flags.to.set || c.flags.rate > 0 || c.flags.concurrency > 0 || c.flags.blobs != "" {
		return usage("a file has the rows of the whole table; a folder takes ranges, --rate, --concurrency and --blobs")
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	write := transfer.WriteJSON
	if form == "csv" {
		write = transfer.WriteCSV
	}
	n, err := write(ctx, f, transfer.Of(t), &transfer.FileOptions{All: c.flags.all})
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(name)) // half a file would be taken for a whole one
	}
	c.out.columns("table", "to", "rows")
	c.out.add(key(t.Name()), name, n)
	return nil
}

// modes are the modes of an import.
var modes = map[string]transfer.Mode{"insert": transfer.Insert, "replace": transfer.Replace, "newer": transfer.Newer}

// importRows is import and copy: the rows of the first argument into the table of the second.
func importRows(ctx context.Context, c *call) error {
	mode, is := modes[c.flags.mode]
	if !is {
		return usage("--mode %s is none of insert, replace and newer", shown(c.flags.mode))
	}
	if isPlace(c.args[1]) {
		return usage("%s is no table; azt export stores a table in a folder or a container", shown(c.args[1]))
	}
	if c.command.name == "copy" && isPlace(c.args[0]) {
		return usage("%s is no table; azt import stores the rows of an export", shown(c.args[0]))
	}
	if _, file := isFile(c.args[0]); file && c.flags.blobs != "" {
		return usage("%s is a file, which has no blobs", shown(c.args[0]))
	}
	from, err := source(c.open, c.args[0])
	if err != nil {
		return err
	}
	other, err := c.openOther()
	if err != nil {
		return err
	}
	to, err := tableOf(other, c.args[1])
	if err != nil {
		return err
	}
	if err := c.willWrite(fmt.Sprintf("store the rows of %s in table %s", c.args[0], c.args[1])); err != nil {
		return err
	}
	used, err := isInUse(ctx, to)
	if err != nil {
		return err
	}
	kept := 0
	report, err := transfer.Import(ctx, from, to, &transfer.ImportOptions{
		Pass: table.Pass{
			Rate: c.flags.rate, Concurrency: c.flags.concurrency,
			Progress: func(r table.Progress) { c.notes.progress("%d rows read, %d stored", r.Rows, r.Changed) },
		},
		Mode: mode, OtherDefinitions: c.flags.other,
		Kept: func(k keys.Key) {
			if kept++; kept <= 10 {
				c.notes.line("kept: %s %s", shown(k.PartitionKey()), shown(k.RowKey()))
			}
		},
	})
	if err != nil {
		if report.Rows > 0 && !isDamage(err) {
			c.notes.line("%d rows are stored, and %d were; the same command does the rest", report.Changed, report.Counts["same"])
		}
		if errors.Is(err, table.ErrNotDeclared) {
			c.notes.line("azt describe shows the definitions of a table. Import into a table that does not exist, or see --other-definitions.")
		}
		return err
	}
	c.out.columns("from", "table", "rows", "stored", "same", "kept")
	c.out.add(c.args[0], key(to.Name()), report.Rows, report.Changed, report.Counts["same"], report.Counts["kept"])
	if c.flags.blobs != "" {
		if err := c.importBlobs(ctx, from, transfer.Container(other.Blobs().NewContainerClient(c.flags.blobs), "", nil)); err != nil {
			return err
		}
	}
	if !used || report.Changed == 0 {
		return nil
	}
	c.notes.line("table %s has definitions and had rows before: index rows, copies and sums may not be those of its "+
		"entities now, and deleted entities that the import has are back. azt verify --repair --write, in an azt of your own, makes what follows from the entities right.", shown(to.Name()))
	return errFound
}

// isInUse reports whether a table has definitions whose rows are kept, and rows besides. Requests:
// 1, and 1 if there are such definitions.
func isInUse(ctx context.Context, t table.Handle) (bool, error) {
	e := door.Table(t)
	found, err := e.GetReserved(ctx, "Import", keys.Raw(reserved.Catalogue, reserved.Catalogue))
	if errors.Is(err, table.ErrNotCreated) {
		return false, nil
	}
	if err != nil || found.Row == nil {
		return false, err
	}
	all, err := catalogue.Decode(found.Row)
	if err != nil || !all.Keeps() {
		return err != nil, nil // a damaged catalogue counts as in use
	}
	var others query.Filter
	others.Keys(edm.RowKey, query.BoundsOf(query.EveryKey))
	_, used, err := e.FirstKey(ctx, others.String())
	return used, err
}

// isDamage reports whether an error is of an export that was altered, or is not finished: no
// repetition changes that.
func isDamage(err error) bool {
	return errors.As(err, new(*transfer.FileError)) || errors.Is(err, table.ErrIncomplete)
}

// mostProperties is how many names of a difference are shown.
const mostProperties = 10

func compare(ctx context.Context, c *call) error {
	first, err := source(c.open, c.args[0])
	if err != nil {
		return err
	}
	second, err := source(c.openOther, c.args[1])
	if err != nil {
		return err
	}
	c.out.columns("difference", "PartitionKey", "RowKey", "properties")
	n := 0
	for d, err := range transfer.Compare(ctx, first, second, &transfer.CompareOptions{EntitiesOnly: c.flags.entities}) {
		if err != nil {
			return err
		}
		if n++; c.flags.limit > 0 && n > c.flags.limit {
			c.out.flush()
			c.notes.line("… and more; --limit %d shows more, and --limit 0 all", 10*c.flags.limit)
			return errFound
		}
		names := d.Properties
		if !c.out.json && len(names) > mostProperties {
			names = append(names[:mostProperties:mostProperties], "…")
		}
		c.out.add(d.Kind, key(d.Key.PartitionKey()), key(d.Key.RowKey()), strings.Join(names, " "))
	}
	if n > 0 {
		c.out.say("%s", counted(n, "difference"))
		return errFound
	}
	c.out.say("no differences")
	return nil
}
