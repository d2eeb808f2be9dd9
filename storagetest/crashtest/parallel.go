package crashtest

import (
	"runtime"
	"sync"
)

// inParallel calls f with 0 to n-1, on all processors.
func inParallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	workers := min(n, runtime.GOMAXPROCS(0))
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}
