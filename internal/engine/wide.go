package engine

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/aztablekit/aztablekit/internal/commit"
	"github.com/aztablekit/aztablekit/internal/edm"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/internal/reserved"
	"github.com/aztablekit/aztablekit/internal/stored"
)

// A wide entity is stored in several rows of its partition: the head, under the entity's key, and
// parts, under that key with a ! and the number of the part. The head contains a directory of the
// parts. A part contains a tag, which changes with each write of the part, and the directory
// contains the tags. So a reader that finds every part of the directory with its tag has read all
// rows of one version. The head is written by its ETag and the parts in the same transaction, so
// that the head's version is that of the whole entity.

// partTag is an entry of a directory.
type partTag struct {
	number uint8
	tag    string
}

// directory lists the parts of an entity in the order of their numbers. It is stored as a text, 10
// characters for each part.
type directory []partTag

const tagLength = 8

func (d directory) String() string {
	var b strings.Builder
	for _, part := range d {
		fmt.Fprintf(&b, "%02d%s", part.number, part.tag)
	}
	return b.String()
}

var errDirectory = &errs.DecodeError{Field: reserved.Parts, Reason: "is no directory of parts"}

// directoryIn returns the directory of a head.
func directoryIn(columns []edm.Column) (directory, error) {
	v := stored.Find(columns, reserved.Parts)
	if v.Kind == edm.Absent {
		return nil, nil
	}
	const entry = 2 + tagLength
	if v.Kind != edm.String || len(v.S)%entry != 0 {
		return nil, errDirectory
	}
	var d directory
	for s := v.S; s != ""; s = s[entry:] {
		number, err := strconv.ParseUint(s[:2], 10, 8)
		if err != nil || number < 1 || number > edm.MaxPart || len(d) > 0 && uint8(number) <= d[len(d)-1].number {
			return nil, errDirectory
		}
		d = append(d, partTag{uint8(number), s[2:entry]})
	}
	return d, nil
}

// tag returns the tag of a part, "" if the directory has no such part.
func (d directory) tag(number uint8) string {
	for _, part := range d {
		if part.number == number {
			return part.tag
		}
	}
	return ""
}

// setTag returns the directory with a tag of a part, or without the part if the tag is "".
func (d directory) setTag(number uint8, tag string) directory {
	d = slices.DeleteFunc(slices.Clone(d), func(p partTag) bool { return p.number == number })
	if tag == "" {
		return d
	}
	i, _ := slices.BinarySearchFunc(d, number, func(p partTag, n uint8) int { return int(p.number) - int(n) })
	return slices.Insert(d, i, partTag{number, tag})
}

// assembly puts a wide entity together from its rows.
type assembly struct {
	head      edm.Entity
	columns   []edm.Column    // of the head and of the parts so far
	names     map[string]bool // of the columns, once there is a part
	directory directory
	found     []uint8 // the parts of the directory that have come
	err       error   // what is wrong with the rows
}

// assemble begins with the head.
func assemble(head edm.Entity, columns []edm.Column) *assembly {
	a := &assembly{head: head, columns: columns}
	a.head.JSON = edm.JSON{} // it is only for the time of the page
	a.directory, a.err = directoryIn(columns)
	return a
}

// add adds a row if it is a part of the entity. A part that the directory does not list is a
// remnant of another entity.
func (a *assembly) add(rowKey string, columns []edm.Column) (isPart bool) {
	number := stored.PartOf(a.head.RowKey, rowKey)
	tag := stored.Find(columns, reserved.Part)
	if number == 0 || tag.Kind == edm.Absent {
		return false
	}
	want := a.directory.tag(number)
	switch {
	case want == "":
		return true
	case tag.S != want:
		a.fail(fmt.Sprintf("part %d is not of the version of the head", number))
		return true
	}
	a.found = append(a.found, number)
	if a.names == nil {
		a.names = make(map[string]bool, len(a.columns)+len(columns))
		for i := range a.columns {
			a.names[a.columns[i].Name] = true
		}
	}
	for _, c := range columns {
		if c.Name == reserved.Part || c.Name == reserved.OperationID {
			continue
		}
		taken := a.names[c.Name]
		if edm.IsSystem(c.Name) || taken {
			a.fail(fmt.Sprintf("part %d contains the property %s, which belongs into another row", number, c.Name))
			return true
		}
		a.names[c.Name] = true
		c.Part = number
		a.columns = append(a.columns, c)
	}
	return true
}

func (a *assembly) fail(reason string) {
	if a.err == nil {
		a.err = &errs.DecodeError{Field: reserved.Parts, Reason: reason}
	}
}

// whole returns an error if the rows are not all of one version.
func (a *assembly) whole() error {
	if missing := len(a.directory) - len(a.found); a.err == nil && missing > 0 {
		return &errs.DecodeError{Field: reserved.Parts, Reason: fmt.Sprintf("lists %d parts of the entity, of which %d are missing", len(a.directory), missing)}
	}
	return a.err
}

// row returns the entity as a row.
func (a *assembly) row() *stored.Row {
	return stored.Of(a.head, a.columns)
}

// partsMaintainer is the name by which errors call the engine as the maker of the rows of parts.
const partsMaintainer = "parts"

// planParts plans the rows of the parts of a wide entity, and determines what is sent in its head.
func (s *step) planParts(p *Plan) error {
	if s.Table.Mode.Parts == 0 {
		if hasParts(s.Before) {
			return errs.ErrUnknownParts
		}
		return nil
	}
	old, known, err := s.storedColumns()
	if err != nil {
		return err
	}
	dir, err := directoryIn(old)
	if err != nil {
		return err
	}
	p.beginMaintainer(s.opIndex, s.Key, partsMaintainer, edm.MaxPart)
	if s.deletes() {
		for _, part := range dir {
			if err := p.removePart(s, part.number); err != nil {
				return err
			}
		}
		return nil
	}
	if known && s.merges() {
		s.stayInPlace(old)
	}
	tag := p.preview.newID(s.Table.Options.NewID)()
	if !commit.IsID(tag) {
		return errNewID
	}
	tag = tag[len(tag)-tagLength:]
	c := partsChange{plan: p, step: s, tag: tag, known: known, was: dir, now: dir}
	parts, oldParts := columnsOfParts(s.Body.Columns()), columnsOfParts(old)
	for number := 1; number < len(parts); number++ {
		if err := c.put(number, parts.columns(number), oldParts.columns(number)); err != nil {
			return err
		}
	}
	if err := c.removeEmpty(parts); err != nil {
		return err
	}
	return s.setDirectory(parts.columns(0), dir, c.now)
}

// storedColumns returns what is known of the columns of the entity. whole reports that these are
// all columns that are stored.
func (s *step) storedColumns() (columns []edm.Column, whole bool, err error) {
	if !s.Before.Known() && s.Head != nil {
		return s.Head.Columns(), false, nil
	}
	columns, err = s.Before.Decoded()
	return columns, s.Before.Known() && !(s.Known && s.Upgraded), err
}

// partsChange is the change of the parts of an entity by an operation that stores the entity or
// merges into it.
type partsChange struct {
	plan     *Plan
	step     *step
	tag      string    // of the parts that are written
	known    bool      // whether all stored columns are known
	was, now directory // before and after the change
}

// put plans the row of a part with the columns of the operation, unless the part has the same
// columns already.
func (c *partsChange) put(number int, columns, old []edm.Column) error {
	s := c.step
	exists := c.was.tag(uint8(number)) != ""
	switch {
	case len(columns) == 0:
		return nil
	case number > s.Table.Mode.Parts:
		return &errs.LimitError{Field: s.Key.RowKey(), Limit: fmt.Sprintf("parts of an entity (Schema.Parts); it has a property in part %d", number), Got: number, Max: s.Table.Mode.Parts}
	case !s.merges() && exists && c.known && stored.Same(columns, old):
		return nil
	}
	c.now = c.now.setTag(uint8(number), c.tag)
	set := append(slices.Clip(columns), edm.Column{Name: reserved.Part, Value: edm.Value{Kind: edm.String, S: c.tag}})
	switch {
	case !s.merges() || !exists:
		return c.plan.putPart(s, uint8(number), exists, set, nil)
	case c.known:
		kept := slices.DeleteFunc(slices.Clone(old), func(c edm.Column) bool { return stored.Find(set, c.Name).Kind != edm.Absent })
		return c.plan.putPart(s, uint8(number), exists, append(kept, set...), set)
	}
	return c.plan.putPart(s, uint8(number), exists, nil, set)
}

// removeEmpty plans the deletion of the parts that the entity no longer has. A merge keeps all
// parts.
func (c *partsChange) removeEmpty(parts columnsByPart) error {
	if c.step.merges() {
		return nil
	}
	for _, part := range c.was {
		if len(parts.columns(int(part.number))) > 0 {
			continue
		}
		c.now = c.now.setTag(part.number, "")
		if err := c.plan.removePart(c.step, part.number); err != nil {
			return err
		}
	}
	return nil
}

// setDirectory stores the directory in the head.
func (s *step) setDirectory(head []edm.Column, was, dir directory) (err error) {
	columns := stored.Without(s.Body.Columns(), reserved.Parts)
	head = stored.Without(head, reserved.Parts)
	if len(dir) > 0 && !(s.merges() && slices.Equal(was, dir)) {
		c := edm.Column{Name: reserved.Parts, Value: edm.Value{Kind: edm.String, S: dir.String()}}
		columns, head = append(slices.Clip(columns), c), append(slices.Clip(head), c)
	}
	s.Body = s.Body.WithColumns(columns)
	w := edm.NewWriter(s.Key.PartitionKey(), s.Key.RowKey(), len(head))
	for _, c := range head {
		w.PutColumn(c)
	}
	if s.StoresID {
		w.Reserve(stored.UnassignedID)
	}
	body, err := w.Finish()
	s.head = &body
	return err
}

// stayInPlace lets a merge change properties where they are stored, also if their fields belong
// into another part by now.
func (s *step) stayInPlace(old []edm.Column) {
	columns := slices.Clone(s.Body.Columns())
	for i := range columns {
		for j := range old {
			if old[j].Name == columns[i].Name {
				columns[i].Part = old[j].Part
			}
		}
	}
	s.Body = s.Body.WithColumns(columns)
}

// columnsByPart are the columns of an entity by the number of their part.
type columnsByPart [][]edm.Column

func columnsOfParts(columns []edm.Column) (parts columnsByPart) {
	parts = make(columnsByPart, 1)
	for _, c := range columns {
		for len(parts) <= int(c.Part) {
			parts = append(parts, nil)
		}
		parts[c.Part] = append(parts[c.Part], c)
	}
	return parts
}

func (p columnsByPart) columns(number int) []edm.Column {
	if number >= len(p) {
		return nil
	}
	return p[number]
}

// hasParts reports whether a row is the head of a wide entity.
func hasParts(row edm.Stored) bool {
	if !row.MayHave(reserved.Parts) {
		return false
	}
	columns, err := row.Decoded()
	return err == nil && stored.Find(columns, reserved.Parts).Kind != edm.Absent
}

// putPart plans the row of a part. stored reports that the directory lists it. merge, if it is not
// nil, is what changes of a stored part. whole is nil if the rest of the part is not known.
func (p *Plan) putPart(s *step, number uint8, exists bool, whole, merge []edm.Column) error {
	d, err := p.rowOfPart(s, number, exists)
	if err != nil {
		return err
	}
	if merge != nil && d.read != nil && d.read.row == nil && whole == nil {
		return &errs.DecodeError{Field: reserved.Parts, Reason: fmt.Sprintf("lists part %d, which is missing", number)}
	}
	if whole == nil {
		whole = merge
	}
	p.make(d, stored.New(d.key, whole), nil)
	d.merge = merge
	return nil
}

// removePart plans the deletion of the row of a part.
func (p *Plan) removePart(s *step, number uint8) error {
	d, err := p.rowOfPart(s, number, true)
	if err == nil {
		p.make(d, nil, nil)
	}
	return err
}

var errNoPart = errors.New("it is in the place of a part of a wide entity")

func (p *Plan) rowOfPart(s *step, number uint8, exists bool) (*derivedRow, error) {
	d, err := p.rowFor(stored.PartKey(s.Key, number))
	if err != nil {
		return nil, err
	}
	if d.read != nil && d.read.row != nil && !d.read.row.Has(reserved.Part) {
		return nil, p.refuse(d.key, errs.With(errs.ErrForeignRow, errNoPart))
	}
	d.owned = exists
	return d, nil
}

// Joined yields rows with the parts of wide entities in their heads. Parts follow their heads, in
// the order of keys. The error of an entity whose parts are missing, or of another version, comes
// with its row, and the rest follows.
func Joined(rows iter.Seq2[*stored.Row, error]) iter.Seq2[*stored.Row, error] {
	return func(yield func(*stored.Row, error) bool) {
		var pending *assembly
		give := func() bool {
			if pending == nil {
				return true
			}
			a := pending
			pending = nil
			return yield(a.row(), a.whole())
		}
		for r, err := range rows {
			switch {
			case err != nil:
				if give() {
					yield(nil, err)
				}
				return
			case r.Has(reserved.Part):
				if pending != nil && pending.head.PartitionKey == r.Key.PartitionKey() {
					pending.add(r.Key.RowKey(), r.Columns())
				}
				continue
			case !give():
				return
			}
			pending = assemble(edm.Entity{PartitionKey: r.Key.PartitionKey(), RowKey: r.Key.RowKey(), Timestamp: r.Timestamp}, r.Columns())
		}
		give()
	}
}
