// Command main sends an order twice, as a client does that got no response.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/aztablekit/aztablekit/patterns/once"
	"github.com/aztablekit/aztablekit/storagetest"
)

func main() {
	o := once.Open(storagetest.New(nil), nil) // in memory; account.FromEnvironment opens yours
	orders := 0
	h := o.Handler(func(*http.Request) (int, string, error) {
		orders++
		return http.StatusCreated, fmt.Sprint("order ", orders), nil
	})
	fmt.Println(o.Ensure(context.Background()))
	for range 2 {
		r, w := httptest.NewRequest(http.MethodPost, "/orders", nil), httptest.NewRecorder()
		r.Header.Set("Customer", "Acme")
		r.Header.Set("Idempotency-Key", "7f3a")
		h.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Body)
	}
}
