package mutants

// Mutant is a bug to be planted.
type Mutant struct {
	Name string
	File string   // in the project
	Old  string   // what the file holds, once, within the body of a function
	New  string   // what is there instead
	Test string   // what must fail: a pattern of tests of the package that is tested
	Args []string // of the test's program
}
