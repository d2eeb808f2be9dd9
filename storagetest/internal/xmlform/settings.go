package xmlform

import (
	"net/http"
	"time"

	"github.com/aztablekit/aztablekit/storagetest/internal/access"
	"github.com/aztablekit/aztablekit/storagetest/internal/protocol"
	"github.com/aztablekit/aztablekit/storagetest/internal/settings"
)

// Preflight answers a preflight request.
func Preflight(s *settings.Settings, r *protocol.Request) *Response {
	if missing := settings.MissingOfPreflight(r); missing != "" {
		return Refuse(InvalidHeader(missing, ""))
	}
	header, ok := s.Preflight(r)
	if !ok {
		return Refuse(&Failure{Failure: settings.PreflightFailure})
	}
	return &Response{Status: http.StatusOK, Header: header}
}

// Properties reads or sets the properties of a service.
func Properties(s *settings.Settings, r *protocol.Request, rights *access.Rights, now time.Time) *Response {
	need := access.Need{Type: "s", Permissions: []string{"r"}, Account: true}
	if r.Method == http.MethodPut {
		need.Permissions = []string{"w"}
	}
	if f := rights.Check(need, nil, now); f != nil {
		return Refuse(&Failure{Failure: *f})
	}
	switch r.Method {
	case http.MethodGet:
		return &Response{Status: http.StatusOK, Body: s.XML(r.Version)}
	case http.MethodPut:
		if fault := s.Set(r.Body); fault != nil {
			return Refuse(InvalidDocument(*fault))
		}
		return &Response{Status: http.StatusAccepted}
	}
	return Refuse(ErrMethod)
}

// Statistics returns how far the second location is.
func Statistics(r *protocol.Request, rights *access.Rights, now time.Time) *Response {
	if f := rights.Check(access.Need{Type: "s", Permissions: []string{"r"}, Account: true}, nil, now); f != nil {
		return Refuse(&Failure{Failure: *f})
	}
	if !r.Secondary {
		return Refuse(InvalidParameter("comp", "stats", "The statistics are those of the secondary location."))
	}
	return &Response{Status: http.StatusOK, Body: settings.Statistics(r)}
}
