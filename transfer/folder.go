package transfer

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/aztablekit/aztablekit/table"
)

// Place is where an export or blobs are stored: a [Folder] or a [Container].
type Place interface {
	fmt.Stringer

	// put stores a file, whole or not at all.
	put(ctx context.Context, name string, content []byte) error
	// add adds a line to a file, which other processes may do at the same time. After a crash, a
	// part of the line may be there.
	add(ctx context.Context, name string, line []byte) error
	// has reports whether a blob of this length and content is there.
	has(ctx context.Context, b *link) (bool, error)
	// open returns the content of a blob. Errors: fs.ErrNotExist.
	open(ctx context.Context, b *link) (io.ReadCloser, error)
	// create stores a blob, whole or not at all. An error of r ends it.
	create(ctx context.Context, b *link, r io.Reader) error
	// get reads a file. Errors: fs.ErrNotExist; *table.LimitError for a file of more bytes than
	// most.
	get(ctx context.Context, name string, most int64) ([]byte, error)
}

// isChunkName matches the names of chunks. Other names in a manifest, such as those of files
// elsewhere, are refused.
var isChunkName = regexp.MustCompile(`^[0-9]{6,12}-[0-9a-f]{16}\.ndjson\.gz$`)

// Folder returns a folder of the file system, which Export creates if need be. Processes of one
// machine, or of several with a shared file system that appends to files at their ends, may export
// into it at the same time. A process that is killed may leave a file .part-…, which means nothing.
func Folder(path string) Place { return folder(path) }

type folder string

func (f folder) String() string { return string(f) }

// put writes a temporary file and renames it, so that a crash or a full disk leaves no part of the
// file under its name.
func (f folder) put(_ context.Context, name string, content []byte) (err error) {
	return f.write(name, bytes.NewReader(content))
}

func (f folder) write(name string, r io.Reader) (err error) {
	name = filepath.Join(string(f), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(name+".part-"+rand.Text(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // what is left of a failed write is no chunk
		}
	}()
	_, err = io.Copy(file, r)
	if err = errors.Join(err, syncAndClose(file)); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), name); err != nil {
		return err
	}
	return folder(filepath.Dir(name)).sync()
}

func syncAndClose(file *os.File) error { return errors.Join(file.Sync(), file.Close()) }

// sync makes the names in the folder durable.
func (f folder) sync() error {
	if runtime.GOOS == "windows" { // which has no such call
		return nil
	}
	d, err := os.Open(string(f))
	if err != nil {
		return err
	}
	return syncAndClose(d)
}

func (f folder) add(_ context.Context, name string, line []byte) error {
	if err := os.MkdirAll(string(f), 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(string(f), name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(line)
	return errors.Join(err, syncAndClose(file), f.sync())
}

func (f folder) get(_ context.Context, name string, most int64) ([]byte, error) {
	file, err := os.Open(filepath.Join(string(f), name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(b)) > most {
		err = tooLarge(name, most)
	}
	return b, err
}

// mostSegment is the most bytes of a segment of a path, of the 255 that file systems allow.
const mostSegment = 200

// fileOf returns the file of a blob: its name, with the segment of a long PartitionKey shortened.
// The ID is another one for each blob.
func fileOf(b *link) string {
	parts := strings.Split(b.name, "/")
	for i, p := range parts {
		if len(p) > mostSegment {
			sum := sha256.Sum256([]byte(p))
			parts[i] = strings.ToValidUTF8(p[:mostSegment-20], "") + "~" + hex.EncodeToString(sum[:8])
		}
	}
	return strings.Join(parts, "/")
}

func (f folder) blob(b *link) string { return filepath.Join(string(f), filepath.FromSlash(fileOf(b))) }

func (f folder) has(_ context.Context, b *link) (bool, error) {
	is, err := os.Stat(f.blob(b))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && is.Size() == b.size, err
}

func (f folder) open(_ context.Context, b *link) (io.ReadCloser, error) { return os.Open(f.blob(b)) }

func (f folder) create(_ context.Context, b *link, r io.Reader) error { return f.write(fileOf(b), r) }

func tooLarge(name string, most int64) error {
	return &table.LimitError{Field: name, Limit: "bytes of a file of an export", Got: int(most) + 1, Max: int(most)}
}

// errNoFile returns an error that is fs.ErrNotExist.
func errNoFile(place Place, name string) error {
	return &fs.PathError{Op: "read", Path: place.String() + "/" + name, Err: fs.ErrNotExist}
}
