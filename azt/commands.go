package azt

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
)

// The groups of commands, in the order of the overview.
var groups = []struct{ name, title string }{
	{"look", "Look at tables"},
	{"move", "Take tables out, bring them back, compare"},
	{"work", "Look after the work of a store"},
	{"own", "Definitions, by an azt of your own program (see azt help verify)"},
	{"account", "The account"},
}

const aboutKeys = `Keys are typed as they are printed: as they are, or in double quotes as in Go, such as "a\u0001b", and "" for the empty key. In a shell, put single quotes around a key with quotes or other special characters.`

const aboutPlaces = `The place of an export is a folder with a slash or a dot in its name, such as ./staff, or blob:CONTAINER/PREFIX. {date} in it stands for today, as in ./{date}/staff.`

// commands returns all commands.
func commands() []command {
	return []command{
		{name: "ls", args: "[PREFIX]", group: "look", short: "list the tables of the account", most: 1, run: ls,
			long: "Requests: 1 for each 1,000 tables."},
		{name: "get", args: "TABLE PARTITIONKEY ROWKEY", group: "look", short: "show one row with the types of its properties", least: 3, most: 3, run: get,
			long: "It also shows what the row is, and which derived rows an entity records. " + aboutKeys + " A row that a write over several partitions has prepared is shown as it is stored.\n\nRequests: 1, and 1 for a wide entity."},
		{name: "query", args: "TABLE", group: "look", short: "list the entities of a partition, a range or a table", least: 1, most: 1, run: find,
			flags: []flagSet{keyFlags, func(s *flag.FlagSet, f *flags) {
				s.BoolVar(&f.all, "all", false, "show index rows and the rows of the library, too")
				s.StringVar(&f.selected, "select", "", "show these `properties`, separated by commas")
				s.IntVar(&f.limit, "limit", 100, "end after so many rows; 0 means no limit")
			}},
			long: aboutKeys + ` A condition compares a property: --where 'Age >= 30', --where 'Name = "O Brien"', --where 'City = Rome or City = Oslo'. A number finds properties of all types of numbers, and a time such as 2026-01-02 or 2026-01-02T03:04:05Z and a GUID those of their type. Double quotes make a text: '"30"'. A word before a colon says the type: text:30, int64:5, double:5, time:…, guid:…, binary:0x…. A condition sees the properties of the first row of a wide entity only.

--explain says how the service finds the rows, and reads nothing. Requests: 1 for each 1,000 rows that the keys name, whatever a condition leaves.`},
		{name: "count", args: "TABLE", group: "look", short: "count rows by what they are", least: 1, most: 1, run: count, flags: []flagSet{keyFlags},
			long: "The service cannot count, so all rows that the keys name are read, with few properties. Requests: 1 for each 1,000."},
		{name: "hot", args: "TABLE", group: "look", short: "show the largest partitions, and the bytes of each index", least: 1, most: 1, run: hot,
			flags: []flagSet{partitionFlags, func(s *flag.FlagSet, f *flags) {
				s.IntVar(&f.top, "top", 10, "show so many partitions")
				s.BoolVar(&f.explain, "explain", false, "say what would be read, and read nothing")
			}},
			long: "Bytes are those of the service's formula for the size of an entity. The table is read as a whole, or the partitions that the flags name. Requests: 1 for each 1,000 rows."},
		{name: "describe", args: "[TABLE…]", group: "look", short: "show types, definitions and their states", most: -1, run: describe,
			long: "A definition is unfilled (programs do not keep its rows yet), building (azt fill fills it), readable, retiring or retired. Requests: 1 for each table."},

		{name: "export", args: "TABLE PLACE", group: "move", short: "store the rows of a table in a folder or a container", least: 2, most: 2, run: export,
			flags: []flagSet{partitionFlags, rateFlag, concurrencyFlag, writeFlag, blobsFlag, func(s *flag.FlagSet, f *flags) {
				s.BoolVar(&f.entities, "entities", false, "leave out derived rows and the rows of the library")
				s.BoolVar(&f.all, "all", false, "with a file, write all rows and properties, not only entities")
				s.BoolVar(&f.goOn, "go-on", false, "go on with an export that is older than a day, damaged or of other definitions")
			}},
			long: aboutPlaces + " A file that ends with .csv, .json or .ndjson gets the entities in that form; a CSV file reads the table twice, and has the types as Storage Explorer has them. A container needs --write. An export that was interrupted goes on when it is called again on the same day; a finished one stays as it is, and so does one that is older, damaged or of other definitions.\n\nRequests: 1 for each 1,000 rows, and some to share the table. With --blobs 1 for each blob that was stored before, and 3 for another one, more if it is large."},
		{name: "import", args: "PLACE|TABLE TABLE", group: "move", short: "store the rows of an export in a table", least: 2, most: 2, run: importRows,
			flags: []flagSet{modeFlags, toFlags, rateFlag, concurrencyFlag, writeFlag, blobsFlag},
			long:  aboutPlaces + " Files of CSV, as Storage Explorer writes them, and of JSON are read, too, if their names end with .csv, .json or .ndjson; they are stored as they are, so tables with definitions take them by a program (transfer.ImportEntities). Chunks that were altered or cut are refused. Import while no program writes the table. An import that was interrupted is repeated. If the table has definitions and other rows, what follows from its entities is not right afterwards: the exit code is 3, and azt verify --repair --write, in an azt of your own, is next.\n\nRequests: 1 for each 100 rows of a partition. With --blobs 3 for each blob, more if it is large."},
		{name: "copy", args: "TABLE TABLE", group: "move", short: "store the rows of a table in another one", least: 2, most: 2, run: importRows,
			flags: []flagSet{modeFlags, toFlags, rateFlag, concurrencyFlag, writeFlag, blobsFlag},
			long:  "The second table may be in another account (--to-account, --to-connection). Requests: 1 for each 1,000 rows, and 1 for each 100 rows of a partition."},
		{name: "compare", args: "PLACE|TABLE PLACE|TABLE", group: "move", short: "show the rows in which two tables or exports differ", least: 2, most: 2, run: compare,
			flags: []flagSet{toFlags, func(s *flag.FlagSet, f *flags) {
				s.BoolVar(&f.entities, "entities", false, "compare entities only: no derived rows, and no properties of the library")
				s.IntVar(&f.limit, "limit", 1000, "end after so many differences; 0 means no limit")
			}},
			long: aboutPlaces + " Times of the last change are not compared. The exit code is 3 if there are differences. Requests: 1 for each 1,000 rows of a table."},

		{name: "poison", args: "list|replay|drop STORE [WRITE…]", group: "work", short: "list the messages that no attempt could execute, replay or drop them", least: 2, most: -1, run: poison,
			flags: []flagSet{writeFlag, func(s *flag.FlagSet, f *flags) {
				s.BoolVar(&f.all, "all", false, "with drop, delete all messages")
			}},
			long: "The queues are STORE-poison and STORE-writes. WRITE is an operation ID, as list shows it; without one, all messages are meant. List receives the messages, which hides them from other programs while it runs, for 5 minutes at most, and needs the right to change messages. Requests: 1 for each 32 messages, and 1 or 2 for each message."},
		{name: "pending", args: "TABLE", group: "work", short: "list writes whose effects are due, and writes that are not finished", least: 1, most: 1, run: pending,
			flags: []flagSet{partitionFlags, writeFlag, func(s *flag.FlagSet, f *flags) {
				s.StringVar(&f.store, "notify", "", "tell the workers of this `store` about them, after a queue was lost")
				s.DurationVar(&f.grace, "grace", 0, "with --notify, leave out writes that are younger; the default is 10m, "+
					"and a negative value leaves out none, also not what waits or is poison")
				s.BoolVar(&f.explain, "explain", false, "say what would be read, and read nothing")
			}},
			long: "The table is read as a whole, or the partitions that the flags name. " +
				"The state waits TIME is of poison, and of effects that a worker tries again: " +
				"the work of a day and --notify leave them alone until then. " +
				"Requests: 1 for each 1,000 rows; with --notify 1 for each partition, and 1 for each notification."},
		{name: "jobs", args: "TABLE [cancel KIND NAME]", group: "work", short: "show the jobs of a table, or cancel one", least: 1, most: 4, run: showJobs, flags: []flagSet{writeFlag},
			long: "TABLE is the table that jobs work on; their own rows are in the table TABLEjobs. Requests: 1 for each 1,000 jobs and ranges; 2 more to cancel a job."},

		{name: "verify", args: "", group: "own", short: "compare derived rows with entities, and repair them", run: checkDefinitions,
			flags: []flagSet{rateFlag, concurrencyFlag, writeFlag, func(s *flag.FlagSet, f *flags) {
				s.BoolVar(&f.repair, "repair", false, "repair faults, with --write")
				s.BoolVar(&f.recordsOnly, "records-only", false, "compare entities with what they record only, and read no derived rows")
			}},
			long: strings.TrimSpace(ownProgram) + "\n\nThe exit code is 3 if faults are left. It is safe while programs write."},
		{name: "fill", args: "", group: "own", short: "make new definitions readable, when all programs have the release", run: fill,
			flags: []flagSet{rateFlag, concurrencyFlag, writeFlag, func(s *flag.FlagSet, f *flags) {
				s.StringVar(&f.table, "table", "", "fill the definitions of this `table` only")
				s.BoolVar(&f.workers, "workers", false, "let all workers of the store fill")
				s.BoolVar(&f.dryRun, "dry-run", false, "find out what it would do, and change nothing")
			}},
			long: "It waits one and a half leases, 99 s by default, then adds the rows of all entities, and then lets look-ups begin. An interrupted fill goes on when it is called again."},
		{name: "retire", args: "TABLE DEFINITION", group: "own", short: "take a definition out of use, before a release without it", least: 2, most: 2, run: retire, flags: []flagSet{rateFlag, writeFlag},
			long: "It waits two times one and a half leases, 198 s by default, and then deletes the rows. An interrupted call goes on when it is repeated."},
		{name: "sweep", args: "", group: "own", short: "do the work of a day now: blobs without entities, lost notifications, tables of logs", run: sweep, flags: []flagSet{writeFlag},
			long: "It is safe beside workers and other sweeps."},

		{name: "doctor", args: "", group: "account", short: "say which right is missing, and what is in the way", run: doctor,
			flags: []flagSet{func(s *flag.FlagSet, f *flags) {
				s.StringVar(&f.table, "table", "", "try the rights on this `table`")
				s.StringVar(&f.queue, "queue", "", "try the rights on this `queue`")
				s.StringVar(&f.container, "container", "", "try the rights on this `container`")
				s.StringVar(&f.store, "store", "", "look at the queues of this `store`, too")
			}},
			long: "It sends one harmless request for each right, and changes nothing. " +
				"The exit code is 3 if something is refused, or missing. Requests: 9, and 2 more for a store."},
		{name: "cost", args: "TABLE…", group: "account", short: "count rows and bytes, and what they cost by a price list", least: 1, most: -1, run: cost,
			flags: []flagSet{func(s *flag.FlagSet, f *flags) { s.StringVar(&f.prices, "prices", "", "the `file` of the price list") }},
			long:  `The file is JSON: {"currency": "EUR", "storageGBMonth": 0.045, "per10000Transactions": 0.00036}, with the prices of your account. Requests: 1 for each 1,000 rows.`},
	}
}

// overview prints the commands.
func (c *call) overview() {
	c.out.line("azt looks at the tables of a storage account, and looks after them.")
	c.out.line("")
	c.out.line("usage: azt COMMAND [ARGUMENTS] [FLAGS]")
	for _, g := range groups {
		c.out.line("")
		c.out.line(g.title + ":")
		for _, cmd := range commands() {
			if cmd.group == g.name {
				c.out.line(fmt.Sprintf("  %-9s %s", cmd.name, cmd.short))
			}
		}
	}
	c.out.line("")
	c.paragraph(`azt help COMMAND says more. azt only reads, unless --write is given.`)
	c.out.line("")
	c.paragraph(`The account is that of AZURE_STORAGE_CONNECTION_STRING, or of AZURE_STORAGE_ACCOUNT with the credentials of az login, a managed identity or the environment. --account NAME and --connection VARIABLE name another one.`)
	c.out.line("")
	c.paragraph(`Exit codes: 0 done; 1 failed; 2 a wrong command line, and nothing was done; 3 faults, differences or refusals were found; 4 interrupted: export, import, fill and retire go on when they are called again.`)
}

// help prints what a command does, and its flags.
func (c *call) help(s *flag.FlagSet) {
	c.out.line(strings.TrimSpace("usage: azt " + c.command.name + " " + c.command.args))
	c.out.line("")
	c.paragraph(strings.ToUpper(c.command.short[:1]) + c.command.short[1:] + ".")
	if c.command.long != "" {
		c.out.line("")
		c.paragraph(c.command.long)
	}
	var own, common []string
	of := flag.NewFlagSet("", flag.ContinueOnError)
	commonFlags(of, &flags{})
	s.VisitAll(func(f *flag.Flag) {
		name, text := flag.UnquoteUsage(f)
		if name != "" {
			name = " " + strings.ToUpper(name)
		}
		line := fmt.Sprintf("  %-26s %s", "--"+f.Name+name, text)
		if of.Lookup(f.Name) != nil {
			common = append(common, line)
		} else {
			own = append(own, line)
		}
	})
	for _, part := range []struct {
		title string
		lines []string
	}{{"Flags:", own}, {"Flags of all commands:", common}} {
		if len(part.lines) == 0 {
			continue
		}
		c.out.line("")
		c.out.line(part.title)
		for _, line := range part.lines {
			c.wrapped(line, strings.Repeat(" ", 29))
		}
	}
}

// paragraph prints a text in lines that fit; lines that begin with a tab stay as they are.
func (c *call) paragraph(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "\t") {
			c.out.line(strings.ReplaceAll(line, "\t", "    "))
			continue
		}
		c.wrapped(line, "")
	}
}

// helpWidth is the width of help that goes to no terminal.
const helpWidth = 100

// wrapped prints a line in several ones that fit, each but the first with an indent.
func (c *call) wrapped(line, indent string) {
	for _, l := range wrap(line, indent, cmp.Or(c.out.width, helpWidth)) {
		c.out.line(l)
	}
}
