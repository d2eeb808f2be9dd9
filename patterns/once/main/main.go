// Command main sends an order twice, as a client does that got no response.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/aztablekit/aztablekit/patterns/once"
	"github.com/aztablekit/aztablekit/storagetest"
	"github.com/aztablekit/aztablekit/table"
)

func main() {
	o := once.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	if err := o.Ensure(context.Background()); err != nil {
		log.Fatal(err)
	}
	orders := 0
	h := o.Handler(func(*http.Request) (int, string, []table.Op, error) {
		orders++
		return http.StatusCreated, fmt.Sprint("order ", orders), nil, nil
	})
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/orders", nil)
		r.Header.Set("Customer", "Acme")
		r.Header.Set("Idempotency-Key", "7f3a")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}
}
