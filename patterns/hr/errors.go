package main

import (
	"errors"
	"net/http"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/largeentity"
	"github.com/aztablekit/aztablekit/table"
)

// refusal is an error of this service with a text for the client.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func badRequest(text string) error { return &refusal{http.StatusBadRequest, text} }

// statusOf returns the HTTP status of an error. docs/service.md contains the same table.
func statusOf(err error) int {
	var (
		refused *refusal
		tooLong *http.MaxBytesError
		key     *keys.KeyError
		limit   *table.LimitError
		value   *table.ValueError
	)
	switch {
	case errors.As(err, &refused):
		return refused.status
	case errors.As(err, &tooLong):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, table.ErrTaken), errors.Is(err, table.ErrExists):
		return http.StatusConflict
	case errors.Is(err, table.ErrNotFound), errors.Is(err, largeentity.ErrNoValue):
		return http.StatusNotFound
	case errors.Is(err, errBusy): // wraps table.ErrChanged, but the client has sent no If-Match
		return http.StatusServiceUnavailable
	case errors.Is(err, table.ErrChanged), errors.Is(err, table.ErrNotRead):
		return http.StatusPreconditionFailed
	case errors.As(err, &key), errors.As(err, &limit), errors.As(err, &value):
		return http.StatusBadRequest
	case errors.Is(err, table.ErrUnreachable), errors.Is(err, table.ErrOutbox), errors.Is(err, table.ErrContended),
		errors.Is(err, table.ErrGivenUp), errors.Is(err, table.ErrUnknownOutcome):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}
