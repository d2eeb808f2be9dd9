package integration

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aztablekit/aztablekit/azt"
	"github.com/aztablekit/aztablekit/internal/bare"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// commands: azt looks at a table, takes it out, and brings it back.
func commands(e *env) {
	ctx := e.Context()
	name, other, dir := freshName(), freshName(), e.TempDir()
	rows, err := bare.NewTable(e.tables, name, table.Schema[table.Row]{}, nil)
	e.must(err)
	e.must(rows.Ensure(ctx))
	for i := range 12 {
		row := &table.Row{Key: keys.Raw(fmt.Sprint("p", i%2), fmt.Sprintf("r'%02d", i))}
		e.must(row.Set("N", int32(i)))
		e.must(row.Set("Big", int64(i)<<53+1))
		e.must(row.Set("Half", float64(i)/2))
		_, err := rows.Insert(ctx, row)
		e.must(err)
	}
	p := azt.Program{Account: e.acc}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"ls", name}, 0, name},
		{[]string{"get", name, "p1", "r'01"}, 0, "9007199254740993"},
		{[]string{"get", name, "p1", "nothing"}, 1, "no row"},
		{[]string{"query", name, "--partition", "p1", "--where", "N >= 5"}, 0, "4 entities"},
		{[]string{"query", name, "--partition", "p1", "--where", "Big = 9007199254740993"}, 0, "1 entity"},
		{[]string{"query", name, "--partition", "p1", "--where", "Half > 2.4"}, 0, "4 entities"},
		{[]string{"query", name, "--from", "p0", "--to", "p1", "--prefix", "r'0", "--select", "N"}, 0, "5 entities"},
		{[]string{"count", name, "--scan"}, 0, "12 rows"},
		{[]string{"hot", name}, 0, "12 rows in 2 partitions"},
		{[]string{"describe", name}, 0, "without definitions: " + name},
		{[]string{"pending", name}, 0, "nothing is pending"},
		{[]string{"export", name, filepath.Join(dir, "backup")}, 0, "12"},
		{[]string{"export", name, filepath.Join(dir, "rows.csv")}, 0, "12"},
		{[]string{"import", filepath.Join(dir, "rows.csv"), other, "--write"}, 0, "12"},
		{[]string{"compare", filepath.Join(dir, "backup"), other, "--entities"}, 0, "no differences"},
		{[]string{"copy", name, other, "--write", "--mode", "replace"}, 0, "12"},
		{[]string{"compare", name, other}, 0, "no differences"},
	} {
		var out strings.Builder
		if code := p.Run(ctx, c.args, &out, &out); code != c.code || !strings.Contains(out.String(), c.want) {
			e.Errorf("azt %v: got exit code %d and\n%s\nwant %d and %q", c.args, code, out.String(), c.code, c.want)
		}
	}
}
