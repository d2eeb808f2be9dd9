package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"

	"github.com/aztablekit/aztablekit/storagetest"
)

// This file compares the services under tests: how many times longer Azurite takes than
// storagetest, by the wall clock.

// services returns the lines of the services: by raw requests, and by the client of the SDK, which
// is then the limit.
func (e *emulator) services() []line {
	var lines []line
	for _, l := range []struct {
		id, what string
		goal     float64
		side     func(service) (func() error, error)
	}{
		{"S1", "raw: point read", 20, service.rawReads},
		{"S2", "raw: insert", 20, service.rawInserts},
		{"S3", "raw: transaction of 100", 10, service.rawTransactions},
		{"S4", "SDK: point read", 15, service.reads},
		{"S5", "SDK: insert", 8, service.inserts},
		{"S6", "SDK: transaction of 100", 2.5, service.transactions},
	} {
		lines = append(lines, line{l.id, "Azurite / storagetest, " + l.what, func(ctx context.Context, s settings) (result, error) {
			p, err := e.serve(l.side)
			if err != nil {
				return result{}, err
			}
			times, err := compare(p, s)
			return result{Value: figure{Got: times.median, Goal: l.goal, Bound: atLeast, Unit: "times"}, Low: times.low, High: times.high}, err
		}})
	}
	return lines
}

// serve returns the same requests to Azurite and to storagetest, each with a new table of one
// entity.
func (e *emulator) serve(side func(service) (func() error, error)) (pair, error) {
	server, err := e.start()
	if err != nil {
		return pair{}, err
	}
	s := storagetest.New(&storagetest.Options{RequestLogSize: -1})
	azurite, errA := newService(server.ConnectionString, http.DefaultClient)
	memory, errM := newService(s.ConnectionString(), s)
	if err := errors.Join(errA, errM); err != nil {
		return pair{}, err
	}
	p := pair{clock: wallClock}
	if p.ours, err = side(azurite); err == nil {
		p.base, err = side(memory)
	}
	return p, err
}

// service is a Table service with a table.
type service struct {
	endpoint, account string
	key               []byte
	table             string
	transport         policy.Transporter
	client            *aztables.Client
}

func newService(connection string, t policy.Transporter) (s service, err error) {
	s = service{transport: t, table: fmt.Sprintf("bench%d", time.Now().UnixNano())}
	for field := range strings.SplitSeq(connection, ";") {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "TableEndpoint":
			s.endpoint = value
		case "AccountName":
			s.account = value
		case "AccountKey":
			if s.key, err = base64.StdEncoding.DecodeString(value); err != nil {
				return s, err
			}
		}
	}
	o := &aztables.ClientOptions{}
	o.Transport = t
	c, err := aztables.NewServiceClientFromConnectionString(connection, o)
	if err != nil {
		return s, err
	}
	s.client = c.NewClient(s.table)
	if _, err := s.client.CreateTable(context.Background(), nil); err != nil {
		return s, err
	}
	_, err = s.client.AddEntity(context.Background(), entityOf("0"), nil)
	return s, err
}

func entityOf(row string) []byte {
	return []byte(`{"PartitionKey":"p","RowKey":"` + row + `","Name":"Jones","Count":5}`)
}

// request returns a function that sends a request, signed once, with other bodies.
func (s service) request(method, path, contentType string, status int) (func(body []byte) error, error) {
	first, err := http.NewRequest(method, s.endpoint+path, nil)
	if err != nil {
		return nil, err
	}
	date := time.Now().UTC().Format(http.TimeFormat)
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(date + "\n/" + s.account + first.URL.EscapedPath()))
	first.Header = http.Header{
		"Accept": {"application/json;odata=minimalmetadata"}, "X-Ms-Date": {date}, "X-Ms-Version": {"2019-02-02"}, "Prefer": {"return-no-content"}, "Dataserviceversion": {"3.0"},
		"Authorization": {"SharedKeyLite " + s.account + ":" + base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}
	if contentType != "" {
		first.Header.Set("Content-Type", contentType)
	}
	if method == http.MethodDelete {
		first.Header.Set("If-Match", "*")
	}
	return func(body []byte) error {
		r := *first
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		resp, err := s.transport.Do(&r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
		return expect("status", resp.StatusCode, status)
	}, nil
}

func (s service) rawReads() (func() error, error) {
	send, err := s.request(http.MethodGet, "/"+s.table+"(PartitionKey='p',RowKey='0')", "", http.StatusOK)
	return func() error { return send(nil) }, err
}

func (s service) rawInserts() (func() error, error) {
	send, err := s.request(http.MethodPost, "/"+s.table, "application/json", http.StatusNoContent)
	n := 0
	return func() error { n++; return send(entityOf(strconv.Itoa(n))) }, err
}

func (s service) rawTransactions() (func() error, error) {
	send, err := s.request(http.MethodPost, "/$batch", "multipart/mixed; boundary=batch_1", http.StatusAccepted)
	var b bytes.Buffer
	b.WriteString("--batch_1\r\nContent-Type: multipart/mixed; boundary=changeset_2\r\n\r\n")
	for i := range 100 {
		fmt.Fprintf(&b, "--changeset_2\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\n"+
			"PUT %s/%s(PartitionKey='p',RowKey='%d') HTTP/1.1\r\nContent-Type: application/json\r\nAccept: application/json;odata=minimalmetadata\r\n\r\n%s\r\n",
			s.endpoint, s.table, i, entityOf(strconv.Itoa(i)))
	}
	b.WriteString("--changeset_2--\r\n--batch_1--\r\n")
	return func() error { return send(b.Bytes()) }, err
}

func (s service) reads() (func() error, error) {
	return func() error {
		_, err := s.client.GetEntity(context.Background(), "p", "0", nil)
		return err
	}, nil
}

func (s service) inserts() (func() error, error) {
	n := 0
	return func() error {
		n++
		_, err := s.client.AddEntity(context.Background(), entityOf(strconv.Itoa(n)), nil)
		return err
	}, nil
}

func (s service) transactions() (func() error, error) {
	var actions []aztables.TransactionAction
	for i := range 100 {
		actions = append(actions, aztables.TransactionAction{ActionType: aztables.TransactionTypeInsertReplace, Entity: entityOf(strconv.Itoa(i))})
	}
	return func() error {
		_, err := s.client.SubmitTransaction(context.Background(), actions, nil)
		return err
	}, nil
}
