package archivedirectory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"

	"github.com/aztablekit/aztablekit/archive"
	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

// Directory is a destination in the file system: a folder for each key, in it a folder for each incarnation, and in it a file for each
// version. The file with the highest number is the current version. Put creates a file with the next number, which succeeds only once. Older
// versions stay.
type Directory string

// file is the content of a version.
type file struct {
	archive.ArchivedRow  // without its row
	PartitionKey, RowKey string
	Row                  *table.Row // null: the row was removed
}

// folder returns the folder of a key. Its name is a hash, because file systems do not accept all names, and take some names for equal.
func (d Directory) folder(k keys.Key) string {
	sum := sha256.Sum256([]byte(k.PartitionKey() + "\x00" + k.RowKey()))
	return filepath.Join(string(d), hex.EncodeToString(sum[:]))
}

// incarnation returns the folder of an incarnation. The ID comes from a row and is not trusted: Err refuses incarnations that are paths.
func (d Directory) incarnation(id archive.ID) (string, error) {
	return filepath.Join(d.folder(id.Key), id.Incarnation), id.Err()
}

// Get returns the current version, or nil if there is none.
func (d Directory) Get(_ context.Context, id archive.ID) (*archive.ArchivedRow, error) {
	folder, err := d.incarnation(id)
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, unreachable(err)
	}
	latest := 0
	for _, f := range files {
		n, _ := strconv.Atoi(f.Name()) // 0 for temporary files
		latest = max(latest, n)
	}
	if latest == 0 {
		return nil, nil
	}
	b, err := os.ReadFile(filepath.Join(folder, strconv.Itoa(latest)))
	if err != nil {
		return nil, unreachable(err)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("version %d in %s: %w", latest, folder, err)
	}
	if f.PartitionKey != id.Key.PartitionKey() || f.RowKey != id.Key.RowKey() || f.Incarnation != id.Incarnation {
		return nil, fmt.Errorf("version %d in %s belongs to another entity", latest, folder)
	}
	f.ArchivedRow.ID, f.ArchivedRow.Row, f.Version = id, f.Row, strconv.Itoa(latest)
	return &f.ArchivedRow, nil
}

// Put writes the version after the given one, and fails with table.ErrChanged if there is one already. When Put returns without an
// error, the file is complete and on disk, because the mover then deletes the row from its table.
func (d Directory) Put(_ context.Context, row *archive.ArchivedRow, version string) error {
	f := file{ArchivedRow: *row, PartitionKey: row.Key.PartitionKey(), RowKey: row.Key.RowKey(), Row: row.Row}
	f.ArchivedRow.Row, f.ArchivedRow.Key = nil, keys.Key{}
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	folder, err := d.incarnation(row.ID)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return unreachable(err)
	}
	temp, err := os.CreateTemp(folder, "new")
	if err != nil {
		return unreachable(err)
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(b)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return unreachable(err)
	}
	expected, _ := strconv.Atoi(version) // 0 if version is "": no file is expected
	err = os.Link(temp.Name(), filepath.Join(folder, strconv.Itoa(expected+1)))
	if errors.Is(err, os.ErrExist) {
		return table.ErrChanged
	}
	return unreachable(errors.Join(err, syncFolder(folder), syncFolder(filepath.Dir(folder)), syncFolder(string(d))))
}

// unreachable marks an error of the file system, such as a full disk, so that the worker retries the move until it succeeds.
func unreachable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", table.ErrUnreachable, err)
}

// syncFolder waits until the entries of a folder are on disk.
func syncFolder(folder string) error {
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Incarnations returns the archived rows of all incarnations of a key.
func (d Directory) Incarnations(ctx context.Context, k keys.Key) iter.Seq2[*archive.ArchivedRow, error] {
	return func(yield func(*archive.ArchivedRow, error) bool) {
		folders, err := os.ReadDir(d.folder(k))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			yield(nil, unreachable(err))
			return
		}
		for _, folder := range folders {
			if !folder.IsDir() {
				continue
			}
			row, err := d.Get(ctx, archive.ID{Key: k, Incarnation: folder.Name()})
			if err == nil && (row == nil || row.Row == nil) {
				continue // no version is complete, or the row was removed
			}
			if !yield(row, err) {
				return
			}
		}
	}
}
