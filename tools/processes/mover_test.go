package processes

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aztablekit/aztablekit/internal/testkit/workertest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/eventual"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/internal/bareworker"
	"github.com/aztablekit/aztablekit/internal/host"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// item is the entity type of the moves.
type item struct {
	Group string
	ID    int
	Text  string
}

var itemSchema = table.Schema[item]{
	Partition: keys.Partition(keys.Text(), func(m *item) *string { return &m.Group }),
	Row:       keys.Row(keys.Digits[int](6).Named("m"), func(m *item) *int { return &m.ID }),
}

// moverProcess is a process that moves items. Another process opens it from its exported fields, in JSON.
type moverProcess struct {
	connection
	Name         string
	WriteTimeout time.Duration // short for a process that is killed, so that its messages become visible soon; 0 means the default
	Target       string        // the position at which the process is killed, "" for none
	Visits       int64         // how often the process reaches the position before it is killed there

	acc     *account.Account
	current *table.Table[item]
	old     workertest.Destination
	mover   *workertest.Mover[item]
}

func (mp *moverProcess) connect(more ...policy.Policy) error {
	var err error
	if mp.acc, err = mp.open(more...); err != nil {
		return err
	}
	opt := &table.Options{Common: table.Common{WriteTimeout: mp.WriteTimeout}}
	if mp.current, err = bare.NewTable(mp.acc.Tables(), mp.Name+"c", itemSchema, opt); err != nil {
		return err
	}
	to := archive.ToTable(mp.Name+"o", &archive.Options{Common: opt.Common})
	if mp.old, err = workertest.Place(&host.Host{Tables: mp.acc.Tables()}, to); err != nil {
		return err
	}
	out, err := bareworker.NewOutbox(mp.acc.Queues().NewQueueClient(mp.Name+"q"), &opt.Common)
	if err != nil {
		return err
	}
	mp.mover, err = workertest.NewMover("marks", mp.current, mp.old, out)
	return err
}

func (mp *moverProcess) worker() (bareworker.Worker, error) {
	return bareworker.New(mp.acc.Queues().NewQueueClient(mp.Name+"q"), mp.acc.Queues().NewQueueClient(mp.Name+"p"), []host.Handler{mp.mover.Handler}, &eventual.WorkerOptions{
		Concurrency: 4, Visibility: 2 * time.Second, Idle: 200 * time.Millisecond, Wait: time.Second, MaxWait: 2 * time.Second, Attempts: 100,
	})
}

// positionReporter is a policy that prints the position at which the process is to be killed, when the process reaches it, and
// stops there.
type positionReporter struct {
	process   *moverProcess
	remaining atomic.Int64 // visits of the position until then
}

func (t *positionReporter) Do(r *policy.Request) (*http.Response, error) {
	at := t.process.position(r.Raw())
	t.report("before " + at)
	resp, err := r.Next()
	t.report("after " + at)
	return resp, err
}

func (t *positionReporter) report(at string) {
	if at == t.process.Target && t.remaining.Add(-1) == 0 {
		fmt.Println(at)
		select {}
	}
}

// positions are the requests of a move, in order. A process is killed before or after one of them.
var positions = []string{"message", "commit record", "destination", "entity", "put", "deletion", "end"}

func (mp *moverProcess) position(r *http.Request) string {
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/messages"):
		return "message"
	case strings.Contains(path, "/messages/"):
		return "end"
	case strings.Contains(path, "RowKey='~i|"):
		return "commit record"
	case strings.Contains(path, mp.Name+"o("):
		return "destination"
	case strings.Contains(path, mp.Name+"c("):
		return "entity"
	}
	b, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(b)))
	if strings.Contains(string(b), mp.Name+"o") {
		return "put"
	}
	return "deletion"
}

// runMover is the program of a mover. It works until its input ends, or until the process is killed.
func runMover(settings []byte) error {
	var mp moverProcess
	if err := json.Unmarshal(settings, &mp); err != nil {
		return err
	}
	at := &positionReporter{process: &mp}
	at.remaining.Store(mp.Visits)
	if err := mp.connect(at); err != nil {
		return err
	}
	w, err := mp.worker()
	if err != nil {
		return err
	}
	return w.Run(inputContext())
}
