package house_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notGo are the first words of the blocks in comments that are no code of Go, after the names of the blocks, with what they are.
// Blocks of command lines need no entry.
var notGo = map[string]string{
	"archive/blobarchive: Sales/empid_000456/": "the name of a blob",
	`archive/blobarchive: {"format":1,`:        "JSON",
	"internal/derived RepairMode: ":            "a table of what a repair does",
	"tools/conformance: case: ":                "a case of conformance",
	"largeentity Blob: Photo ":                 "a table of properties",
	"table Common: WriteTimeout ":              "a table of options",
	"table Retry: AttemptTimeout ":             "a table of options",
	"table Row: Key ":                          "a table of fields",
	"table Table: string ":                     "a table of types",
	"table Table: omitempty ":                  "a table of options",
}

// readersCode are declarations that blocks leave to their readers: for all blocks under "", for those of a folder under its name, and
// for one symbol under the name of its block. A declaration replaces one of the same name under a shorter key, and a block's own
// declarations replace all.
var readersCode = map[string]string{
	"": `
		type Employee struct {
			Department      string
			ID              int
			LastName, Email string
			Age             int32
			IsManager       bool
			Photo           largeentity.Blob
		}
		var ctx context.Context
		var connectionString string
		var acc *account.Account
		var staff *table.Table[Employee]
		var e *table.Entity[Employee]
		var key keys.Key
		var dept *keys.PartitionOf[Employee, string]
		var empid *keys.RowOf[Employee, int]
		var token string
		var q table.Query[Employee]
		var byEmail *index.Index[Employee, string]
		var byName *index.Index[Employee, string]
		var s *storagetest.Service
		var company *aztablekit.Store
		var payroll *index.Summary[Employee, string]`,
	"azt": `
		func openCompany(*account.Account) *aztablekit.Store { panic(0) }`,
	"docs/ends.md": `
		type Session struct { User, ID string; Ends time.Time }
		var shop *aztablekit.Store
		var user *keys.PartitionOf[Session, string]
		var id *keys.RowOf[Session, string]`,
	"docs/leases.md": `
		type Day struct { Department, Date string }
		var leases *lease.Leases
		var days *table.Table[Day]
		var today keys.Key
		var date string
		func payInterest(context.Context, *lease.Partition) error { return nil }`,
	"expire": `
		type Session struct { User, ID string; Ends time.Time }
		var shop *aztablekit.Store
		var user *keys.PartitionOf[Session, string]
		var id *keys.RowOf[Session, string]
		type Code struct{}
		var ends *expire.Ends[Session]
		var sessions *table.Table[Session]
		var codes *table.Table[Code]
		var codesEnd *expire.Ends[Code]
		func longer(*Session) error { return nil }`,
	"extend": `
		var names keys.Component[string]
		var errTaken error`,
	"eventual On": `
		func send(context.Context, eventual.Job, string) error { return nil }`,
	"index": `
		var byLastName *index.Index[Employee, string]`,
	"index NewDetails": `
		var lastName, email table.Field[Employee, string]`,
	"index Index.Only": `
		var lastName, email table.Field[Employee, string]`,
	"index Global.Page": `
		var byName *index.Global[Employee, string]`,
	"index Index.Rows": `
		var byHire *index.Index[Employee, time.Time]
		var monday time.Time`,
	"keys": `
		type Review struct { Employee, Year int }`,
	"jobs Export": `
		var backups *container.Client`,
	"largeentity": `
		var photos *largeentity.Values[Employee]
		var file io.Reader
		var jones Employee
		var w io.Writer`,
	"largeentity Values.Copy": `
		var err error`,
	"largeentity/series": `
		var visits *series.Series[int64]
		var page keys.Component[string]
		var berlin *time.Location
		var at, monday, tuesday, sunday time.Time`,
	"docs/transactions.md": `
		type Account struct { City string; No, Cents int }
		var bank *aztablekit.Store
		var accounts *table.Table[Account]
		var fromKey, toKey keys.Key
		var cents int
		var errNoMoney error`,
	"txn": `
		type Account struct { City string; No, Cents int }
		var bank *aztablekit.Store
		var accounts *table.Table[Account]
		type Posting struct{}
		var line Posting
		var ledger *table.Table[Posting]
		var fromKey, toKey keys.Key
		var from *table.Entity[Account]
		var tx *txn.Tx
		var cents int
		var errNoMoney error
		type Employee struct{}
		var staff *table.Table[Employee]
		var byMail *index.Unique[Employee, string]
		var mail string`,
	"lease": `
		var leases *lease.Leases
		var held *lease.Lease
		var jones *table.Entity[Employee]
		var sendInvoices func(context.Context, *lease.Lease) error`,
	"logtail": `
		type Claim struct { Employee int; Amount int32 }
		type Change struct{}
		var claim Claim
		var change Change
		var claims *logtail.Log[Claim]
		var changes *logtail.Log[Change]
		var days *logtail.Periods
		var j eventual.Job
		var saved string
		func save(string) {}`,
	"logtail/bloblog": `
		type Event struct { Order int; State string }
		var from, to time.Time
		var w *bloblog.Writer[Event]`,
	"materialized": `
		var directory *table.Table[Member]`,
	"requests": `
		func change(*Employee) error { return nil }`,
	"storagetest/crashtest": `
		func pay(context.Context, *crashtest.Process) error { return nil }`,
	"table": `
		type Review struct { Year, Rating int }
		var reviews *table.Table[Review]
		var r Review
		var rows chan Employee
		var saved string
		func save(string) {}`,
	"table ElementOf": `
		type Page struct { Visits []int32 }`,
	"table Table.GetFields": `
		type Page struct{}
		var pages *table.Table[Page]
		var k keys.Key
		var title, article table.Field[Page, string]
		var visits table.Field[Page, []int32]`,
}

// snippet is a block of code in a doc comment or on a page.
type snippet struct {
	dir  string // the folder of its package, or of its page
	name string // the folder and the symbol, or the page
	code string
}

// TestCode: the code in the doc comments of this module compiles, and so does the code on pages that is no copy from a file of Go.
// In code, "…" stands for statements, and readersCode declares what is the reader's own.
func TestCode(t *testing.T) {
	t.Parallel()
	c := newCompiler(t)
	commands := regexp.MustCompile(`^((go run|go -C tools run|go install|azt|cd) .*\n)+$`)
	found := map[string]bool{}
	for _, s := range append(commentedCode(t), pageCode(t)...) {
		entry := ""
		for k := range notGo {
			if strings.HasPrefix(s.name+": "+s.code, k) {
				entry = k
			}
		}
		found[entry] = true
		if entry != "" || commands.MatchString(s.code) {
			continue
		}
		if err := errors.Join(c.compile(s)...); err != nil {
			t.Errorf("code of %s: got error %v, want code that compiles:\n%s", s.name, err, s.code)
		}
	}
	for k, what := range notGo {
		if !found[k] {
			t.Errorf("notGo: got no block that begins with %q (%s)", k, what)
		}
	}
	for k, names := range c.unused {
		for name := range names {
			t.Errorf("readersCode[%q]: got no block that uses %s", k, name)
		}
	}
}

// TestCodeIsChecked: a block with one mistake does not compile.
func TestCodeIsChecked(t *testing.T) {
	t.Parallel()
	c := newCompiler(t)
	for _, test := range []struct{ code, want string }{
		{"result, err := table.Bulk(ctx, nil, &table.Pass{\n\tProgress: func(r table.Progress) { _ = r.Changed },\n})\n", ""},
		{"result, err := table.Bulk(ctx, nil, &table.Pass{\n\tProgress: func(r table.Progress) { _ = r.Done },\n})\n", "r.Done undefined"},
		{"type Employee struct{ Name string }\n\nvar name = table.FieldOf(func(e *Employee) *string { return &e.Name })\n", ""},
		{"var name = table.FieldOf(func(e *Employee) *string { return &e.Name })\n", "e.Name undefined"},
		{"type T struct{}\n\nfunc (T) M() error { … }\n\nerr := T{}.M()\n", ""},
		{"type T struct{}\n\nfunc (T) M() error { }\n\nerr := T{}.M()\n", "missing return"},
		{"e, err := staff.Get(ctx)\n", "not enough arguments"},
		{"e, err := staff.Get(ctx, unknown)\n", "undefined: unknown"},
		{"a table of words\n", "expected"},
	} {
		got := fmt.Sprint(errors.Join(c.compile(snippet{name: "test", code: test.code})...))
		if test.want == "" && got != "<nil>" || !strings.Contains(got, test.want) {
			t.Errorf("code %q: got error %q, want one that contains %q", test.code, got, test.want)
		}
	}
}

// commentedCode returns the blocks of code in the doc comments of packages and exported names.
func commentedCode(t *testing.T) (all []snippet) {
	for dir := range arrows {
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range glob(t, filepath.Join(dir, "*.go")) {
			f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		p, err := doc.NewFromFiles(fset, files, module+"/"+dir)
		if err != nil {
			t.Fatal(err)
		}
		add := func(name, text string) {
			for _, block := range p.Parser().Parse(text).Content {
				if code, is := block.(*comment.Code); is {
					all = append(all, snippet{dir, strings.TrimSpace(dir + " " + name), code.Text})
				}
			}
		}
		addAll := func(receiver string, functions []*doc.Func, values ...*doc.Value) {
			for _, f := range functions {
				add(receiver+f.Name, f.Doc)
			}
			for _, v := range values {
				add(v.Names[0], v.Doc)
			}
		}
		add("", p.Doc)
		addAll("", p.Funcs, slices.Concat(p.Consts, p.Vars)...)
		for _, typ := range p.Types {
			add(typ.Name, typ.Doc)
			addAll("", typ.Funcs, slices.Concat(typ.Consts, typ.Vars)...)
			addAll(typ.Name+".", typ.Methods)
		}
	}
	return all
}

// pageCode returns the blocks of Go on pages, without those that are copied from a file of Go: go build, go vet or a test compiles them.
func pageCode(t *testing.T) (all []snippet) {
	flat := func(text string) string { return regexp.MustCompile(`(?m)^\t+`).ReplaceAllString(text, "") }
	var source bytes.Buffer
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" {
			source.WriteString(flat(read(t, path)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(glob(t, "*.md"), glob(t, "docs/*.md")...) {
		for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, page), -1) {
			if !bytes.Contains(source.Bytes(), []byte(flat(block[1]))) {
				all = append(all, snippet{filepath.Dir(page), page, block[1]})
			}
		}
	}
	return all
}

// compiler checks the types of snippets.
type compiler struct {
	fset    *token.FileSet
	config  types.Config
	imports string                     // a clause with all packages that a snippet may use
	unused  map[string]map[string]bool // the names that readersCode declares under each key, without those that a snippet has used
}

// newCompiler returns a compiler for snippets of this module, which reads the types of other packages from the build cache.
func newCompiler(t *testing.T) *compiler {
	t.Helper()
	packages := []string{"context", "errors", "fmt", "io", "log", "log/slog", "maps", "net/http", "os", "os/signal", "syscall", "testing", "time",
		"github.com/Azure/azure-sdk-for-go/sdk/azcore", "github.com/Azure/azure-sdk-for-go/sdk/data/aztables", "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container", "github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"}
	for dir := range arrows {
		if isPublic(dir) {
			packages = append(packages, strings.TrimSuffix(module+"/"+dir, "/"))
		}
	}
	c := &compiler{fset: token.NewFileSet(), unused: map[string]map[string]bool{}}
	for _, p := range packages {
		c.imports += fmt.Sprintf("import %q; ", p)
	}
	out, err := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, packages...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = file
	}
	c.config.Importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for key, code := range readersCode {
		f, err := c.parse(code)
		if err != nil {
			t.Fatalf("readersCode[%q]: %v", key, err)
		}
		c.unused[key] = map[string]bool{}
		takeNames(f, c.unused[key])
	}
	return c
}

// parse parses declarations, as a file that imports all packages.
func (c *compiler) parse(declarations string) (*ast.File, error) {
	return parser.ParseFile(c.fset, "", "package p; "+c.imports+"\n//line code:1\n"+declarations, parser.SkipObjectResolution)
}

// compile returns the errors of a snippet. Its paragraphs are declarations or statements. A value that it does not use is no error.
func (c *compiler) compile(s snippet) (all []error) {
	var files []*ast.File
	var statements strings.Builder
	taken := map[string]bool{}
	for paragraph := range strings.SplitSeq(strings.ReplaceAll(s.code, "…", ";panic(0);"), "\n\n") {
		if f, err := c.parse(paragraph); err == nil {
			files = append(files, f)
			takeNames(f, taken)
		} else {
			statements.WriteString(paragraph + "\n\n")
		}
	}
	f, err := c.parse("func _() error {\n//line code:1\n" + statements.String() + "\nreturn nil\n}")
	if err != nil {
		return []error{err}
	}
	files = append(files, f)
	keyOf := map[token.Pos]string{} // the key in readersCode of each declaration that the snippet can use
	for _, key := range slices.Compact([]string{s.name, s.dir, ""}) {
		if f, err = c.parse(readersCode[key]); err != nil {
			return []error{err}
		}
		for _, id := range takeNames(f, taken) {
			keyOf[id.Pos()] = key
		}
		files = append(files, f)
	}
	c.config.Error = func(err error) {
		if soft := (types.Error{}); !errors.As(err, &soft) || !soft.Soft {
			all = append(all, err)
		}
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	c.config.Check("p", c.fset, files, &info) // its error is the first of all
	for _, used := range info.Uses {
		if key, is := keyOf[used.Pos()]; is {
			delete(c.unused[key], used.Name())
		}
	}
	return all
}

// takeNames removes the declarations of names that are taken, and takes the names of the others, which it returns.
func takeNames(f *ast.File, taken map[string]bool) (left []*ast.Ident) {
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
		names := declaredNames(d)
		if slices.ContainsFunc(names, func(id *ast.Ident) bool { return taken[id.Name] }) {
			return true
		}
		left = append(left, names...)
		return false
	})
	for _, id := range left {
		taken[id.Name] = true
	}
	return left
}

// declaredNames returns the names of the functions, types, variables and constants of a declaration.
func declaredNames(d ast.Decl) (names []*ast.Ident) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name)
			case *ast.ValueSpec:
				names = append(names, spec.Names...)
			}
		}
	}
	return names
}
