package transfer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aztablekit/aztablekit/internal/catalogue"
	"github.com/aztablekit/aztablekit/table"
)

// errStays is an ErrExists: Export does not go on with the export of a place, because it is
// damaged, older than a day, or of other definitions. The place is as it was.
var errStays = fmt.Errorf("%w: it stays as it is; export to another place, or set ExportOptions.GoOn", table.ErrExists)

// newest is for how long an export goes on behind its last chunk: later the table is another one.
const newest = 24 * time.Hour

// checkGoesOn fails if Export should not go on with an export. Requests: 1 if it is not finished.
func (x *export) checkGoesOn(ctx context.Context, m *manifest) error {
	if x.opt.GoOn {
		return nil
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("the export in %v %s: %w", x.to, fmt.Sprintf(format, args...), errStays)
	}
	finished := len(gaps(m.header.Whole, m.spans())) == 0
	last := m.lastWork()
	switch {
	case len(m.damaged) > 0:
		return fmt.Errorf("%w: %w", m.damage(), errStays)
	case x.now().Sub(last) > newest && finished:
		return refuse("was finished at %s", last.Format(time.DateTime))
	case x.now().Sub(last) > newest:
		return refuse("is not finished, and its last chunk is of %s: the table has changed since", last.Format(time.DateTime))
	case finished, m.header.Entities:
		return nil
	}
	theirs, err := openExport{definitions: m.header.Catalogue}.catalogue(ctx)
	if err != nil {
		return err
	}
	own, err := catalogueOf(ctx, x.table)
	if err != nil {
		return err
	}
	same, err := catalogue.Same(theirs.stored(), own.stored())
	if err == nil && !same {
		err = refuse("is of the table with other definitions, or other states of these")
	}
	return err
}

// lastWork returns when the last chunk was stored, or when the export began.
func (m *manifest) lastWork() time.Time {
	last := m.header.Begun
	for i := range m.chunks {
		if ended := m.chunks[i].Ended; ended.After(last) {
			last = ended
		}
	}
	return last.UTC()
}

// damage returns the error of lines that are not as Export has written them.
func (m *manifest) damage() error {
	lines := make([]string, len(m.damaged))
	for i, n := range m.damaged {
		lines[i] = fmt.Sprint(n)
	}
	return wrongManifest("was altered: line " + strings.Join(lines, ", ") + " is not as Export has written it")
}
