package transfer

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"sync"
)

// ErrCrash is the crash of a [Crashing] place.
var ErrCrash = errors.New("crash")

// Crashing is a place that fails at one of its requests: before it, behind it, or, if it adds a line, behind a part of that. All requests after it fail, too.
type Crashing struct {
	Place
	At  int // the number of the request, from 1
	How Crash

	mu   sync.Mutex
	n    int
	over bool
}

// Crash is where a crash is.
type Crash int

// The crashes.
const (
	Before Crash = iota
	Behind
	Within
)

// Requests returns how many requests there were.
func (c *Crashing) Requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *Crashing) do(op func() error, part func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	if c.over {
		return ErrCrash
	}
	if c.n != c.At {
		return op()
	}
	c.over = true
	switch {
	case c.How == Behind:
		op()
	case c.How == Within && part != nil:
		part()
	}
	return ErrCrash
}

func (c *Crashing) put(ctx context.Context, name string, content []byte) error {
	return c.do(func() error { return c.Place.put(ctx, name, content) }, nil)
}

func (c *Crashing) add(ctx context.Context, name string, line []byte) error {
	return c.do(func() error { return c.Place.add(ctx, name, line) }, func() error { return c.Place.add(ctx, name, line[:len(line)*2/3]) })
}

func (c *Crashing) get(ctx context.Context, name string, most int64) (b []byte, err error) {
	err = c.do(func() error {
		b, err = c.Place.get(ctx, name, most)
		return err
	}, nil)
	return b, err
}

// Memory is a place in memory, without blobs.
type Memory struct {
	Place
	mu    sync.Mutex
	files map[string][]byte
}

// String implements fmt.Stringer.
func (m *Memory) String() string { return "memory" }

func (m *Memory) put(_ context.Context, name string, content []byte) error {
	return m.store(name, bytes.Clone(content))
}

func (m *Memory) add(_ context.Context, name string, line []byte) error {
	m.mu.Lock()
	content := append(bytes.Clone(m.files[name]), line...)
	m.mu.Unlock()
	return m.store(name, content)
}

func (m *Memory) store(name string, content []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files == nil {
		m.files = map[string][]byte{}
	}
	m.files[name] = content
	return nil
}

func (m *Memory) get(_ context.Context, name string, _ int64) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	content, is := m.files[name]
	if !is {
		return nil, fs.ErrNotExist
	}
	return content, nil
}

// AddHeader adds the first line of a process that has begun without stamps.
func (m *Memory) AddHeader(tableName string) error {
	line, err := sealed(&header{Format: format, Table: tableName, Consistency: byPage})
	if err != nil {
		return err
	}
	return m.add(context.Background(), ManifestName, line)
}

// Cut removes lines of the manifest, from the first one behind its header.
func (m *Memory) Cut(from, to int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lines [][]byte
	for line := range bytes.Lines(m.files[ManifestName]) {
		if len(bytes.TrimSpace(line)) > 0 {
			lines = append(lines, line)
		}
	}
	lines = append(lines[:1+from:1+from], lines[1+to:]...)
	m.files[ManifestName] = bytes.Join(lines, nil)
}
