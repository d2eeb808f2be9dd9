package azt

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/aztablekit/aztablekit"
	"github.com/aztablekit/aztablekit/account"
	"github.com/aztablekit/aztablekit/internal/errs"
	"github.com/aztablekit/aztablekit/table"
	"github.com/aztablekit/aztablekit/transfer"
)

// Program is azt with what a program of yours adds to it. The zero value is azt as it is installed,
// without token credentials.
type Program struct {
	// Open declares the program's store in an account, as the program itself does. The commands
	// verify, fill, retire and sweep need it.
	Open func(acc *account.Account) *aztablekit.Store

	// Account is the account that commands work on. By default it is that of --account,
	// --connection, or the environment.
	Account *account.Account

	// Credential makes the token credential for an account without a key, such as one of
	// azidentity. It is called if a command needs it.
	Credential func() (azcore.TokenCredential, error)
}

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2 // the command line is wrong; nothing was done
	exitFound       = 3 // the command has worked, and found faults, differences or refusals
	exitInterrupted = 4 // what is done stays done
)

// Main runs azt with the arguments of the process, and exits. An interrupt ends the command; see
// Run. p may be nil.
func Main(p *Program) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process
	code := p.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Run runs a command, and returns its exit code. The answer goes to out; progress, notes and errors
// go to notes. If one of them is a terminal, lines are as wide as that, or as --width says.
func (p *Program) Run(ctx context.Context, args []string, out, notes io.Writer) int {
	if p == nil {
		p = &Program{}
	}
	if out == nil {
		out = io.Discard
	}
	if notes == nil {
		notes = io.Discard
	}
	c := &call{program: p, out: newPrinter(out), notes: newNotes(notes)}
	err := c.run(ctx, args)
	if lost := c.out.end(); lost != nil && (err == nil || errors.Is(err, errFound)) {
		err = fmt.Errorf("the answer could not be written: %w", lost)
	}
	c.notes.end()
	var wrong *usageError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitDone
	case errors.Is(err, errFound):
		return exitFound
	case errors.As(err, &wrong):
		c.notes.line("azt: %s", plain(wrong.text))
		if c.command != nil && !wrong.unasked {
			c.notes.line("usage: %s   (azt help %s says more)", strings.TrimSpace("azt "+c.command.name+" "+c.command.args), c.command.name)
		}
		return exitUsage
	case ctx.Err() != nil:
		c.notes.line("azt: interrupted; what is done stays done")
		return exitInterrupted
	}
	c.notes.line("azt: %s", brief(err))
	if advice := c.adviceOn(err); advice != "" {
		c.notes.line("%s", advice)
	}
	return exitFailed
}

// brief returns the text of an error, on one line also for an error of the SDK, with advice for an
// operator.
func brief(err error) string {
	text := err.Error()
	if strings.Contains(text, "\n") {
		text = inLine(errs.Brief(err))
	}
	return forOperators.Replace(text)
}

// inLine returns a text of several lines, as of a token credential, in one line.
func inLine(text string) string {
	return strings.Join(strings.Fields(text), " ")
}

// forOperators says by commands what errors of the library say by its methods and options.
var forOperators = strings.NewReplacer(
	"; Table.Ensure creates it", "; its program creates it when it starts",
	"; Store.Ensure creates it", "; its program creates it when it starts",
	": Store.Ensure creates it", ": its program creates it when it starts",
	"; container.Client.Create creates it", "; create it, as by az storage container create",
	"call Store.Ensure, and then Store.Fill", "let its program start, and then run azt fill --write",
	"call Store.Ensure", "its program makes it when it starts",
	"call Store.Fill", "run azt fill --write",
	"(Store.Retire)", "(azt retire)",
	"or set ExportOptions.GoOn", "or add --go-on",
	"Store.Verify lists them", "azt verify lists them",
	"call Fill again", "run azt fill --write again",
	"run Store.Repair", "run azt verify --repair --write",
	"verify.Repair", "azt verify --repair --write",
)

// errFound is the error of a command that has found something that is not as it should be, and has
// said so.
var errFound = errors.New("faults were found")

// usageError is the error of a wrong command line, or of one without --write.
type usageError struct {
	text    string
	unasked bool // the command line is right, but for --write
}

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{text: fmt.Sprintf(format, args...)} }

// adviceOn returns what to do about an error, a sentence, or "".
func (c *call) adviceOn(err error) string {
	var re *azcore.ResponseError
	switch {
	case errors.Is(err, table.ErrNotCreated):
		return "azt ls lists the tables."
	case errors.Is(err, table.ErrIncomplete):
		return "The azt export that has begun it finishes it on the same day, and says so if it cannot; " +
			"an older one has no way to get what it lacks."
	case isDamage(err) && c.command.name != "export":
		return "Take another copy of this export, or another export."
	case errors.Is(err, fs.ErrNotExist) && (c.command.name == "import" || c.command.name == "compare"):
		return "A folder or a container of an export contains " + transfer.ManifestName + "."
	case errors.Is(err, table.ErrUnreachable), errors.As(err, &re) && (re.StatusCode == 401 || re.StatusCode == 403):
		return "azt doctor says what the account permits, and what is in the way."
	}
	return ""
}

// call is one run of azt.
type call struct {
	program *Program
	command *command
	flags   flags
	args    []string
	out     *printer
	notes   *notes
}

func (c *call) run(ctx context.Context, args []string) error {
	if len(args) == 0 || isHelp(args[0]) || args[0] == "help" && len(args) == 1 {
		c.overview()
		return nil
	}
	name, rest := args[0], args[1:]
	switch {
	case strings.HasPrefix(name, "-"):
		return usage("the command comes first, as in: azt ls %s", shown(name))
	case name == "help":
		name, rest = rest[0], []string{"-h"}
	}
	for _, cmd := range commands() {
		if cmd.name == name {
			c.command = &cmd
		}
	}
	if c.command == nil {
		return usage("there is no command %s; azt help lists the commands", shown(name))
	}
	if err := c.parse(rest); err != nil {
		return err
	}
	c.out.json, c.notes.quiet = c.flags.json, c.flags.quiet
	if c.flags.width > 0 {
		c.out.width, c.notes.width = c.flags.width, c.flags.width
	}
	return c.command.run(ctx, c)
}

func isHelp(a string) bool { return a == "-h" || a == "-help" || a == "--help" }

// willWrite returns an error unless the command line has --write.
func (c *call) willWrite(what string) error {
	if c.flags.write {
		return nil
	}
	return &usageError{text: "nothing was changed; to " + what + ", add --write", unasked: true}
}

// open opens the account of the flags or of the environment.
func (c *call) open() (*account.Account, error) { return c.openAs(c.flags.account, c.flags.connection) }

// openOther opens the account of the other table of copy, compare and import.
func (c *call) openOther() (*account.Account, error) {
	if c.flags.toAccount == "" && c.flags.toConnection == "" {
		return c.open()
	}
	return c.openAs(c.flags.toAccount, c.flags.toConnection)
}

// openTable opens the account, and returns the table of an argument in it.
func (c *call) openTable(name string) (*account.Account, *table.Table[table.Row], error) {
	acc, err := c.open()
	if err != nil {
		return nil, nil, err
	}
	t, err := tableOf(acc, name)
	return acc, t, err
}

func (c *call) openAs(name, variable string) (*account.Account, error) {
	credential := func() (azcore.TokenCredential, error) {
		if c.program.Credential == nil {
			return nil, errors.New("this azt has no token credential: set Program.Credential, or leave out the name of the account and set AZURE_STORAGE_CONNECTION_STRING")
		}
		return c.program.Credential()
	}
	switch {
	case name != "" && variable != "":
		return nil, usage("two accounts are named; give a name, or the variable of a connection string")
	case variable != "":
		if !isVariable.MatchString(variable) { // perhaps a connection string, which contains a key
			return nil, usage("--connection and --to-connection take the name of an environment variable that contains the connection string")
		}
		cs := os.Getenv(variable)
		if cs == "" {
			return nil, usage("the environment variable %s is not set", variable)
		}
		return account.FromConnectionString(cs, options())
	case name != "":
		if !isAccountName(name) {
			return nil, usage("--account %s is no name of a storage account, which has 3 to 24 small letters and digits", shown(name))
		}
		cred, err := credential()
		if err != nil {
			return nil, err
		}
		at := func(service string) string { return "https://" + name + "." + service + ".core.windows.net" }
		return account.FromCredential(account.Endpoints{Table: at("table"), Queue: at("queue"), Blob: at("blob")}, cred, options())
	}
	if c.program.Account != nil {
		return c.program.Account, nil
	}
	acc, err := account.FromEnvironment(nil, options())
	var missing *table.ValueError
	if !errors.As(err, &missing) || c.program.Credential == nil {
		return acc, err
	}
	cred, err := credential()
	if err != nil {
		return nil, err
	}
	return account.FromEnvironment(cred, options())
}

// options are the options of all accounts.
func options() *account.Options {
	return &account.Options{Client: azcore.ClientOptions{PerCallPolicies: []policy.Policy{secondLocation{}}}}
}

var isVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func isAccountName(name string) bool {
	return len(name) >= 3 && len(name) <= 24 && !strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}
