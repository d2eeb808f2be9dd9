package bare

import (
	"context"
	"errors"

	"github.com/aztablekit/aztablekit/internal/host"
)

// Registry is the host.Registry of a host without a store. It keeps what makes the logs and series that are declared, and their mistakes.
type Registry struct {
	tasks []host.Task
	err   error
}

// Declare implements host.Registry.
func (d *Registry) Declare(_ string, p host.Parts, err error) error {
	d.tasks, d.err = append(d.tasks, p.Ensure...), errors.Join(d.err, err)
	return err
}

// Claim implements host.Registry: any table may be declared.
func (d *Registry) Claim(_, _ string) error { return nil }

// Ensure makes what is declared, as that of a store does, and returns the mistakes.
func (d *Registry) Ensure(ctx context.Context) error {
	err := d.err
	for _, task := range d.tasks {
		err = errors.Join(err, task.Do(ctx))
	}
	return err
}
