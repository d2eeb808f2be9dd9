package azt

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aztablekit/aztablekit/internal/query"
	"github.com/aztablekit/aztablekit/keys"
)

// command is a command of azt.
type command struct {
	name, args string
	group      string
	short      string // a line
	long       string // what -h says besides
	least      int    // arguments
	most       int    // -1: any number
	flags      []flagSet
	run        func(ctx context.Context, c *call) error
}

// flags are the flags of all commands.
type flags struct {
	json, write, quiet  bool
	width               int
	account, connection string

	partition, from, to      optional
	rowsFrom, rowsTo, prefix optional
	scan, all, explain       bool
	where                    list
	also                     *query.Cond // of the command itself
	selected                 string
	limit, top               int

	toAccount, toConnection string
	rate, concurrency       int
	mode                    string
	entities, other, goOn   bool

	repair, recordsOnly, dryRun, workers bool
	table                                string
	store                                string
	queue, container, blobs              string
	grace                                time.Duration
	prices                               string
}

// optional is a text that may be empty, and may be left out.
type optional struct {
	set  bool
	text string
}

func (o *optional) String() string { return o.text }

// Set implements flag.Value.
func (o *optional) Set(s string) (err error) {
	o.set = true
	o.text, err = typed(s)
	return err
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string { return strings.Join(*l, " and ") }

// Set implements flag.Value.
func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

// flagSet adds flags of one purpose.
type flagSet func(s *flag.FlagSet, f *flags)

func commonFlags(s *flag.FlagSet, f *flags) {
	s.BoolVar(&f.json, "json", false, "print a JSON object for each line of the answer")
	s.BoolVar(&f.quiet, "quiet", false, "print no progress")
	s.IntVar(&f.width, "width", 0, "cut lines to this `width`; by default to that of the terminal")
	s.StringVar(&f.account, "account", "", "the `name` of an account of the public cloud, for token credentials; by default the account of the environment")
	s.StringVar(&f.connection, "connection", "", "the environment `variable` with the account's connection string")
}

func writeFlag(s *flag.FlagSet, f *flags) {
	s.BoolVar(&f.write, "write", false, "change what the command is about; without it, azt only reads")
}

func keyFlags(s *flag.FlagSet, f *flags) {
	s.Var(&f.partition, "partition", "read one partition, of this PartitionKey (`PK`)")
	s.Var(&f.from, "from", "read the partitions from this `PK` on")
	s.Var(&f.to, "to", "read the partitions below this `PK`")
	s.Var(&f.rowsFrom, "rows-from", "read the rows from this `RK` on")
	s.Var(&f.rowsTo, "rows-to", "read the rows below this `RK`")
	s.Var(&f.prefix, "prefix", "read the rows whose RowKeys begin with this `text`")
	s.BoolVar(&f.scan, "scan", false, "allow to read the whole table")
	s.Var(&f.where, "where", "read the rows with this `condition`, such as 'Age >= 30'; several of them must all hold")
	s.BoolVar(&f.explain, "explain", false, "say what would be read and what it costs, and read nothing")
}

func partitionFlags(s *flag.FlagSet, f *flags) {
	s.Var(&f.partition, "partition", "one partition, of this PartitionKey (`PK`)")
	s.Var(&f.from, "from", "the partitions from this `PK` on")
	s.Var(&f.to, "to", "the partitions below this `PK`")
}

func rateFlag(s *flag.FlagSet, f *flags) {
	s.IntVar(&f.rate, "rate", 0, "the most `rows` in a second; 0 means no limit")
}

func concurrencyFlag(s *flag.FlagSet, f *flags) {
	s.IntVar(&f.concurrency, "concurrency", 0, "how many ranges or transactions are under way at the same time")
}

func toFlags(s *flag.FlagSet, f *flags) {
	s.StringVar(&f.toAccount, "to-account", "", "the `name` of the account of the second table; by default the account of the first")
	s.StringVar(&f.toConnection, "to-connection", "", "the environment `variable` with the connection string of that account")
}

func modeFlags(s *flag.FlagSet, f *flags) {
	s.StringVar(&f.mode, "mode", "insert", "what becomes of a row that is stored: `insert` leaves it, replace replaces it, newer replaces it if it is older")
	s.BoolVar(&f.other, "other-definitions", false, "store rows in a table with other definitions; its program must then verify with repair")
}

func blobsFlag(s *flag.FlagSet, f *flags) {
	s.StringVar(&f.blobs, "blobs", "", "also copy the blobs of large values, which are in this `container`")
}

// parse reads the flags and arguments behind a command. Flags may stand anywhere before --.
func (c *call) parse(rest []string) error {
	s := flag.NewFlagSet(c.command.name, flag.ContinueOnError)
	s.SetOutput(io.Discard)
	s.Usage = func() {}
	commonFlags(s, &c.flags)
	for _, add := range c.command.flags {
		add(s, &c.flags)
	}
	var behind []string
	if i := slices.Index(rest, "--"); i >= 0 {
		rest, behind = rest[:i], rest[i+1:]
	}
	for len(rest) > 0 {
		if !strings.HasPrefix(rest[0], "-") || rest[0] == "-" {
			c.args, rest = append(c.args, rest[0]), rest[1:]
			continue
		}
		err := s.Parse(rest)
		if err == flag.ErrHelp {
			c.help(s)
			return err
		}
		if err != nil {
			return usage("%v", err)
		}
		rest = s.Args()
	}
	c.args = append(c.args, behind...)
	switch n := len(c.args); {
	case c.flags.top < 0 || c.flags.limit < 0 || c.flags.width < 0 || c.flags.rate < 0 || c.flags.concurrency < 0:
		return usage("--top, --limit, --width, --rate and --concurrency cannot be negative")
	case n < c.command.least:
		return usage("%s needs %s", c.command.name, c.command.args)
	case c.command.most >= 0 && n > c.command.most:
		return usage("%s is one argument too many", shown(c.args[c.command.most]))
	}
	for i, a := range c.args {
		var err error
		if c.args[i], err = typed(a); err != nil {
			return usage("%v", err)
		}
	}
	return nil
}

// partitions returns the range of partitions of the flags, unset for the whole table.
func (f *flags) partitions() (r keys.PartitionRange, err error) {
	switch {
	case f.partition.set && (f.from.text != "" || f.to.text != ""):
		return r, usage("--partition is one partition; --from and --to are several")
	case f.partition.set:
		return keys.RawPartition(f.partition.text).Point(), nil
	case f.from.text != "" || f.to.text != "":
		r = keys.RawPartitions(f.from.text, f.to.text)
	}
	if err := r.Err(); err != nil {
		return r, usage("--from, --to: %v", err)
	}
	return r, nil
}

// typed returns the text of an argument: what is in double quotes is written as in Go, so that any
// character can be typed.
func typed(arg string) (string, error) {
	if !strings.HasPrefix(arg, `"`) {
		return arg, nil
	}
	s, err := strconv.Unquote(arg)
	if err != nil {
		return "", fmt.Errorf(`%s begins with a quote, and is no text in quotes such as "a\u0001b"`, shown(arg))
	}
	return s, nil
}

// shown returns a text as it can be typed: as it is, or as a text in quotes if a terminal would not
// show it as one word.
func shown(s string) string {
	if s == "" || s[0] == '"' || s[0] == '-' || strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) || r == ' ' || r == utf8.RuneError }) {
		return strconv.Quote(s)
	}
	return s
}

// plain returns a text for people, in which nothing moves the cursor or begins a line.
func plain(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) || r == utf8.RuneError }) {
		return s
	}
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}
