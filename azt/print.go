package azt

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"
	"golang.org/x/text/width"
)

// printer prints answers: tables of lines, or a JSON object for each line.
type printer struct {
	to    *bufio.Writer
	json  bool
	width int // of a line in columns of the terminal; 0 cuts nothing

	names   []string
	pending [][]string // lines whose widths are not known yet
	widths  []int
	right   []bool // columns of numbers
	headed  bool   // the names are printed
	free    bool   // the last column is a text that is cut where the line ends
}

func newPrinter(to io.Writer) *printer {
	return &printer{to: bufio.NewWriter(to), width: widthOf(to)}
}

// widthOf returns the width of a terminal, 0 for anything else.
func widthOf(w io.Writer) int {
	f, is := w.(*os.File)
	if !is || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 80
	}
	return n
}

// columns begins a table, whose columns have these names. They are the members of its JSON objects,
// too. A table without names has no head.
func (p *printer) columns(names ...string) {
	p.flush()
	p.free, p.names, p.headed, p.widths, p.right = false, names, false, make([]int, len(names)), make([]bool, len(names))
}

// fewLines is how many lines of a table are kept to find out its widths.
const fewLines = 200

// add adds a line: texts, numbers, booleans, times, durations, or nil for nothing.
func (p *printer) add(cells ...any) {
	if p.json {
		p.object(cells)
		return
	}
	line := make([]string, len(cells))
	for i, v := range cells {
		line[i] = cell(v)
		switch v.(type) {
		case int, int64, float64, money:
			p.right[i] = true
		}
	}
	p.pending = append(p.pending, line)
	if len(p.pending) == fewLines {
		p.flush()
	}
}

// object prints a line as JSON, with its members in the order of the columns.
func (p *printer) object(cells []any) {
	p.to.WriteByte('{')
	n := 0
	for i, v := range cells {
		switch x := v.(type) {
		case nil:
			continue
		case time.Time:
			if x.IsZero() {
				continue
			}
		case time.Duration:
			v = x.Seconds()
		case fmt.Stringer:
			v = x.String()
		}
		if n++; n > 1 {
			p.to.WriteByte(',')
		}
		b, err := json.Marshal(v)
		if err != nil {
			b, _ = json.Marshal(fmt.Sprint(v))
		}
		fmt.Fprintf(p.to, "%q:%s", p.names[i], printable(b))
	}
	p.to.WriteString("}\n")
}

// printable returns JSON in which a terminal shows each character.
func printable(b []byte) []byte {
	if !strings.ContainsFunc(string(b), func(r rune) bool { return !strconv.IsPrint(r) }) {
		return b
	}
	var out []byte
	for _, r := range string(b) {
		if strconv.IsPrint(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// cell returns a value as it is shown.
func cell(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return plain(x)
	case key:
		return shown(string(x))
	case time.Time:
		if x.IsZero() {
			return ""
		}
		return x.UTC().Format("2006-01-02 15:04:05")
	case time.Duration:
		return x.Round(time.Second).String()
	case money:
		if x > 0 && x < 0.01 {
			return "< 0.01"
		}
		return strconv.FormatFloat(float64(x), 'f', 2, 64)
	case float64:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case json.RawMessage:
		return plain(string(x))
	}
	return plain(fmt.Sprint(v))
}

// money is an amount by a price list.
type money float64

// key is a text of storage that can be typed as an argument.
type key string

// flush prints the pending lines of the table.
func (p *printer) flush() {
	if p.names == nil || p.json {
		return
	}
	lines := p.pending
	p.pending = nil
	if len(lines) == 0 {
		return
	}
	titled := p.names[0] != ""
	for _, line := range lines {
		for i, s := range line {
			p.widths[i] = max(p.widths[i], columnsOf(s), columnsOf(p.names[i]))
		}
	}
	if titled && !p.free && p.width > 0 && p.whole() > p.width {
		p.blocks(lines)
		return
	}
	if titled && !p.headed {
		p.line(p.laid(p.names))
	}
	p.headed = true
	for _, line := range lines {
		last := len(line) - 1
		if p.free && p.width > 0 { // keys are never cut
			line[last] = cut(line[last], max(p.width-p.whole()+p.widths[last], 10))
		}
		if titled {
			p.line(p.laid(line))
			continue
		}
		for _, l := range wrap(p.laid(line), strings.Repeat(" ", p.whole()-p.widths[last]), p.width) {
			p.line(l)
		}
	}
}

// whole returns the width of a line of the table.
func (p *printer) whole() int {
	n := 2 * (len(p.widths) - 1)
	for _, w := range p.widths {
		n += w
	}
	return n
}

// blocks prints lines that do not fit, with a line for each cell that is not empty.
func (p *printer) blocks(lines [][]string) {
	most := 0
	for _, name := range p.names {
		most = max(most, columnsOf(name))
	}
	for _, line := range lines {
		if p.headed {
			p.line("")
		}
		p.headed = true
		for i, s := range line {
			if s == "" {
				continue
			}
			for _, l := range wrap(fmt.Sprintf("%-*s  %s", most, p.names[i], s), strings.Repeat(" ", most+2), p.width) {
				p.line(l)
			}
		}
	}
}

// laid returns a line of a table.
func (p *printer) laid(line []string) string {
	var b strings.Builder
	for i, s := range line {
		if i > 0 {
			b.WriteString("  ")
		}
		fill := strings.Repeat(" ", max(p.widths[i]-columnsOf(s), 0))
		switch {
		case p.right[i]:
			b.WriteString(fill + s)
		case i == len(line)-1:
			b.WriteString(s)
		default:
			b.WriteString(s + fill)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// say prints a line of text behind the table; none in JSON.
func (p *printer) say(format string, args ...any) {
	if p.json {
		return
	}
	p.flush()
	for _, line := range wrap(plain(fmt.Sprintf(format, args...)), "", p.width) {
		p.line(line)
	}
}

// line prints a line.
func (p *printer) line(s string) { fmt.Fprintln(p.to, s) }

// end prints what is left, and returns the first error of all writing.
func (p *printer) end() error {
	p.flush()
	return p.to.Flush()
}

// cut cuts a line to a width, 0 for none.
func cut(s string, most int) string {
	if most <= 0 || columnsOf(s) <= most {
		return s
	}
	n := 0
	for i, r := range s {
		n += columnsOfRune(r)
		if n > most-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// wrap cuts a text at spaces into lines of a width, 0 for any. All lines but the first begin with
// an indent.
func wrap(text, indent string, most int) (lines []string) {
	for most > 0 && columnsOf(text) > most {
		at, n := 0, 0
		for i, r := range text {
			n += columnsOfRune(r)
			if n > most+1 {
				break
			}
			if r == ' ' && i > len(indent) {
				at = i
			}
		}
		if at == 0 {
			break
		}
		lines = append(lines, text[:at])
		text = indent + text[at+1:]
	}
	return append(lines, text)
}

// columnsOf returns how many columns of a terminal a text takes.
func columnsOf(s string) (n int) {
	for _, r := range s {
		n += columnsOfRune(r)
	}
	return n
}

func columnsOfRune(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// notes prints progress and errors, on one line of a terminal that changes.
type notes struct {
	to    io.Writer
	width int
	live  bool // a terminal
	quiet bool
	open  bool // the line of progress is to be cleared
	last  time.Time
}

func newNotes(to io.Writer) *notes {
	n := &notes{to: to, width: widthOf(to), last: time.Now()}
	n.live = n.width > 0
	return n
}

// line prints a line that stays.
func (n *notes) line(format string, args ...any) {
	n.end()
	for _, line := range wrap(plain(fmt.Sprintf(format, args...)), "", n.width) {
		fmt.Fprintln(n.to, line)
	}
}

// text prints lines of this program as they are.
func (n *notes) text(s string) {
	n.end()
	fmt.Fprint(n.to, s)
}

// The pauses between two lines of progress, on a terminal and elsewhere.
const (
	livePause = 100 * time.Millisecond
	pause     = 10 * time.Second
)

// progress shows how far long work has come.
func (n *notes) progress(format string, args ...any) {
	wait := pause
	if n.live {
		wait = livePause
	}
	if n.quiet || time.Since(n.last) < wait {
		return
	}
	n.last = time.Now()
	text := plain(fmt.Sprintf(format, args...))
	if !n.live {
		fmt.Fprintln(n.to, text)
		return
	}
	n.open = true
	fmt.Fprint(n.to, "\r\x1b[K"+cut(text, n.width-1))
}

// end clears the line of progress.
func (n *notes) end() {
	if n.open {
		fmt.Fprint(n.to, "\r\x1b[K")
		n.open = false
	}
}
