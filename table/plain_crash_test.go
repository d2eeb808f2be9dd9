package table_test

import (
	"testing"

	"github.com/aztablekit/aztablekit/internal/testkit"
	"github.com/aztablekit/aztablekit/storagetest/crashtest"
	"github.com/aztablekit/aztablekit/table"
)

// plainProcessStaff opens the employees for a process whose client has no policies of table.ClientOptions, with the default options.
func plainProcessStaff(p *crashtest.Process) (*table.Table[employee], error) {
	return openStaff(openPlainService, p, &table.Options{})
}

// TestEveryFaultPlain: TestEveryFault for a client of the SDK without the policies of table.ClientOptions, all faults.
func TestEveryFaultPlain(t *testing.T) {
	t.Parallel()
	testEveryFault(t, plainProcessStaff, func(a faultedWrite) faultedWrite { return a })
}

// TestEveryFaultExactPlain: TestEveryFaultExact for such a client, all faults.
func TestEveryFaultExactPlain(t *testing.T) {
	t.Parallel()
	open := func(p *crashtest.Process) (*table.Table[employee], error) {
		staff, err := plainProcessStaff(p)
		if err != nil {
			return nil, err
		}
		return staff.Exact(), nil
	}
	testEveryFault(t, open, func(a faultedWrite) faultedWrite {
		a.unknown, a.notFound = nil, nil
		return a
	})
}

// TestMaintainedEveryFaultPlain: TestMaintainedEveryFault for such a client, all faults.
func TestMaintainedEveryFaultPlain(t *testing.T) {
	t.Parallel()
	testMaintainedEveryFault(t, openPlainService)
}

// TestBulkEveryFaultPlain: TestBulkEveryFault for such a client, all faults.
func TestBulkEveryFaultPlain(t *testing.T) {
	t.Parallel()
	testBulkEveryFault(t, openPlainService)
}

// TestEffectsEveryFaultPlain: TestEffectsEveryFault for a writer with such a client, all faults but no pairs of faults.
func TestEffectsEveryFaultPlain(t *testing.T) {
	t.Parallel()
	testEffectsEveryFault(t, openPlainService, crashtest.Options{PairLimit: -1, Sample: testkit.Sample(3)})
}
