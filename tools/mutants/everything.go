package mutants

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
)

// collect is for the tests' own program: its calls of Run append their bugs to this file, and do
// nothing else.
var collect = flag.String("collect", "", "append the bugs to this file, and plant none")

// bugs are the bugs of all calls of Run, compiled together.
type bugs struct {
	overlay string
	all     []Mutant
}

// number is the number by which a program has a bug.
func (b bugs) number(m Mutant) int {
	return 1 + slices.IndexFunc(b.all, func(other Mutant) bool {
		return other.File == m.File && other.Old == m.Old && other.New == m.New
	})
}

var once struct {
	sync.Mutex
	bugs bugs
	err  error
}

// everything plants the bugs of all calls of Run, and finds them by running the tests' program with
// -collect. The sources stay in a folder of the system's temporary files, where the next run
// replaces them.
func everything(root string) (bugs, error) {
	once.Lock()
	defer once.Unlock()
	if once.bugs.all == nil && once.err == nil {
		once.bugs, once.err = gather(root)
	}
	return once.bugs, once.err
}

func gather(root string) (bugs, error) {
	dir := filepath.Join(os.TempDir(), "aztablekit-planted")
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return bugs{}, err
	}
	list := filepath.Join(dir, "bugs.json")
	if out, err := exec.Command(os.Args[0], "-test.run=.", "-collect="+list).CombinedOutput(); err != nil {
		return bugs{}, fmt.Errorf("%w\n%s", err, out)
	}
	f, err := os.Open(list)
	if err != nil {
		return bugs{}, err
	}
	defer f.Close()
	var all []Mutant
	for d := json.NewDecoder(f); ; {
		var group []Mutant
		if err := d.Decode(&group); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return bugs{}, err
		}
		all = append(all, group...)
	}
	overlay, err := plant(root, dir, all)
	return bugs{overlay: overlay, all: all}, err
}

// collected appends bugs to a file.
func collected(file string, all []Mutant) error {
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}
