package azt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/table"
)

// doctor says what the account permits, and what is in the way.
func doctor(ctx context.Context, c *call) error {
	acc, err := c.open()
	if err != nil {
		return err
	}
	o := account.DiagnoseOptions{Table: c.flags.table, Queue: c.flags.queue, Container: c.flags.container}
	if c.flags.store != "" && o.Queue == "" {
		o.Queue = c.flags.store + "-writes"
	}
	var all []finding
	for _, f := range account.Diagnose(ctx, acc, &o) {
		all = append(all, finding{f.Service, f.Right, verdict(f.Err), forOperators.Replace(f.Advice), f.Err != nil})
	}
	if c.program.Account == nil { // else its requests cannot be sent elsewhere
		all = append(all, secondary(ctx, acc))
	}
	if c.flags.store != "" {
		for _, purpose := range []string{"writes", "poison"} {
			all = append(all, queueOf(ctx, acc, c.flags.store, purpose))
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.out.json {
		c.out.columns("service", "right", "finding", "advice")
	} else {
		c.out.columns("service", "right", "finding")
	}
	bad := false
	for _, f := range all {
		cells := []any{f.service, f.right, f.finding}
		if c.out.json {
			cells = append(cells, f.advice)
		}
		c.out.add(cells...)
		bad = bad || f.bad
	}
	for _, f := range all {
		if f.advice != "" {
			c.out.say("%s, %s: %s", f.service, f.right, f.advice)
		}
	}
	if bad {
		return errFound
	}
	return nil
}

// finding is a line of doctor.
type finding struct {
	service, right, finding, advice string
	bad                             bool
}

func verdict(err error) string {
	var re *azcore.ResponseError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &re):
		return fmt.Sprintf("refused: %d %s", re.StatusCode, re.ErrorCode)
	}
	return "no answer"
}

// secondary says whether the account has a second location, and how far that is behind.
func secondary(ctx context.Context, acc *account.Account) finding {
	f := finding{service: "tables", right: "read the second location", finding: "none, or none that can be read"}
	ctx = policy.WithRetryOptions(context.WithValue(ctx, inSecond{}, true), policy.RetryOptions{MaxRetries: -1, TryTimeout: 10 * time.Second})
	r, err := acc.Tables().GetStatistics(ctx, nil)
	if err != nil {
		f.finding += " (" + verdict(err) + ")"
		return f
	}
	if r.GeoReplication == nil || r.GeoReplication.Status == nil {
		return f
	}
	f.finding = string(*r.GeoReplication.Status)
	if at := r.GeoReplication.LastSyncTime; at != nil {
		f.finding += ", with all writes up to " + at.UTC().Format(time.DateTime)
	} else {
		f.bad, f.advice = true, "The second location cannot be used now; a failover would lose writes."
	}
	return f
}

// inSecond marks the context of a request to the second location of an account.
type inSecond struct{}

// secondLocation is the policy that sends such requests there: to the host of the account with
// -secondary behind its name, or of an emulator to that path.
type secondLocation struct{}

// Do implements policy.Policy.
func (secondLocation) Do(r *policy.Request) (*http.Response, error) {
	if r.Raw().Context().Value(inSecond{}) == nil {
		return r.Next()
	}
	at := r.Raw().URL
	switch host := at.Hostname(); {
	case net.ParseIP(host) != nil || host == "localhost":
		name, path, _ := strings.Cut(strings.TrimPrefix(at.Path, "/"), "/")
		at.Path = "/" + name + second + "/" + path
	case slices.ContainsFunc(clouds, func(s string) bool { return strings.HasSuffix(host, s) }):
		name, rest, _ := strings.Cut(at.Host, ".")
		at.Host = name + second + "." + rest
		r.Raw().Host = at.Host
	default:
		return nil, errors.New("the endpoint is none of Azure's, so the second location is not known")
	}
	return r.Next()
}

// clouds are the domains in which the second location of an account has the name of the account
// with -secondary. No token goes to another host.
var clouds = []string{".core.windows.net", ".core.chinacloudapi.cn", ".core.usgovcloudapi.net", ".storage.azure.net"}

const second = "-secondary"

// queueOf says how many messages a queue of a store has, and whether that is a fault.
func queueOf(ctx context.Context, acc *account.Account, store, purpose string) finding {
	name := store + "-" + purpose
	f := finding{service: "queues", right: name}
	r, err := acc.Queues().NewQueueClient(name).GetProperties(ctx, nil)
	if err != nil {
		f.finding, f.bad, f.advice = verdict(err), true, "The store's program creates its queues when it starts."
		return f
	}
	n := 0
	if r.ApproximateMessagesCount != nil {
		n = int(*r.ApproximateMessagesCount)
	}
	f.finding = counted(n, "message")
	if purpose == "poison" && n > 0 {
		f.bad, f.advice = true, "azt poison list "+store+" shows them."
	}
	return f
}

// prices is a price list, as its file has it.
type prices struct {
	Currency string  `json:"currency"`
	Storage  float64 `json:"storageGBMonth"`       // of 1 GB for a month
	Requests float64 `json:"per10000Transactions"` // of 10,000 requests
}

func readPrices(name string) (p prices, err error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return p, fmt.Errorf("%s is no price list: %w", shown(name), err)
	}
	if p.Currency == "" || p.Storage <= 0 || p.Requests <= 0 {
		return p, fmt.Errorf(`%s is no price list; write {"currency": "EUR", "storageGBMonth": 0.045, "per10000Transactions": 0.00036} with the prices of your account`, shown(name))
	}
	return p, nil
}

// cost counts rows and bytes of tables, and says what they and the common work on them cost by a
// price list.
func cost(ctx context.Context, c *call) error {
	if c.flags.prices == "" {
		return usage(`cost needs --prices FILE, with {"currency": "EUR", "storageGBMonth": 0.045, "per10000Transactions": 0.00036}`)
	}
	p, err := readPrices(c.flags.prices)
	if err != nil {
		return err
	}
	acc, err := c.open()
	if err != nil {
		return err
	}
	all := make([]*table.Table[table.Row], len(c.args))
	for i, name := range c.args {
		if all[i], err = tableOf(acc, name); err != nil {
			return err
		}
	}
	c.out.columns("table", "rows", "bytes", "storage a month", "a scan", "an insert of all", "currency")
	for i, name := range c.args {
		t := all[i]
		var s size
		groups := 0
		last, run := "", 0
		for row, err := range rowsOf(ctx, t, "", "") {
			if err != nil {
				return err
			}
			s.add(row)
			if pk := row.Key.PartitionKey(); pk != last || run == 100 || groups == 0 {
				last, run = pk, 0
				groups++
			}
			run++
			c.notes.progress("table %s: %d rows", name, s.rows)
		}
		c.priced(p, key(name), s, groups)
	}
	c.out.say("A scan is at least this: an export, a count, a verification. An insert is counted as transactions of 100 rows of one partition, derived rows included. Bytes are those of keys, names and values; the service adds a little for metadata.")
	return nil
}

func (c *call) priced(p prices, name key, s size, transactions int) {
	scans := math.Max(1, math.Ceil(float64(s.rows)/1000))
	amount := func(requests float64) money { return money(requests / 10_000 * p.Requests) }
	c.out.add(name, s.rows, s.bytes, money(float64(s.bytes)/(1<<30)*p.Storage), amount(scans), amount(float64(transactions)), p.Currency)
}
