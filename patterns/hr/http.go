package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/aztablekit/aztablekit/keys"
	"github.com/aztablekit/aztablekit/table"
)

const (
	maxBody    = 64 << 10
	maxPhoto   = 10 << 20
	maxChanges = 1000
)

// employeeJSON is an employee as clients send and receive it.
type employeeJSON struct {
	Department string `json:"department"`
	ID         int    `json:"id"`
	Name       string `json:"name"`
	Email      string `json:"email"`
	Salary     int64  `json:"salary"`
	PhotoBytes int64  `json:"photoBytes,omitempty"` // ignored in requests
}

type changeJSON struct {
	Time time.Time `json:"time"`
	Change
}

type summaryJSON struct {
	Employees int64 `json:"employees"`
	Salaries  int64 `json:"salaries"`
}

// handler handles a request. It writes a response, or returns an error.
type handler func(http.ResponseWriter, *http.Request) error

// server contains the handlers of the routes.
type server struct {
	company *company
	logger  *slog.Logger
}

// routes returns the handler of all requests.
func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handle := range map[string]handler{
		"POST /employees":                        s.hire,
		"GET /employees/{department}/{id}":       ofEmployee(s.employee),
		"PATCH /employees/{department}/{id}":     ofEmployee(s.setSalary),
		"POST /employees/{department}/{id}/move": ofEmployee(s.move),
		"PUT /employees/{department}/{id}/photo": ofEmployee(s.setPhoto),
		"GET /employees/{department}/{id}/photo": ofEmployee(s.photo),
		"POST /login":                            s.login,
		"GET /changes":                           s.changes,
		"GET /departments/{department}/summary":  s.summary,
		"GET /readyz":                            s.ready,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := handle(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	return mux
}

// fail writes the error to the log, and its status to the client. The texts of the library are for the log: they contain keys,
// and may contain addresses of the account.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	text := http.StatusText(status)
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		text = refused.text
	}
	s.logger.Warn("request failed", "method", r.Method, "path", r.URL.Path, "status", status, "error", err)
	http.Error(w, text, status)
}

func (s *server) hire(w http.ResponseWriter, r *http.Request) error {
	var in employeeJSON
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	if in.Department == "" || in.Email == "" || in.Salary < 0 {
		return badRequest("department and email are required, and salary must be 0 or more")
	}
	e, err := s.company.hire(r.Context(), &Employee{Department: in.Department, ID: in.ID, Name: in.Name, Email: in.Email, Salary: in.Salary})
	if err != nil {
		return err
	}
	return writeEmployee(w, http.StatusCreated, e)
}

func (s *server) employee(w http.ResponseWriter, r *http.Request, k keys.Key) error {
	e, err := s.company.staff.Get(r.Context(), k)
	if err != nil {
		return err
	}
	return writeEmployee(w, http.StatusOK, e)
}

func (s *server) setSalary(w http.ResponseWriter, r *http.Request, k keys.Key) error {
	etag, err := ifMatch(r)
	if err != nil {
		return err
	}
	var in struct {
		Salary *int64 `json:"salary"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	if in.Salary == nil || *in.Salary < 0 {
		return badRequest("salary is required, and must be 0 or more")
	}
	if etag, err = s.company.setSalary(r.Context(), k, etag, *in.Salary); err != nil {
		return err
	}
	w.Header().Set("ETag", etagHeader(etag))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *server) move(w http.ResponseWriter, r *http.Request, k keys.Key) error {
	var in struct {
		To string `json:"to"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	if in.To == "" {
		return badRequest("to is required: the new department")
	}
	e, err := s.company.move(r.Context(), k, in.To)
	if err != nil {
		return err
	}
	return writeEmployee(w, http.StatusOK, e)
}

func (s *server) setPhoto(w http.ResponseWriter, r *http.Request, k keys.Key) error {
	contentType := r.Header.Get("Content-Type")
	if contentType != "image/jpeg" && contentType != "image/png" {
		return &refusal{http.StatusUnsupportedMediaType, "a photo is image/jpeg or image/png"}
	}
	e, err := s.company.setPhoto(r.Context(), k, http.MaxBytesReader(w, r.Body, maxPhoto), contentType)
	if err != nil {
		return err
	}
	return writeEmployee(w, http.StatusOK, e)
}

func (s *server) photo(w http.ResponseWriter, r *http.Request, k keys.Key) error {
	photo, e, err := s.company.photo(r.Context(), k)
	if err != nil {
		return err
	}
	defer photo.Close()
	w.Header().Set("Content-Type", e.Value.Photo.ContentType())
	w.Header().Set("Content-Length", strconv.FormatInt(e.Value.Photo.Size(), 10))
	if _, err := io.Copy(w, photo); err != nil {
		// The status is sent already. The reader compares the hash at its end, so the client must not use what it has received.
		s.logger.Warn("photo interrupted", "path", r.URL.Path, "error", err)
		panic(http.ErrAbortHandler) // closes the connection
	}
	return nil
}

func (s *server) login(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Email string `json:"email"`
	}
	if err := readJSON(w, r, &in); err != nil {
		return err
	}
	e, err := s.company.login(r.Context(), in.Email)
	if err != nil {
		return err
	}
	return writeEmployee(w, http.StatusOK, e)
}

func (s *server) changes(w http.ResponseWriter, r *http.Request) error {
	n := 20
	if text := r.FormValue("n"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 || n > maxChanges {
			return badRequest("n must be 1 to " + strconv.Itoa(maxChanges))
		}
	}
	records, err := table.Collect(s.company.changes.Tail(r.Context(), n))
	if err != nil {
		return err
	}
	out := make([]changeJSON, len(records))
	for i, record := range records {
		out[i] = changeJSON{record.Time, record.Value}
	}
	return writeJSON(w, http.StatusOK, out)
}

func (s *server) summary(w http.ResponseWriter, r *http.Request) error {
	employees, salaries, err := s.company.summary(r.Context(), r.PathValue("department"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, summaryJSON{employees, salaries})
}

// ready is for a readiness probe: the worker runs, and has reached its queue.
func (s *server) ready(w http.ResponseWriter, r *http.Request) error {
	if err := s.company.Ready(); err != nil {
		s.logger.Warn("not ready", "error", err)
		return &refusal{http.StatusServiceUnavailable, "not ready"}
	}
	return nil
}

// ofEmployee returns a handler that reads the key of an employee from the path of a request.
func ofEmployee(handle func(http.ResponseWriter, *http.Request, keys.Key) error) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil {
			return badRequest("the ID is not a number")
		}
		return handle(w, r, keyOf(r.PathValue("department"), id))
	}
}

func readJSON(w http.ResponseWriter, r *http.Request, v any) error {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(v)
	if tooLong := (*http.MaxBytesError)(nil); err != nil && !errors.As(err, &tooLong) {
		return badRequest("the body is not the expected JSON")
	}
	return err
}

func writeEmployee(w http.ResponseWriter, status int, e *table.Entity[Employee]) error {
	w.Header().Set("ETag", etagHeader(e.ETag))
	v := e.Value
	return writeJSON(w, status, employeeJSON{v.Department, v.ID, v.Name, v.Email, v.Salary, v.Photo.Size()})
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(v)
}
