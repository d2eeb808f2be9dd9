package protocol

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"time"
)

// Account is the name and the key of a storage account.
type Account struct {
	Name string
	Key  []byte

	MaxSkew time.Duration // between the date of a request and the account's time; 0: dates are not compared
}

// Sign returns the signature of text with the account's key.
func (a *Account) Sign(text string) string {
	mac := hmac.New(sha256.New, a.Key)
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Signed reports whether signature is that of text.
func (a *Account) Signed(signature, text string) bool {
	return hmac.Equal([]byte(signature), []byte(a.Sign(text)))
}
