package crashtest

import (
	"fmt"

	"github.com/aztablekit/aztablekit/storagetest"
)

// injection is a fault of one request of the processes under test.
type injection struct {
	at    int // the request's place among the requests of the processes under test; starts with 1
	fault storagetest.Fault
	crash bool // the process crashes with the request
}

func (i injection) String() string {
	s := fmt.Sprintf("at request %d of the processes: %v", i.at, i.fault)
	if i.crash {
		s += ", and the process crashes"
	}
	return s
}

// crashFaults returns the faults of a request whose process crashes. Other faults make no difference to a crashed process.
func crashFaults() []storagetest.Fault {
	return []storagetest.Fault{storagetest.LostRequest(), storagetest.LostResponse()}
}
