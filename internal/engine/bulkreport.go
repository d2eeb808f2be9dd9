package engine

import "github.com/aztablekit/aztablekit/keys"

// BulkOptions are bulk.Options.
type BulkOptions struct {
	Concurrency         int
	Window, WindowBytes int
	Rate, PartitionRate int
	Skip                func(index int, err error) bool
	Progress            func(BulkResult)
}

// BulkResult is bulk.Result.
type BulkResult struct {
	Applied  int
	Missing  int
	Skipped  int
	ResumeAt int
}

// BulkError is bulk.Error.
type BulkError struct {
	Index int
	Key   keys.Key
	Err   error
}

func (e *BulkError) Error() string { return (&BatchError{Index: e.Index, Err: e.Err}).Error() }

func (e *BulkError) Unwrap() error { return e.Err }

// report is what has become of operations of a batch.
type report struct {
	group   *group
	done    []bulkOp
	missing int         // of them, deletes that found nothing
	refused *bulkOp     // an operation that was refused, with err
	err     error       // or why the rest of the batch was given up
	answer  chan<- bool // where it is refused: whether to go on
	end     bool        // the batch is over
	panics  any         // with this
	left    []bulkOp    // of which nothing was sent
}
