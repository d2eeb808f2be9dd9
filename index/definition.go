package index

import "fmt"

// DefinitionError is a mistake in a definition. Nothing was written.
type DefinitionError struct {
	Definition string // its name
	Field      string // of the definition: key, layout, or an option
	Reason     string
	Err        error // the error of the field's own package, if that is the cause
}

func (e *DefinitionError) Error() string {
	return fmt.Sprintf("index %s: %s %s", e.Definition, e.Field, e.Reason)
}

// Unwrap returns Err.
func (e *DefinitionError) Unwrap() error { return e.Err }

// withDefinition adds the name of the definition to an error that does not contain it yet.
func withDefinition(definition string, err error) error {
	if de, is := err.(*DefinitionError); is && de.Definition == definition {
		return err
	}
	return fmt.Errorf("index %s: %w", definition, err)
}

// checkName returns the error of a definition's name.
func checkName(name string) error {
	if name == "" {
		return &DefinitionError{Field: "name", Reason: "is empty"}
	}
	for _, c := range []byte(name) {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return &DefinitionError{Definition: name, Field: "name", Reason: "may contain only letters and digits"}
		}
	}
	return nil
}

// callUser calls a function of the definition. If the function panics, only the write or look-up that needs it fails.
func callUser[T, R any](definition, field string, f func(*T) R, v *T) (r R, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &DefinitionError{Definition: definition, Field: field, Reason: fmt.Sprintf("panics: %v", p)}
		}
	}()
	return f(v), nil
}
