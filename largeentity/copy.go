package largeentity

import (
	"context"
	"fmt"

	"github.com/aztablekit/aztablekit/keys"
)

// Copy stores a copy of a value for the entity with the key owner, in any partition of the table. An entity with a value in a blob can
// move to another partition only with a copy, because the name of a blob contains the partition:
//
//	e.Value.Department = "Marketing"
//	if e.Value.Photo, err = photos.Copy(ctx, staff.Key(e.Value), e.Value.Photo); err != nil {
//		return err
//	}
//	return staff.Move(ctx, e)
//
// The copy is like the result of [Store.Upload]: the entity gets it by a write, and [Sweep] deletes it if no entity gets it. The write
// that moves the entity gives the old blob up. The zero Blob and a value in the entity itself are returned as they are.
//
// Errors: those of Open and Upload; Copy then returns b, so that the field of an entity keeps its value. Requests: none for a value in the entity itself, else those of Open and Upload. The value passes
// through the program, in blocks; see Options.BlocksInFlight.
func (s *Store) Copy(ctx context.Context, owner keys.Key, b Blob) (Blob, error) {
	if b.name == "" {
		return b, nil
	}
	c, err := s.copyOf(ctx, owner, b)
	if err != nil {
		return b, fmt.Errorf("largeentity: Copy to %v: %w", owner, err)
	}
	return c, nil
}

func (s *Store) copyOf(ctx context.Context, owner keys.Key, b Blob) (Blob, error) {
	r, err := s.open(ctx, b, 0, b.size, true)
	if err != nil {
		return Blob{}, err
	}
	defer r.Close()
	return s.upload(ctx, owner, r, &UploadOptions{ContentType: b.contentType})
}
